"""Who is alive: a lock on a file of one's own, which the system frees when the process dies."""

import subprocess
import sys
import threading

from plugbay_scheduled_query.runs.node import Node


def test_a_node_is_alive_until_it_leaves(tmp_path):
    here, there = Node(tmp_path), Node(tmp_path)
    assert here.dead([here.id, there.id]) == []
    there.close()
    assert here.dead([there.id]) == [there.id]
    here.close()
    assert list((tmp_path / "nodes").iterdir()) == []


def test_a_process_that_was_killed_is_dead(tmp_path):
    program = (
        "import os, pathlib, sys\n"
        "from plugbay_scheduled_query.runs.node import Node\n"
        "print(Node(pathlib.Path(sys.argv[1])).id, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True)
    here = Node(tmp_path)
    assert here.dead([ended.stdout.strip()]) == [ended.stdout.strip()]
    here.close()


def test_what_dead_nodes_left_behind_is_cleared_away_at_a_start(tmp_path):
    (tmp_path / "nodes").mkdir()
    for name in ("one", "two"):
        (tmp_path / "nodes" / f"{name}.lock").touch()
    here = Node(tmp_path)
    assert [path.stem for path in (tmp_path / "nodes").iterdir()] == [here.id]
    here.close()


def test_nodes_that_start_together_do_not_take_each_other_for_dead(tmp_path):
    nodes: list[Node] = []

    def start() -> None:
        nodes.extend(Node(tmp_path) for _ in range(20))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert nodes[0].dead(node.id for node in nodes) == []
    for node in nodes:
        node.close()
