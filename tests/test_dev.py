"""The script that sets up a checkout, in whatever state it finds it."""

import ast
import shutil
import subprocess
import sys
import venv
from pathlib import Path

DEV = Path(__file__).parents[1] / "dev"


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """This code, in which READ stands for reading the script of that folder."""
    read = "__name__ = __file__ = 'dev'; exec(open('dev').read())"
    command = [sys.executable, "-c", code.replace("READ", read)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_a_python_that_is_too_old_can_read_the_script_and_is_told():
    ast.parse(DEV.read_text(), feature_version=(3, 7))
    done = run("import sys; sys.version_info = (3, 7, 1); READ", DEV.parent)
    assert done.stderr == "Plugbay needs Python 3.11 or newer; this is Python 3.7.\n"
    assert done.returncode == 1


def test_an_environment_without_pip_is_made_anew(tmp_path: Path):
    shutil.copy(DEV, tmp_path)
    venv.create(tmp_path / ".venv", with_pip=False)
    (tmp_path / ".venv/left-over").touch()
    done = run("READ; sh = print; make_venv()", tmp_path)
    assert "pip install" in done.stdout
    assert "Setting up .venv" in done.stderr
    assert not (tmp_path / ".venv/left-over").exists()
    assert subprocess.run([tmp_path / ".venv/bin/python", "-m", "pip", "--version"]).returncode == 0


def test_an_environment_with_pip_is_kept(tmp_path: Path):
    shutil.copy(DEV, tmp_path)
    venv.create(tmp_path / ".venv", with_pip=False)
    (next(tmp_path.glob(".venv/lib/*/site-packages")) / "pip.py").touch()
    (tmp_path / ".venv/bin/uv").touch()
    assert run("READ; sh = print; make_venv()", tmp_path).stdout == ""
    assert (tmp_path / ".venv/bin/uv").exists()
