import hashlib

import pytest
import sqlalchemy as sa
from fakes import FakeClock
from plugbay.auth.accounts import Account, Accounts
from plugbay.auth.credentials import IDLE_S, LONGEST_S, WRITE_EVERY_S, Sessions
from plugbay.auth.passwords import Passwords
from plugbay.auth.remembering import Found
from plugbay.auth.roles import User
from plugbay.store import Store
from plugbay.store.tables import sessions as table

STEP = 6 * 60 * 60  # seconds; short of what ends an idle session


def whose(found: Found | None) -> User | None:
    return found.user if found else None


@pytest.fixture
def accounts(store: Store, clock: FakeClock) -> Accounts:
    return Accounts(store, clock, Passwords())


@pytest.fixture
def ada(accounts: Accounts) -> Account:
    return accounts.add("ada", "correct horse", "editor")


@pytest.fixture
def sessions(store: Store, clock: FakeClock) -> Sessions:
    return Sessions(store, clock)


def open_one(sessions: Sessions, account: Account, **more: str) -> str:
    value = sessions.open(account, "192.0.2.1", "Firefox", **more)
    assert value
    return value


def rows(store: Store) -> list[sa.Row[tuple[object, ...]]]:
    with store.connect() as connection:
        return list(connection.execute(sa.select(table)))


def test_a_session_is_found_by_its_cookie(sessions: Sessions, ada: Account) -> None:
    value = open_one(sessions, ada)
    digest = hashlib.sha256(value.encode()).hexdigest()
    assert whose(sessions.find(value)) == User("ada", "editor", "session", ada.id, digest)


def test_the_store_does_not_know_the_cookie(sessions: Sessions, ada: Account, store: Store) -> None:
    value = open_one(sessions, ada)
    assert len(value) == 43
    assert value not in str(rows(store))


def test_each_login_has_an_id_of_its_own(sessions: Sessions, ada: Account) -> None:
    assert len({open_one(sessions, ada) for _ in range(20)}) == 20


def test_no_other_value_is_a_session(sessions: Sessions, ada: Account) -> None:
    open_one(sessions, ada)
    assert {sessions.find(value) for value in ("", "x", "x" * 43, "\0", "é")} == {None}


def test_what_the_store_knows_is_not_a_cookie(sessions: Sessions, ada: Account, store: Store) -> None:
    open_one(sessions, ada)
    assert sessions.find(rows(store)[0].id_hash) is None


def test_a_new_login_ends_the_session_that_the_browser_had(sessions: Sessions, ada: Account) -> None:
    before = open_one(sessions, ada)
    after = open_one(sessions, ada, instead_of=before)
    assert sessions.find(before) is None
    assert sessions.find(after)


def test_a_closed_session_is_over(sessions: Sessions, ada: Account) -> None:
    value, other = open_one(sessions, ada), open_one(sessions, ada)
    sessions.close(value)
    assert sessions.find(value) is None
    assert sessions.find(other)


def test_a_session_ends_after_half_a_day_without_use(
    sessions: Sessions, ada: Account, clock: FakeClock
) -> None:
    value = open_one(sessions, ada)
    clock.advance(IDLE_S - 1)
    assert sessions.find(value)
    clock.advance(IDLE_S)
    assert sessions.find(value) is None


def test_a_session_ends_after_a_week_however_it_is_used(
    sessions: Sessions, ada: Account, clock: FakeClock
) -> None:
    value = open_one(sessions, ada)
    for _ in range(LONGEST_S // STEP - 1):
        clock.advance(STEP)
        assert sessions.find(value)
    clock.advance(STEP)
    assert sessions.find(value) is None


def test_the_time_of_use_is_written_once_a_minute(
    sessions: Sessions, ada: Account, clock: FakeClock, store: Store
) -> None:
    start, value = clock.now(), open_one(sessions, ada)
    clock.advance(WRITE_EVERY_S - 1)
    sessions.find(value)
    assert rows(store)[0].last_seen_at == start
    clock.advance(1)
    sessions.find(value)
    assert rows(store)[0].last_seen_at == clock.now()


def test_sessions_that_are_over_leave_the_store(
    sessions: Sessions, ada: Account, clock: FakeClock, store: Store
) -> None:
    open_one(sessions, ada)
    clock.advance(IDLE_S)
    open_one(sessions, ada)
    assert len(rows(store)) == 1


def test_a_new_role_counts_at_once(sessions: Sessions, ada: Account, accounts: Accounts) -> None:
    value = open_one(sessions, ada)
    accounts.set_role(ada, "viewer")
    found = whose(sessions.find(value))
    assert found
    assert found.role == "viewer"


def test_a_removed_user_is_out_at_once(sessions: Sessions, ada: Account, accounts: Accounts) -> None:
    value = open_one(sessions, ada)
    accounts.remove(ada)
    assert sessions.find(value) is None


def test_a_new_password_ends_every_session_of_the_user(
    sessions: Sessions, ada: Account, accounts: Accounts
) -> None:
    bob = accounts.add("bob", "correct horse", "viewer")
    values, of_bob = [open_one(sessions, ada) for _ in range(3)], open_one(sessions, bob)
    accounts.set_password(ada, "another horse")
    assert [sessions.find(value) for value in values] == [None, None, None]
    assert sessions.find(of_bob)


def test_a_password_that_changed_since_it_was_checked_opens_no_session(
    sessions: Sessions, ada: Account, accounts: Accounts
) -> None:
    now = accounts.set_password(ada, "another horse")
    assert sessions.open(ada, "192.0.2.1", "Firefox") is None
    assert sessions.open(now, "192.0.2.1", "Firefox")


def test_a_user_who_was_removed_since_opens_no_session(
    sessions: Sessions, ada: Account, accounts: Accounts
) -> None:
    accounts.remove(ada)
    assert sessions.open(ada, "192.0.2.1", "Firefox") is None


def test_one_can_end_ones_other_sessions(sessions: Sessions, ada: Account) -> None:
    here, there = open_one(sessions, ada), open_one(sessions, ada)
    user = whose(sessions.find(here))
    assert user
    assert sessions.close_others(user) == 1
    assert sessions.find(here)
    assert sessions.find(there) is None


def test_the_latest_session_is_listed_first(sessions: Sessions, ada: Account, clock: FakeClock) -> None:
    sessions.open(ada, "192.0.2.1", "Firefox")
    clock.advance(1)
    sessions.open(ada, "192.0.2.2", "Safari")
    assert [row.user_agent for row in sessions.of_user(ada.id)] == ["Safari", "Firefox"]
    clock.advance(IDLE_S)
    assert sessions.of_user(ada.id) == []


def test_a_strange_browser_is_written_down_harmlessly(sessions: Sessions, ada: Account) -> None:
    sessions.open(ada, "\0" + "1" * 100, "evil\0\x1b[2J\n" + "x" * 1000)
    [row] = sessions.of_user(ada.id)
    assert row.address == "1" * 64
    assert row.user_agent.startswith("evil[2Jxxx")
    assert len(row.user_agent) == 255
