import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
from fakes import FakeClock
from plugbay.auth import AccountError, LocalAuthManager, add_user, create_token, ensure_first_admin
from plugbay.auth.accounts import Account, Accounts
from plugbay.auth.passwords import Costs, Passwords
from plugbay.errors import LastAdmin, NameRefused, NameTaken, UnknownRole, UnknownUser
from plugbay.store import Store


@pytest.fixture
def accounts(store: Store, clock: FakeClock) -> Accounts:
    return Accounts(store, clock, Passwords())


def at_once(*calls: Callable[[], object]) -> list[object]:
    """Calls them in threads of their own; an exception is a result too."""
    results: list[object] = []
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> None:
        start.wait()
        try:
            results.append(call())
        except AccountError as error:
            results.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_an_added_user_is_found(accounts: Accounts) -> None:
    ada = accounts.add("ada", "correct horse", "editor")
    assert accounts.find("ada") == accounts.get(ada.id) == ada
    assert ada.role == "editor"
    assert "correct horse" not in ada.password_hash


def test_a_name_is_found_however_it_is_written(accounts: Accounts) -> None:
    ada = accounts.add("Zoé", "correct horse", "editor")
    assert accounts.find("zoé") == accounts.find("ZOE\u0301") == ada


def test_two_users_cannot_have_names_that_look_alike(accounts: Accounts) -> None:
    accounts.add("Ada", "correct horse", "viewer")
    for taken in ("Ada", "ADA", "ada", "Ａda"):
        with pytest.raises(NameTaken):
            accounts.add(taken, "correct horse", "viewer")


def test_an_impossible_name_is_refused_and_found_nowhere(accounts: Accounts) -> None:
    for name in ("", "a:b", "\0", "\ud800", "x" * 100_000):
        assert accounts.find(name) is None
        with pytest.raises(NameRefused):
            accounts.add(name, "correct horse", "viewer")


def test_a_role_that_does_not_exist_is_refused(accounts: Accounts) -> None:
    with pytest.raises(UnknownRole, match="not 'root'"):
        accounts.add("ada", "correct horse", "root")


def test_all_users_are_listed_by_name_with_their_tokens(accounts: Accounts, store: Store) -> None:
    for name in ("bob", "Ada", "cleo"):
        accounts.add(name, "correct horse", "viewer")
    create_token(store, "bob", "one")
    create_token(store, "bob", "two")
    assert [(account.name, tokens) for account, tokens in accounts.all()] == [
        ("Ada", 0),
        ("bob", 2),
        ("cleo", 0),
    ]


def test_the_last_admin_stays(accounts: Accounts) -> None:
    ada = accounts.add("ada", "correct horse", "admin")
    accounts.add("bob", "correct horse", "editor")
    with pytest.raises(LastAdmin, match="ada is the only admin"):
        accounts.set_role(ada, "editor")
    with pytest.raises(LastAdmin):
        accounts.remove(ada)
    accounts.set_role(ada, "admin")


def test_one_of_two_admins_may_go(accounts: Accounts) -> None:
    ada = accounts.add("ada", "correct horse", "admin")
    bob = accounts.add("bob", "correct horse", "admin")
    accounts.set_role(ada, "viewer")
    accounts.remove(ada)
    with pytest.raises(LastAdmin):
        accounts.remove(bob)


def test_two_admins_who_part_with_each_other_at_once_leave_one(accounts: Accounts) -> None:
    ada = accounts.add("ada", "correct horse", "admin")
    bob = accounts.add("bob", "correct horse", "admin")
    for _ in range(10):
        results = at_once(lambda: accounts.set_role(ada, "viewer"), lambda: accounts.set_role(bob, "editor"))
        assert sorted(type(result).__name__ for result in results) == ["LastAdmin", "NoneType"]
        for account in (ada, bob):
            accounts.set_role(account, "admin")


def test_the_same_name_added_at_once_is_one_user(accounts: Accounts) -> None:
    results = at_once(*[lambda: accounts.add("ada", "correct horse", "viewer")] * 6)
    assert sorted(type(result).__name__ for result in results) == ["Account"] + ["NameTaken"] * 5


