import pytest
from plugbay.auth import ROLES, User


def test_each_role_may_do_what_the_lower_ones_may() -> None:
    may = {role: [needed for needed in ROLES if User("ada", role).has_role(needed)] for role in ROLES}
    assert may == {
        "viewer": ["viewer"],
        "editor": ["viewer", "editor"],
        "admin": ["viewer", "editor", "admin"],
    }


def test_a_role_that_does_not_exist_is_nobodys() -> None:
    assert not User("ada", "admin").has_role("root")


def test_a_user_cannot_have_a_role_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="viewer, editor, admin; 'ada' has 'root'"):
        User("ada", "root")  # type: ignore[arg-type]


def test_what_a_form_is_bound_to_is_not_shown_in_logs() -> None:
    assert "abc123" not in repr(User("ada", "viewer", "session", 1, "abc123"))
