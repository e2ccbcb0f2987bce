import pytest
import sqlalchemy as sa
from fakes import FakeClock
from plugbay.auth.passwords import FORGET_AFTER_S, Attempt, Throttle, neighbourhood, wait_after
from plugbay.errors import TooManyAttempts
from plugbay.store import Store
from plugbay.store.tables import login_failures

ADA = Attempt.of("ada", "192.0.2.1")


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("", ""),
        ("testclient", "testclient"),
        ("\0" + "x" * 100, "x" * 64),
    ],
)
def test_a_whole_ipv6_network_counts_as_one_address(address: str, counted: str) -> None:
    assert neighbourhood(address) == counted


@pytest.fixture
def throttle(store: Store, clock: FakeClock) -> Throttle:
    return Throttle(store, clock)


def wait_of(throttle: Throttle, attempt: Attempt = ADA) -> int:
    try:
        throttle.check(attempt)
    except TooManyAttempts as error:
        return error.retry_after
    return 0


def fail(throttle: Throttle, times: int, attempt: Attempt = ADA) -> None:
    for _ in range(times):
        throttle.failed(attempt)


def test_waiting_begins_with_the_fifth_failure_and_grows() -> None:
    assert [wait_after(count) for count in range(12)] == [0, 0, 0, 0, 0, 30, 60, 120, 240, 480, 900, 900]
    assert wait_after(10**9) == 900


def test_four_failures_are_free(throttle: Throttle) -> None:
    fail(throttle, 4)
    assert wait_of(throttle) == 0


def test_after_five_failures_one_waits(throttle: Throttle) -> None:
    fail(throttle, 5)
    assert wait_of(throttle) == 30


def test_the_wait_runs_out(throttle: Throttle, clock: FakeClock) -> None:
    fail(throttle, 5)
    clock.advance(29.5)
    assert wait_of(throttle) == 1
    clock.advance(0.5)
    assert wait_of(throttle) == 0


def test_each_further_failure_doubles_the_wait(throttle: Throttle, clock: FakeClock) -> None:
    fail(throttle, 5)
    clock.advance(30)
    throttle.failed(ADA)
    assert wait_of(throttle) == 60


def test_other_names_and_other_addresses_do_not_wait(throttle: Throttle) -> None:
    fail(throttle, 9)
    assert wait_of(throttle, Attempt.of("bob", "192.0.2.1")) == 0
    assert wait_of(throttle, Attempt.of("ada", "192.0.2.2")) == 0


def test_another_spelling_of_a_name_is_the_same_name(throttle: Throttle) -> None:
    fail(throttle, 5, Attempt.of("ADA", "192.0.2.1"))
    assert wait_of(throttle) == 30


def test_a_success_forgets_the_failures(throttle: Throttle) -> None:
    fail(throttle, 4)
    throttle.succeeded(ADA)
    fail(throttle, 4)
    assert wait_of(throttle) == 0


def test_an_admin_can_let_a_name_in_again_from_everywhere(throttle: Throttle) -> None:
    elsewhere = Attempt.of("ada", "192.0.2.2")
    fail(throttle, 5)
    fail(throttle, 5, elsewhere)
    throttle.forget_name("Ada")
    assert wait_of(throttle) == wait_of(throttle, elsewhere) == 0


def test_after_a_quiet_hour_all_is_forgotten(throttle: Throttle, clock: FakeClock, store: Store) -> None:
    fail(throttle, 7)
    clock.advance(FORGET_AFTER_S + 1)
    throttle.failed(Attempt.of("bob", "192.0.2.9"))
    with store.connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(login_failures)) == 1
    throttle.failed(ADA)
    assert wait_of(throttle) == 0


def test_another_process_counts_along(throttle: Throttle, store: Store, clock: FakeClock) -> None:
    fail(throttle, 3)
    fail(Throttle(store, clock), 2)
    assert wait_of(throttle) == 30


def test_whatever_is_typed_as_a_name_is_counted_but_not_kept(throttle: Throttle, store: Store) -> None:
    typed = ["", "\0", "\ud800", "x" * 10_000, "my-secret-password", "🙂"]
    for name in typed:
        fail(throttle, 5, Attempt.of(name, "a" * 500))
        assert wait_of(throttle, Attempt.of(name, "a" * 500)) == 30
    with store.connect() as connection:
        kept = connection.execute(sa.select(login_failures)).all()
    assert {len(row.name_key) for row in kept} == {64}
    assert not any(name in str(kept) for name in typed[1:])
