"""The menu: entries by owner, and what an admin changed about them."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from plugbay.events import EventBus

TYPES = ("main", "admin", "user")
LABELS = {"main": "", "admin": "Admin", "user": "Account"}


class Visitor(Protocol):
    """Who looks at the menu."""

    def has_role(self, role: str) -> bool: ...


@dataclass(frozen=True)
class MenuEntry:
    """A line of the menu; without a URL it is a label that leads nowhere."""

    owner: str
    label: str
    url: str = ""
    icon: str = "fas fa-cube"
    menu_type: str = "main"
    role: str = "viewer"
    position: int = 0
    hidden: bool = False
    active: bool = False
    twins_before: int = 0
    """How many entries of the same owner with the same URL came earlier."""

    @property
    def key(self) -> str:
        """What an override holds on to, whatever the label becomes."""
        return f"{self.owner}:{self.url}" + (f" {self.twins_before + 1}" if self.twins_before else "")

    def leads_to(self, path: str) -> bool:
        """Whether this entry leads to the page at `path`, or to a page above it."""
        return path == self.url or (self.url not in ("", "/") and path.startswith(self.url.rstrip("/") + "/"))


@dataclass(frozen=True)
class MenuSection:
    """The entries of one type, under their heading."""

    type: str
    label: str
    entries: list[MenuEntry]


@dataclass(frozen=True)
class MenuOverride:
    """What an admin changed: an empty label or no position keeps the plugin's own."""

    label: str = ""
    hidden: bool = False
    position: int | None = None


Overrides = Mapping[str, MenuOverride]


class MenuManager:
    """Collects entries from their owners and shows each visitor those they may use."""

    def __init__(
        self,
        events: EventBus,
        load_overrides: Callable[[], Overrides],
        save_overrides: Callable[[Overrides], None],
        show_empty: bool = True,
        comes_late: Callable[[str], bool] = lambda owner: False,
    ) -> None:
        self._events = events
        self._load_overrides = load_overrides
        self._save_overrides = save_overrides
        self._show_empty = show_empty
        self._comes_late = comes_late  # whose entries stand below those of the others
        self._entries: tuple[MenuEntry, ...] = ()
        self._lock = threading.Lock()

    def add(
        self,
        owner: str,
        label: str,
        url: str = "",
        *,
        icon: str = "fas fa-cube",
        menu_type: str = "main",
        role: str = "viewer",
        position: int = 0,
    ) -> None:
        """Adds an entry for visitors with `role`; lower positions come first, then the order of adding.

        What a plugin in a folder adds stands below what installed ones did: a new one does not take over `/`.
        """
        if menu_type not in TYPES:
            raise ValueError(f"menu_type must be one of {', '.join(TYPES)}; not {menu_type!r}")
        entry = MenuEntry(owner, label, url, icon, menu_type, role, position)
        _check_types(entry)
        with self._lock:
            twins = sum((other.owner, other.url) == (owner, url) for other in self._entries)
            self._entries = (*self._entries, replace(entry, twins_before=twins))

    def of_owner(self, owner: str) -> list[MenuEntry]:
        return [entry for entry in self._entries if entry.owner == owner]

    def remove_owner(self, owner: str) -> None:
        with self._lock:
            self._entries = tuple(entry for entry in self._entries if entry.owner != owner)

    def all_entries(self) -> list[MenuEntry]:
        """Every entry as the admin sees it: overrides applied, hidden ones included."""
        overrides = self._load_overrides()
        changed = [apply_override(entry, overrides.get(entry.key)) for entry in self._entries]
        return sorted(changed, key=lambda entry: (entry.position, self._comes_late(entry.owner)))

    def sections(self, visitor: Visitor | None, path: str = "") -> list[MenuSection]:
        """The menu as this visitor sees it on the page at `path`."""
        if visitor is None:
            return []
        shown = [entry for entry in self.all_entries() if self._is_shown(entry, visitor)]
        here = max((entry.url for entry in shown if entry.leads_to(path)), key=len, default=None)
        marked = [replace(entry, active=True) if entry.url == here else entry for entry in shown]
        return [MenuSection(t, LABELS[t], [e for e in marked if e.menu_type == t]) for t in TYPES]

    def override(self, overrides: Overrides) -> None:
        """Replaces all that admins changed, and tells who listens."""
        self._save_overrides(overrides)
        self._events.emit("menu.overrides_changed", overrides=dict(overrides))

    def _is_shown(self, entry: MenuEntry, visitor: Visitor) -> bool:
        return not entry.hidden and visitor.has_role(entry.role) and bool(entry.url or self._show_empty)


def _check_types(entry: MenuEntry) -> None:
    """Refuses what every page would stumble over."""
    for name, kind in (("label", str), ("url", str), ("icon", str), ("role", str), ("position", int)):
        if not isinstance(getattr(entry, name), kind):
            wanted = "a whole number" if kind is int else "a text"
            raise TypeError(f"the {name} of a menu entry must be {wanted}; not {getattr(entry, name)!r}")


def apply_override(entry: MenuEntry, override: MenuOverride | None) -> MenuEntry:
    if override is None:
        return entry
    position = entry.position if override.position is None else override.position
    return replace(entry, label=override.label or entry.label, hidden=override.hidden, position=position)
