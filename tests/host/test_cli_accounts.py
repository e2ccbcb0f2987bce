"""Users and tokens from the command line."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from plugbay.auth.passwords import Costs, Passwords
from plugbay.cli import root


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(Passwords, "costs", Costs(passes=1, memory_kib=64, lanes=1))
    monkeypatch.delenv("PLUGBAY_DATABASE_URL", raising=False)
    monkeypatch.setenv("PLUGBAY_DATA_DIR", str(tmp_path))
    for name, role in (("ada", "admin"), ("eddie", "editor")):
        run("user", "add", name, "--role", role, given="a long password\n")
    return tmp_path


def run(*args: str, given: str = "") -> Result:
    return CliRunner().invoke(root, args, input=given)


def test_users_are_listed_with_role_and_tokens():
    run("token", "create", "--user", "eddie", "--name", "scraper")
    head, *lines = [line.split()[:3] for line in run("user", "list").stdout.splitlines()]
    assert head == ["NAME", "ROLE", "TOKENS"]
    assert lines == [["ada", "admin", "0"], ["eddie", "editor", "1"]]


def test_a_new_password_is_read_from_standard_input():
    from plugbay import auth
    from plugbay.cli.options import opened_store

    assert run("user", "password", "EDDIE", given="quite another one\n").exit_code == 0
    with opened_store(None) as store:
        stored = auth.accounts_of(store).named("eddie").password_hash
    assert Passwords().match(stored, "quite another one")


def test_an_empty_password_changes_nothing():
    assert "A password is needed" in str(run("user", "password", "eddie", given="\n").exception)


def test_a_user_goes_with_the_tokens_and_the_last_admin_stays():
    run("token", "create", "--user", "eddie", "--name", "scraper")
    assert "eddie was removed" in run("user", "remove", "eddie").stderr
    assert len(run("token", "list").stdout.splitlines()) == 1
    assert "ada is the only admin" in str(run("user", "remove", "ada").exception)


def test_tokens_are_listed_and_revoked_by_number():
    run("token", "create", "--user", "eddie", "--name", "scraper", "--scope", "metrics", "--days", "3")
    run("token", "create", "--user", "ada", "--name", "deploy")
    lines = [line.split() for line in run("token", "list").stdout.splitlines()[1:]]
    assert [line[1:4] for line in lines] == [["ada", "deploy", "all"], ["eddie", "scraper", "metrics"]]
    assert len(run("token", "list", "--user", "ada").stdout.splitlines()) == 2
    assert "The token scraper of eddie was revoked." in run("token", "revoke", lines[1][0]).stderr
    assert "no token with the number" in str(run("token", "revoke", lines[1][0]).exception)
    assert "scraper" not in run("token", "list").stdout
