"""The page on which an admin renames, hides and reorders menu entries."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from plugbay.admin.menu_form import label_errors, moved, typed_overrides, without
from plugbay.admin.site import AdminSite
from plugbay.flash import FlashMessage
from plugbay.menu import LABELS, TYPES, MenuEntry, MenuManager, Overrides
from plugbay.web import Typed

STEPS = {"up": -1, "down": 1}
ALL = "*"  # in the place of an entry's key: reset all of them


def menu_router(site: AdminSite) -> APIRouter:
    router = APIRouter()
    host = site.host

    def form_page(request: Request, status: int = 200, **typed: Any) -> Response:
        context = {
            "sections": _sections(host.menu),
            "own": _own(host.menu),
            "overrides": host.records.menu_overrides(),
            "errors": {},
            "typed": {},
            **typed,
        }
        return site.page(request, "menu", context, status)

    @router.get("/menu")
    def show(request: Request) -> Response:
        return form_page(request)

    @router.post("/menu")
    def save(request: Request, typed: Typed) -> Response:
        errors = label_errors(_own(host.menu).values(), typed)
        if errors:
            return form_page(request, 422, errors=errors, typed=typed)
        overrides = _changed(host.menu, host.records.menu_overrides(), typed)
        host.menu.override(overrides)
        return site.to(request, f"{site.base}/menu", FlashMessage("The menu is changed."))

    return router


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
