"""The command line, as a real process."""

import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from servers import PASSWORD, environment, get, plugbay, serving

SAMPLES = Path(__file__).parents[1] / "plugins"


def test_help_names_every_command_and_those_of_plugins(tmp_path: Path):
    said = plugbay(tmp_path, "--help").stdout
    for command in ("serve", "user", "token", "plugins", "plugin", "check", "backup", "cron"):
        assert command in said


def test_help_tells_what_the_commands_of_plugins_do(tmp_path: Path):
    said = " ".join(plugbay(tmp_path, "--help").stdout.split())
    assert "cron Prints the next times of a cron expression" in said
    assert "worker Run periodic tasks" in said


def test_a_command_that_cannot_be_imported_does_not_spoil_help(tmp_path: Path):
    code = (
        "import plugbay.cli as c; from importlib.metadata import EntryPoint as E\n"
        "c.entry_points = lambda **k: [E('broken', 'no_such_module:x', 'plugbay.commands')]; c.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0
    assert "cannot be loaded: ModuleNotFoundError" in done.stdout


@pytest.mark.parametrize(
    ("command", "brought_by"), [("worker", "plugbay-task-worker"), ("queries", "plugbay-scheduled-query")]
)
def test_the_command_of_a_missing_plugin_names_what_to_install(
    tmp_path: Path, monkeypatch, command: str, brought_by: str
):
    code = "import plugbay.cli as c; c.entry_points = lambda **k: []; c.main()"
    done = subprocess.run([sys.executable, "-c", code, command], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert f"pip install {brought_by}" in done.stderr


def test_a_thread_that_a_plugin_left_does_not_keep_a_command_from_ending(tmp_path: Path):
    folder = tmp_path / "plugins/busy"
    folder.mkdir(parents=True)
    (folder / "plugin.py").write_text(
        "import threading, plugbay\n"
        "class Busy(plugbay.BaseModule):\n"
        "    def on_load(self): threading.Thread(target=threading.Event().wait, name='for-ever').start()\n"
    )
    code = "import plugbay.cli as c; c.THREADS_LIMIT_S = 0.1; c.main()"
    done = subprocess.run([sys.executable, "-c", code, "check"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0
    assert "loaded     busy" in done.stdout
    assert "for-ever" in done.stderr.partition("ended while threads of plugins were still running: ")[2]


def test_an_unknown_command_is_a_usage_error(tmp_path: Path):
    assert plugbay(tmp_path, "dance").returncode == 2


def test_a_user_and_a_token_made_beside_a_running_server_work_at_once(tmp_path: Path):
    with serving(tmp_path) as server:
        url = server.url
        added = plugbay(tmp_path, "user", "add", "eddie", text="a long password\n")
        assert (added.returncode, added.stdout) == (0, "")
        assert "eddie was added as editor" in added.stderr
        token = plugbay(tmp_path, "token", "create", "--user", "eddie", "--name", "scraper").stdout.strip()
        assert get(f"{url}/metrics", headers={"authorization": f"Bearer {token}"}).status_code == 200
        assert get(f"{url}/metrics", auth=("eddie", "a long password")).status_code == 200
        assert get(f"{url}/admin/plugins", auth=("eddie", "a long password")).status_code == 403


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["user", "add", "x", "--role", "king"], "pw\n"),
        (["user", "add", ""], "a long password\n"),
        (["token", "create", "--user", "nobody", "--name", "x"], ""),
        (["token", "list", "--user", "nobody"], ""),
        (["token", "revoke", "7"], ""),
        (["user", "remove", "nobody"], ""),
        (["user", "password", "nobody"], "a long password\n"),
        (["backup", "/nonexistent/x.db"], ""),
        (["plugin", "new", "../evil"], ""),
    ],
)
def test_mistakes_are_told_in_a_sentence(tmp_path: Path, args: list[str], text: str):
    done = plugbay(tmp_path, *args, text=text)
    assert done.returncode in (1, 2)
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr


def test_a_command_in_the_wrong_folder_says_that_it_makes_a_store_of_its_own(tmp_path: Path):
    first = plugbay(tmp_path, "user", "add", "eddie", text="a long password\n")
    assert f"There was no store at {tmp_path / 'data/plugbay.db'}" in first.stderr
    assert "--data-dir" in first.stderr
    again = plugbay(tmp_path, "user", "add", "ada", text="a long password\n")
    assert "no store" not in again.stderr


@pytest.mark.parametrize("command", ["plugins", "check"])
def test_looking_at_plugins_in_the_wrong_folder_says_so_too(tmp_path: Path, command: str):
    first = plugbay(tmp_path, command)
    assert f"There was no store at {tmp_path / 'data/plugbay.db'}" in first.stderr
    assert "no store" not in plugbay(tmp_path, command).stderr


@pytest.mark.parametrize("text", ["", "\n"])
def test_a_user_without_a_password_is_not_added(tmp_path: Path, text: str):
    refused = plugbay(tmp_path, "user", "add", "eddie", "--role", "admin", text=text)
    assert refused.returncode == 1
    assert "A password is needed" in refused.stderr
    assert plugbay(tmp_path, "user", "add", "eddie", text="a long password\n").returncode == 0


def test_a_user_is_added_only_once(tmp_path: Path):
    plugbay(tmp_path, "user", "add", "eddie", text="a long password\n")
    again = plugbay(tmp_path, "user", "add", "Eddie", text="a long password\n")
    assert again.returncode != 0
    assert "Traceback" not in again.stderr


def test_plugins_are_listed_with_version_and_state(tmp_path: Path):
    shutil.copytree(SAMPLES / "good", tmp_path / "plugins")
    shutil.copytree(SAMPLES / "broken/needs_newer", tmp_path / "plugins/needs_newer")
    said = plugbay(tmp_path, "plugins").stdout
    assert "greeter                  1.2.3      loaded" in said
    assert "refused   needs fine >=2, which is not installed" in said


def test_check_is_silent_about_nothing_and_fails_when_a_plugin_does(tmp_path: Path):
    shutil.copytree(SAMPLES / "good", tmp_path / "plugins")
    fine = plugbay(tmp_path, "check")
    assert (fine.returncode, "sqlite, reachable" in fine.stdout) == (0, True)
    shutil.copytree(SAMPLES / "broken/exits", tmp_path / "plugins/exits")
    broken = plugbay(tmp_path, "check")
    assert broken.returncode == 1
    assert "goodbye, all of you" in broken.stdout


def test_check_asks_about_a_variable_that_is_nearly_a_setting(tmp_path: Path):
    variables = {
        "SCHEDULED_QUERY_INTERVALL": "5",
        "PLUGBAY_SESSION_SECRET": "x",
        "SCHEDULED_QUERY_OWNER": "me",
    }
    said = plugbay(tmp_path, "check", **variables)
    assert said.returncode == 0
    assert "SCHEDULED_QUERY_INTERVALL sets nothing; is SCHEDULED_QUERY_INTERVAL meant?" in said.stdout
    assert "PLUGBAY_SESSION_SECRET sets nothing; is PLUGBAY_SESSION_SECRET_KEY meant?" in said.stdout
    assert "OWNER" not in said.stdout


def test_a_backup_is_a_whole_store(tmp_path: Path):
    plugbay(tmp_path, "user", "add", "eddie", text="a long password\n")
    assert plugbay(tmp_path, "backup", "copy.db").returncode == 0
    with sqlite3.connect(tmp_path / "copy.db") as copy:
        assert copy.execute("SELECT name FROM users").fetchall() == [("eddie",)]
    copy.close()
    assert plugbay(tmp_path, "backup", "copy.db").returncode == 2


def test_a_store_is_moved_to_postgresql_once(tmp_path: Path, postgres_url: str):
    plugbay(tmp_path, "user", "add", "eddie", text="a long password\n")
    moved = plugbay(tmp_path, "move", "--to", postgres_url)
    assert moved.returncode == 0, moved.stderr
    assert re.search(r"^users +1 rows  [0-9a-f]{32}$", moved.stdout, re.MULTILINE)
    assert "are the same in both stores now" in moved.stderr
    token = plugbay(
        tmp_path, "token", "create", "--user", "eddie", "--name", "t", PLUGBAY_DATABASE_URL=postgres_url
    )
    assert token.returncode == 0, token.stderr
    again = plugbay(tmp_path, "move", "--to", postgres_url)
    assert again.returncode == 2
    assert "is not empty" in again.stderr


def test_a_new_plugin_works_as_it_is_written_and_so_does_its_test(tmp_path: Path):
    said = plugbay(tmp_path, "plugin", "new", "say_hello").stdout
    assert "/say_hello/" in said
    with serving(tmp_path) as server:
        page = get(f"{server.url}/say_hello/", auth=("admin", PASSWORD))
        assert "Hello, admin!" in page.text
    test = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "plugins/say_hello"],
        cwd=tmp_path,
        env=environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"),
        capture_output=True,
        text=True,
    )
    assert "2 passed" in test.stdout
    assert plugbay(tmp_path, "plugin", "new", "say_hello").returncode == 2


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PLUGBAY_SESSION_SECRET_KEY", "short"),
        ("PLUGBAY_SESSION_SECRET_KEY", ""),
        ("PLUGBAY_ADMIN_BASE_URL", "admin"),
        ("PLUGBAY_DATABASE_URL", "oracle://x/y"),
        ("PLUGBAY_ENCRYPTION_KEY", "not a key"),
    ],
)
def test_a_bad_variable_ends_serve_with_status_2_and_its_name(tmp_path: Path, variable: str, value: str):
    done = plugbay(tmp_path, "serve", "--port", "0", **{variable: value})
    assert done.returncode == 2
    assert variable in done.stderr
    assert "Traceback" not in done.stderr
