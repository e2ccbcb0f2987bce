"""What the operating system holds a runner to, each limit tried in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from plugbay_scheduled_query.runner.limits import resident_bytes
from plugbay_scheduled_query.runner.protocol import MEMORY_EXIT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are tried on Linux")


def run(program: str, *args: object) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, args)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        timeout=60,
    )


def test_a_runner_writes_no_large_file_and_no_core(tmp_path: Path):
    program = """
import resource, sys
from plugbay_scheduled_query.runner.limits import restrict_process
restrict_process()
assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
try:
    open(sys.argv[1], "wb").write(bytes(100_000_000))
except OSError as error:
    print(error.strerror)
"""
    assert run(program, tmp_path / "large").stdout.strip() == "File too large"
    assert (tmp_path / "large").stat().st_size < 20_000_000


def test_a_runner_is_the_first_to_go_when_memory_is_short():
    program = """
from plugbay_scheduled_query.runner.limits import restrict_process
restrict_process()
print(open("/proc/self/oom_score_adj").read())
"""
    assert run(program).stdout.strip() == "500"


def test_a_runner_gets_so_much_more_memory_and_no_more():
    program = """
from plugbay_scheduled_query.runner.limits import limit_address_space
limit_address_space(100_000_000)
bytes(50_000_000)
try:
    bytes(200_000_000)
except MemoryError:
    print("refused")
"""
    assert run(program).stdout.strip() == "refused"


def test_a_runner_that_reserves_much_is_held_to_what_it_writes():
    program = """
import mmap
from plugbay_scheduled_query.runner.limits import limit_data
limit_data(100_000_000)
mmap.mmap(-1, 1_000_000_000, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ)
bytes(50_000_000)
try:
    bytes(200_000_000)
except MemoryError:
    print("refused")
"""
    assert run(program).stdout.strip() == "refused"


def test_a_runner_whose_parent_is_already_gone_ends_at_once():
    program = """
from plugbay_scheduled_query.runner.limits import die_with_parent
die_with_parent(1234567)
print("still here")
"""
    done = run(program)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_statement_that_fills_the_memory_ends_its_runner():
    program = """
import threading
from plugbay_scheduled_query.runner.limits import Meter
with Meter(None, 600, 1):
    threading.Event().wait()
"""
    assert run(program).returncode == MEMORY_EXIT


def test_a_statement_is_stopped_when_its_time_is_up():
    program = """
import threading
from plugbay_scheduled_query.runner.limits import Meter
stopped = threading.Event()
class Session:
    cancel = staticmethod(stopped.set)
with Meter(Session(), 0, 10 ** 12):
    stopped.wait()
print("stopped")
"""
    assert run(program).stdout.strip() == "stopped"


def test_the_memory_in_use_is_told():
    assert 1_000_000 < resident_bytes() < 10_000_000_000


def test_a_runner_that_ends_with_its_parent_answers_no_more():
    program = """
import socket, threading
from plugbay_scheduled_query.runner.program import Watch
near, far = socket.socketpair()
stopped, answered = threading.Event(), threading.Event()
class Session:
    def cancel(self):
        stopped.set()
        answered.wait(0.3)
watch = Watch(far)
watch.attend(Session())
watch.start()
near.close()
stopped.wait()
watch.leave()
print("an answer", flush=True)
answered.set()
"""
    done = run(program)
    assert (done.returncode, done.stdout) == (0, "")