def test_a_password_check_renews_a_hash_of_old_costs(store: Store, clock: FakeClock) -> None:
    old = LocalAuthManager(store, clock, Passwords(Costs(1, 64, 1)))
    old.accounts.add("ada", "correct horse", "viewer")
    new = LocalAuthManager(store, clock, Passwords(Costs(2, 64, 1)))
    assert new.check("ada", "wrong", "") is None
    assert "t=1" in new.accounts.named("ada").password_hash
    assert new.check("ada", "correct horse", "")
    assert "t=2" in new.accounts.named("ada").password_hash
    assert new.check("ada", "correct horse", "")


def test_a_hash_is_not_renewed_over_a_password_that_was_just_changed(accounts: Accounts) -> None:
    ada = accounts.add("ada", "correct horse", "viewer")
    accounts.set_password(ada, "another horse")
    accounts.renew_hash(ada, "correct horse")
    assert Passwords().match(accounts.named("ada").password_hash, "another horse")


class TestFirstStart:
    def test_makes_an_admin_with_a_password_that_is_told_once(self, store: Store, accounts: Accounts) -> None:
        password = ensure_first_admin(store)
        assert password
        assert len(password) == 20
        assert Passwords().match(accounts.named("admin").password_hash, password)
        assert accounts.named("admin").role == "admin"
        assert ensure_first_admin(store) is None

    def test_takes_the_password_of_the_environment_and_tells_nothing(
        self, store: Store, accounts: Accounts
    ) -> None:
        assert ensure_first_admin(store, "correct horse") is None
        assert Passwords().match(accounts.named("admin").password_hash, "correct horse")

    def test_leaves_an_admin_of_another_name_alone(self, store: Store, accounts: Accounts) -> None:
        add_user(store, "ada", "correct horse", "admin")
        assert ensure_first_admin(store, "correct horse") is None
        assert accounts.find("admin") is None

    def test_does_not_change_the_password_later(self, store: Store, accounts: Accounts) -> None:
        ensure_first_admin(store, "correct horse")
        ensure_first_admin(store, "another horse")
        assert Passwords().match(accounts.named("admin").password_hash, "correct horse")

    def test_is_made_once_by_many_processes(self, store: Store, accounts: Accounts) -> None:
        told = [password for password in at_once(*[lambda: ensure_first_admin(store)] * 6) if password]
        assert len(told) == 1
        assert Passwords().match(accounts.named("admin").password_hash, str(told[0]))


class TestCommandLine:
    def test_a_user_made_without_a_role_is_an_editor(self, store: Store) -> None:
        assert add_user(store, "ada", "correct horse").role == "editor"

    def test_a_short_password_is_the_operators_choice_and_is_reported(
        self, store: Store, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert isinstance(add_user(store, "ada", "short"), Account)
        assert "short_password user=ada" in caplog.text
        assert "least=8" in caplog.text

    def test_a_token_is_for_a_user_that_exists(self, store: Store, clock: FakeClock) -> None:
        add_user(store, "ada", "correct horse")
        token = create_token(store, "Ada", "scraper")
        assert LocalAuthManager(store, clock).tokens.find(token)
        with pytest.raises(UnknownUser, match="no user named 'bob'"):
            create_token(store, "bob", "scraper")

    def test_another_process_may_add_users_while_the_server_runs(
        self, sqlite_store: Store, clock: FakeClock
    ) -> None:
        manager = LocalAuthManager(sqlite_store, clock)
        code = (
            "import sys; from pathlib import Path; from plugbay.store import open_store; "
            "from plugbay.auth import add_user, create_token; store = open_store('', Path(sys.argv[1])); "
            "add_user(store, 'ada', 'correct horse'); print(create_token(store, 'ada', 'cli')); store.close()"
        )
        command = [sys.executable, "-c", code, str(sqlite_store.data_dir)]
        token = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        assert manager.tokens.find(token)
        assert manager.check("ada", "correct horse", "")
