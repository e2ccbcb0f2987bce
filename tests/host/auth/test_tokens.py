import pytest
import sqlalchemy as sa
from fakes import FakeClock
from plugbay.auth.accounts import Account, Accounts
from plugbay.auth.credentials import MOST_TOKENS, Tokens
from plugbay.auth.passwords import Passwords
from plugbay.auth.remembering import Found
from plugbay.auth.roles import User
from plugbay.errors import LabelRefused, TooManyTokens, UnknownUser
from plugbay.store import Store
from plugbay.store.tables import api_tokens


def whose(found: Found | None) -> User | None:
    return found.user if found else None


@pytest.fixture
def accounts(store: Store, clock: FakeClock) -> Accounts:
    return Accounts(store, clock, Passwords())


@pytest.fixture
def ada(accounts: Accounts) -> Account:
    return accounts.add("Ada", "correct horse", "editor")


@pytest.fixture
def tokens(store: Store, clock: FakeClock) -> Tokens:
    return Tokens(store, clock)


def test_a_token_stands_for_its_user(tokens: Tokens, ada: Account) -> None:
    assert whose(tokens.find(tokens.create(ada.id, "scraper"))) == User("Ada", "editor", "token", ada.id)


def test_a_token_shows_what_it_is_and_cannot_be_guessed(tokens: Tokens, ada: Account) -> None:
    made = {tokens.create(ada.id, "scraper") for _ in range(20)}
    assert len(made) == 20
    assert all(token.startswith("pb_") and len(token) == 46 for token in made)


def test_the_store_does_not_know_the_token(tokens: Tokens, ada: Account, store: Store) -> None:
    token = tokens.create(ada.id, "scraper")
    with store.connect() as connection:
        row = connection.execute(sa.select(api_tokens)).one()
    assert token not in str(row)
    assert tokens.find(row.token_hash) is None
    assert tokens.find(f"pb_{row.token_hash}") is None


def test_nothing_else_is_a_token(tokens: Tokens, ada: Account) -> None:
    token = tokens.create(ada.id, "scraper")
    wrong = ["", "pb_", token[3:], token[:-1], token + "x", token.upper(), "pb_\0", "pb_é", "pb_\ud800"]
    assert {tokens.find(text) for text in [*wrong, "pb_" + "x" * 8000]} == {None}


def test_a_revoked_token_is_over_at_once(tokens: Tokens, ada: Account) -> None:
    token = tokens.create(ada.id, "scraper")
    [row] = tokens.of_user(ada.id)
    assert tokens.revoke(ada.id, row.id) == "scraper"
    assert tokens.find(token) is None
    assert tokens.of_user(ada.id) == []
    assert tokens.revoke(ada.id, row.id) is None


def test_nobody_revokes_the_token_of_another(tokens: Tokens, ada: Account, accounts: Accounts) -> None:
    bob = accounts.add("bob", "correct horse", "admin")
    token = tokens.create(ada.id, "scraper")
    [row] = tokens.of_user(ada.id)
    assert tokens.revoke(bob.id, row.id) is None
    assert tokens.find(token)


def test_all_tokens_of_a_user_can_be_revoked(tokens: Tokens, ada: Account) -> None:
    made = [tokens.create(ada.id, f"scraper {number}") for number in range(3)]
    assert tokens.revoke_all(ada.id) == 3
    assert [tokens.find(token) for token in made] == [None, None, None]


def test_with_a_name_the_token_must_be_that_users(tokens: Tokens, ada: Account) -> None:
    token = tokens.create(ada.id, "scraper")
    assert whose(tokens.find(token, "basic", "ada")) == User("Ada", "editor", "basic", ada.id)
    assert tokens.find(token, "basic", "bob") is None
    assert tokens.find(token, "basic", "") is None


def test_the_last_use_is_written_once_a_minute(tokens: Tokens, ada: Account, clock: FakeClock) -> None:
    token, start = tokens.create(ada.id, "scraper"), clock.now()
    used = []
    for _ in range(5):
        tokens.find(token)
        used.append(tokens.of_user(ada.id)[0].last_used_at)
        clock.advance(20)
    assert [(time - start).total_seconds() for time in used] == [0, 0, 0, 60, 60]


def test_a_token_that_was_never_used_says_so(tokens: Tokens, ada: Account) -> None:
    tokens.create(ada.id, "scraper")
    assert tokens.of_user(ada.id)[0].last_used_at is None


def test_a_store_that_is_too_busy_to_note_the_use_does_not_keep_anyone_out(
    tokens: Tokens, ada: Account, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from plugbay.errors import StoreBusy

    def busy() -> None:
        raise StoreBusy(seconds=10)

    token = tokens.create(ada.id, "scraper")
    monkeypatch.setattr(store, "begin", busy)
    assert tokens.find(token)


def test_a_changed_role_and_a_removed_user_count_at_once(
    tokens: Tokens, ada: Account, accounts: Accounts
) -> None:
    token = tokens.create(ada.id, "scraper")
    accounts.set_role(ada, "viewer")
    found = whose(tokens.find(token))
    assert found
    assert found.role == "viewer"
    accounts.remove(ada)
    assert tokens.find(token) is None


def test_a_new_password_leaves_tokens_alone(tokens: Tokens, ada: Account, accounts: Accounts) -> None:
    token = tokens.create(ada.id, "scraper")
    accounts.set_password(ada, "another horse")
    assert tokens.find(token)


def test_a_token_needs_a_visible_name(tokens: Tokens, ada: Account) -> None:
    for label in ("", "   ", "a\0b", "a\nb", "x" * 101, "\ud800"):
        with pytest.raises(LabelRefused, match="1 to 100 visible characters"):
            tokens.create(ada.id, label)
    assert tokens.of_user(ada.id) == []


def test_a_user_who_was_just_removed_gets_no_token(tokens: Tokens, ada: Account, accounts: Accounts) -> None:
    accounts.remove(ada)
    with pytest.raises(UnknownUser):
        tokens.create(ada.id, "scraper")


def test_nobody_fills_the_store_with_tokens(
    tokens: Tokens, ada: Account, store: Store, clock: FakeClock
) -> None:
    rows = [
        {"user_id": ada.id, "name": "x", "token_hash": str(number), "created_at": clock.now()}
        for number in range(MOST_TOKENS)
    ]
    with store.begin() as connection:
        connection.execute(sa.insert(api_tokens), rows)
    with pytest.raises(TooManyTokens, match="at most 100"):
        tokens.create(ada.id, "one more")
