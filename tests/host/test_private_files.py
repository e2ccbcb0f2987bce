"""Folders, files and locks that are the server's alone."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from plugbay.errors import DataDirUnusable
from plugbay.private_files import file_lock, make_private_dir, make_private_file, write_private_file


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_folder_is_made_closed_and_its_parents_as_usual(tmp_path: Path) -> None:
    old = os.umask(0o022)
    make_private_dir(tmp_path / "a" / "b")
    os.umask(old)
    assert (mode(tmp_path / "a"), mode(tmp_path / "a" / "b")) == (0o755, 0o700)


def test_a_folder_that_exists_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o755)
    make_private_dir(tmp_path / "a")
    assert mode(tmp_path / "a") == 0o755


def test_a_symlink_to_a_folder_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    make_private_dir(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()


def test_a_file_is_made_closed_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    make_private_file(tmp_path / "a")
    os.umask(old)
    assert mode(tmp_path / "a") == 0o600


def test_a_file_that_exists_keeps_its_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("here")
    make_private_file(tmp_path / "a")
    assert (tmp_path / "a").read_text() == "here"


def test_a_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataDirUnusable, match=r"gone/a: No such file or directory"):
        make_private_file(tmp_path / "gone" / "a")


def test_content_is_written_whole_and_closed(tmp_path: Path) -> None:
    (tmp_path / ".a.part").write_text("what a killed process left")
    write_private_file(tmp_path / "a", b"whole")
    assert (tmp_path / "a").read_bytes() == b"whole"
    assert mode(tmp_path / "a") == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_lock_keeps_a_second_thread_out(tmp_path: Path) -> None:
    inside: list[str] = []

    def second() -> None:
        with file_lock(tmp_path):
            inside.append("second")

    with file_lock(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.05)
        inside.append("first")
    thread.join()
    assert inside == ["first", "second"]


def test_a_process_that_was_killed_has_let_its_lock_go(tmp_path: Path) -> None:
    program = """if True:
        import signal, sys
        from pathlib import Path
        from plugbay.private_files import file_lock
        with file_lock(Path(sys.argv[1])):
            print("held", flush=True)
            signal.pause()
    """
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.kill()
        with file_lock(tmp_path):
            pass
