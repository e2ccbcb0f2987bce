"""The page on which an admin renames, hides and reorders menu entries."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from plugbay.admin import ADMINS, AdminSite, Site
from plugbay.menu import LABELS, TYPES, MenuEntry, MenuManager, MenuOverride, Overrides
from plugbay.web import FlashMessage, Typed
from plugbay.web.routers import QuickRouter

STEPS = {"up": -1, "down": 1}
ALL = "*"  # in the place of an entry's key: reset all of them
MAX_LABEL = 60  # characters; the menu is narrow
UNCHANGED = MenuOverride()

router = QuickRouter(include_in_schema=False, dependencies=[ADMINS])


@router.get("/menu")
def show(request: Request, site: Site) -> Response:
    return _form_page(site, request)


@router.post("/menu")
def save(request: Request, site: Site, typed: Typed) -> Response:
    menu, records = site.host.menu, site.host.records
    errors = label_errors(_own(menu).values(), typed)
    if errors:
        return _form_page(site, request, 422, errors=errors, typed=typed)
    menu.override(_changed(menu, records.menu_overrides(), typed))
    return site.to(request, f"{site.base}/menu", FlashMessage("The menu is changed."))


def _form_page(site: AdminSite, request: Request, status: int = 200, **typed: Any) -> Response:
    context = {
        "sections": _sections(site.host.menu),
        "own": _own(site.host.menu),
        "overrides": site.host.records.menu_overrides(),
        "errors": {},
        "typed": {},
        **typed,
    }
    return site.page(request, "menu", context, status)


def _own(menu: MenuManager) -> dict[str, MenuEntry]:
    """The entries as their owners made them, by key."""
    owners = dict.fromkeys(entry.owner for entry in menu.all_entries())
    return {entry.key: entry for owner in owners for entry in menu.of_owner(owner)}


def _sections(menu: MenuManager) -> list[tuple[str, list[MenuEntry]]]:
    """Heading and entries of each part of the menu that has any."""
    entries = menu.all_entries()
    parts = [(LABELS[kind] or "Main", [e for e in entries if e.menu_type == kind]) for kind in TYPES]
    return [part for part in parts if part[1]]


def _changed(menu: MenuManager, overrides: Overrides, typed: dict[str, str]) -> Overrides:
    """What the pressed button asks for, with all that was typed."""
    reset = typed.get("_reset")
    if reset == ALL:
        return {}
    overrides = typed_overrides(_own(menu).values(), overrides, typed)
    if reset is not None:
        return without(overrides, reset)
    direction, _, key = typed.get("_move", "").partition(" ")
    for _, entries in _sections(menu):
        keys = [entry.key for entry in entries]
        if key in keys and direction in STEPS:
            return moved(keys, overrides, key, STEPS[direction])
    return overrides


def typed_overrides(
    entries: Iterable[MenuEntry], overrides: Overrides, typed: Mapping[str, str]
) -> Overrides:
    """The labels and switches of a form, on top of what was changed before; what was not sent stays."""
    changed = dict(overrides)
    for own in entries:
        was = changed.get(own.key, UNCHANGED)
        label = typed.get(f"label:{own.key}", was.label or own.label).strip()
        shown = typed.get(f"shown:{own.key}", "false" if was.hidden else "true")
        changed[own.key] = replace(was, label="" if label == own.label else label, hidden=shown != "true")
    return _only_changes(changed)


def label_errors(entries: Iterable[MenuEntry], typed: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with the labels, by entry."""
    labels = {own.key: typed.get(f"label:{own.key}", "") for own in entries}
    message = f"A label has at most {MAX_LABEL} visible characters."
    return {
        key: message for key, label in labels.items() if len(label) > MAX_LABEL or not label.isprintable()
    }


def moved(order: Sequence[str], overrides: Overrides, key: str, step: int) -> Overrides:
    """The entry one place up (-1) or down (1) among those of its section, whose keys `order` lists."""
    keys = list(order)
    place = keys.index(key)
    target = min(max(place + step, 0), len(keys) - 1)
    keys.insert(target, keys.pop(place))
    # below zero, so that what a new plugin brings comes after what an admin has put in order
    positions = {each: index - len(keys) for index, each in enumerate(keys)}
    arranged = {each: replace(overrides.get(each, UNCHANGED), position=positions[each]) for each in keys}
    return {**overrides, **arranged}


def without(overrides: Overrides, key: str) -> Overrides:
    """As the owner made it again."""
    return {each: override for each, override in overrides.items() if each != key}


def _only_changes(overrides: Overrides) -> Overrides:
    return {key: override for key, override in overrides.items() if override != UNCHANGED}
