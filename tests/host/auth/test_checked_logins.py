from fakes import FakeClock
from plugbay.auth.credentials import BasicLogin
from plugbay.auth.local import MOST_REMEMBERED, REMEMBER_S, CheckedLogins

ADA = BasicLogin("ada", "correct horse")


def test_a_login_is_remembered_for_a_minute(clock: FakeClock) -> None:
    remembered = CheckedLogins(clock)
    remembered.remember(ADA, "a hash")
    clock.advance(REMEMBER_S - 1)
    assert remembered.matched(ADA) == "a hash"
    clock.advance(1)
    assert remembered.matched(ADA) is None


def test_setting_the_wall_clock_changes_nothing(clock: FakeClock) -> None:
    remembered = CheckedLogins(clock)
    remembered.remember(ADA, "a hash")
    clock.jump(-86400)
    assert remembered.matched(ADA) == "a hash"


def test_only_the_same_name_with_the_same_password_is_known(clock: FakeClock) -> None:
    remembered = CheckedLogins(clock)
    remembered.remember(ADA, "a hash")
    for name, password in [("ada", "correct"), ("ad", "acorrect horse"), ("ada\0correct", "horse"), ("", "")]:
        assert remembered.matched(BasicLogin(name, password)) is None


def test_neither_name_nor_password_is_kept(clock: FakeClock) -> None:
    remembered = CheckedLogins(clock)
    remembered.remember(ADA, "a hash")
    kept = repr(vars(remembered))
    assert "ada" not in kept
    assert "correct horse" not in kept


def test_another_process_would_remember_under_another_key(clock: FakeClock) -> None:
    one, other = CheckedLogins(clock), CheckedLogins(clock)
    one.remember(ADA, "a hash")
    other.remember(ADA, "a hash")
    assert one._known.keys() != other._known.keys()


def test_the_oldest_is_forgotten_first(clock: FakeClock) -> None:
    remembered = CheckedLogins(clock)
    logins = [BasicLogin(f"user {number}", "x") for number in range(MOST_REMEMBERED + 1)]
    for login in logins[:-1]:
        remembered.remember(login, "a hash")
    remembered.remember(logins[0], "a newer hash")
    remembered.remember(logins[-1], "a hash")
    assert remembered.matched(logins[0]) == "a newer hash"
    assert remembered.matched(logins[1]) is None
    assert remembered.matched(logins[-1]) == "a hash"
