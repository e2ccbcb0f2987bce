"""Who asks, and what they may do."""

from dataclasses import dataclass, field
from typing import Literal, get_args

Role = Literal["viewer", "editor", "admin"]
Via = Literal["session", "token", "basic", "app"]

ROLES: tuple[Role, ...] = get_args(Role)  # each may do what those before it may do


@dataclass(frozen=True)
class User:
    """A visitor who is known: `via` tells how, `session` what a form's CSRF token is bound to."""

    name: str
    role: Role
    via: Via = "app"
    id: int | None = None
    session: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"a role is one of {', '.join(ROLES)}; {self.name!r} has {self.role!r}")

    def has_role(self, role: str) -> bool:
        """Whether this user may do what `role` may do; a role that does not exist is nobody's."""
        return role in ROLES and ROLES.index(self.role) >= ROLES.index(role)
