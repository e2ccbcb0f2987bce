"""Migrations among real processes: killed at any point, started together, taken over from the dead."""

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from migration_scripts import write_plants, write_step
from plugbay.store import Store

HERE = Path(__file__).parent


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(HERE / program), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    return tmp_path / "migrations"


def test_a_process_killed_at_any_point_leaves_a_store_that_the_next_start_completes(
    any_url: str, tmp_path: Path, scripts: Path
) -> None:
    done = run("kill_migration.py", any_url, tmp_path / "stores", write_plants(scripts))
    assert done.stderr == ""
    assert int(done.stdout) > 20


def test_of_processes_that_start_at_once_one_migrates_and_all_go_on(
    any_url: str, data_dir: Path, scripts: Path
) -> None:
    write_plants(scripts)
    line = "op.execute(f\"INSERT INTO names VALUES ('process {os.getpid()}')\")"
    write_step(scripts, "0004", "0003", line)
    done = run("migrate_together.py", 8, any_url, data_dir, scripts)
    assert (done.returncode, done.stderr) == (0, "")
    store = Store(any_url, data_dir)
    with store.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM names").scalar() == 3
    store.close()


STALL = """if True:
    import logging, signal, sys
    from pathlib import Path
    from plugbay.store import Store
    signal.alarm(120)  # seconds: nobody is left behind, whatever becomes of the test
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
    Store(sys.argv[1], Path(sys.argv[2])).migrate("garden", Path(sys.argv[3]))
    print("done", flush=True)
"""


def start(*arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-u", "-c", STALL, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def read_until(process: "subprocess.Popen[str]", word: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if word in line:
            return
    raise AssertionError(f"it never said {word!r}")


def test_who_waits_takes_over_from_a_process_that_was_killed(
    any_url: str, data_dir: Path, scripts: Path, tmp_path: Path
) -> None:
    stalled = tmp_path / "stalled"
    write_step(
        scripts,
        "0001",
        None,
        'op.create_table("beds", sa.Column("id", sa.Integer))',
        f"first = not os.path.exists({str(stalled)!r})",
        f"open({str(stalled)!r}, 'w').close()",
        "if first:",
        '    print("stalled", flush=True)',
        "    import signal; signal.pause()",
    )
    with start(any_url, data_dir, scripts) as victim:
        read_until(victim, "stalled")
        with start(any_url, data_dir, scripts) as heir:
            read_until(heir, "waiting")
            victim.kill()
            read_until(heir, "done")
    store = Store(any_url, data_dir)
    assert sa.inspect(store.engine).has_table("beds")
    store.close()
