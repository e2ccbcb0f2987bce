"""Who was found a moment ago is not looked up again, and whoever loses access loses it all the same."""

from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa
from fakes import FakeClock
from plugbay import Plugbay
from plugbay.auth import LocalAuthManager, User, add_user, create_token
from plugbay.auth.remembering import FRESH_S, MOST, Found, Remembered
from plugbay.store.tables import api_tokens
from visitor import Visitor

PASSWORD = "correct horse battery staple"
ADA = User("ada", "editor")


def found(clock: FakeClock, user: User = ADA, seconds: float = 60) -> Found:
    return Found(user, clock.now() + timedelta(seconds=seconds))


def test_an_answer_is_remembered_while_it_is_fresh(clock: FakeClock) -> None:
    remembered = Remembered(clock)
    remembered.keep("a", found(clock), remembered.asking())
    assert (remembered.get("a"), remembered.get("b")) == (ADA, None)
    clock.advance(FRESH_S)
    assert remembered.get("a") is None


def test_an_answer_is_as_old_as_the_question(clock: FakeClock) -> None:
    remembered = Remembered(clock)
    asked = remembered.asking()
    clock.advance(FRESH_S)
    remembered.keep("a", found(clock), asked)
    assert remembered.get("a") is None


def test_an_answer_that_ends_earlier_counts_no_longer(clock: FakeClock) -> None:
    remembered = Remembered(clock)
    remembered.keep("a", found(clock, seconds=1), remembered.asking())
    clock.advance(1)
    assert remembered.get("a") is None


def test_an_answer_that_was_on_its_way_when_access_changed_is_not_kept(clock: FakeClock) -> None:
    remembered = Remembered(clock)
    remembered.keep("before", found(clock), remembered.asking())
    asked = remembered.asking()
    remembered.forget()
    remembered.keep("meanwhile", found(clock), asked)
    assert (remembered.get("before"), remembered.get("meanwhile")) == (None, None)


def test_what_is_remembered_has_an_end(clock: FakeClock) -> None:
    remembered = Remembered(clock)
    for number in range(MOST + 1):
        remembered.keep(str(number), found(clock), remembered.asking())
    assert (remembered.get("0"), remembered.get("1")) == (None, ADA)


class Node:
    """A host with a user, and the number of times that its store was read."""

    def __init__(self, host: Plugbay) -> None:
        self.host = host
        self.reads = 0
        sa.event.listen(host.store._reader, "after_cursor_execute", self._count)

    def _count(self, *_: object) -> None:
        self.reads += 1

    @property
    def auth(self) -> LocalAuthManager:
        manager = self.host.auth
        assert isinstance(manager, LocalAuthManager)
        return manager

    def visitor(self) -> Visitor:
        return Visitor(self.host.app)


@pytest.fixture
def node(make_host: Callable[..., Plugbay]) -> Node:
    node = Node(make_host())
    add_user(node.host.store, "ada", PASSWORD, "editor")
    add_user(node.host.store, "an admin", PASSWORD, "admin")
    return node


def shown(node: Node, way: str) -> Visitor:
    """Ada, as her browser or her program shows who she is."""
    visitor = node.visitor()
    token = create_token(node.host.store, "ada", "tests")
    if way == "session":
        visitor.login("ada", PASSWORD)
    elif way == "token":
        visitor.headers["Authorization"] = f"Bearer {token}"
    else:
        visitor.auth = ("ada", token if way == "token as password" else PASSWORD)
    return visitor


WAYS = ("session", "token", "token as password", "password")


@pytest.mark.parametrize("way", WAYS)
def test_a_second_request_asks_the_store_for_nobody(node: Node, way: str) -> None:
    visitor = shown(node, way)
    assert visitor.get("/metrics").status_code == 200
    node.reads = 0
    assert visitor.get("/metrics").status_code == 200
    assert node.reads == 0
    node.auth.sessions.close("another session")
    assert visitor.get("/metrics").status_code == 200
    assert node.reads > 0


def remove(node: Node) -> None:
    node.auth.accounts.remove(node.auth.accounts.named("ada"))


def demote(node: Node) -> None:
    node.auth.accounts.set_role(node.auth.accounts.named("ada"), "viewer")


def revoke(node: Node) -> None:
    node.auth.tokens.revoke_all(node.auth.accounts.named("ada").id)


def change_password(node: Node) -> None:
    node.auth.accounts.set_password(node.auth.accounts.named("ada"), "another password")


LOST: list[tuple[str, Callable[[Node], None]]] = [
    *((way, remove) for way in WAYS),
    ("session", change_password),
    ("password", change_password),
    ("token", revoke),
    ("token as password", revoke),
]


@pytest.mark.parametrize(("way", "lose"), LOST)
def test_access_that_is_taken_away_here_is_gone_at_once(
    node: Node, way: str, lose: Callable[[Node], None]
) -> None:
    visitor = shown(node, way)
    assert visitor.get("/metrics").status_code == 200
    lose(node)
    assert visitor.get("/metrics").status_code == 401


@pytest.mark.parametrize(("way", "lose"), LOST)
def test_access_that_is_taken_away_on_another_node_is_gone_within_two_seconds(
    node: Node, clock: FakeClock, make_host: Callable[..., Plugbay], way: str, lose: Callable[[Node], None]
) -> None:
    visitor = shown(node, way)
    assert visitor.get("/metrics").status_code == 200
    lose(Node(make_host()))
    clock.advance(2)
    assert visitor.get("/metrics").status_code == 401


@pytest.mark.parametrize("way", WAYS)
def test_another_role_counts_at_once_here(node: Node, way: str) -> None:
    visitor = shown(node, way)
    assert visitor.get("/metrics").status_code == 200
    demote(node)
    assert "viewer" in visitor.get("/account").text


def test_a_session_that_is_left_is_over_at_once(node: Node) -> None:
    visitor = shown(node, "session")
    assert visitor.get("/metrics").status_code == 200
    cookies = dict(visitor.cookies)
    visitor.submit("/logout")
    visitor.cookies.update(cookies)
    assert visitor.get("/metrics").status_code == 401


def test_a_token_ends_on_time_though_it_is_remembered(node: Node, clock: FakeClock) -> None:
    visitor = node.visitor()
    token = create_token(node.host.store, "ada", "tests", days=1)
    end = sa.update(api_tokens).values(expires_at=clock.now() + timedelta(seconds=1))
    with node.host.store.begin() as connection:
        connection.execute(end)
    visitor.headers["Authorization"] = f"Bearer {token}"
    assert visitor.get("/metrics").status_code == 200
    clock.advance(1)
    assert visitor.get("/metrics").status_code == 401
