from collections.abc import Mapping

import pytest
from plugbay import EventBus, User
from plugbay.menu import MenuManager, MenuOverride

VIEWER, ADMIN = User("vera", "viewer"), User("ada", "admin")


class Shelf:
    """Keeps overrides as the store would."""

    def __init__(self) -> None:
        self.kept: Mapping[str, MenuOverride] = {}

    def save(self, overrides: Mapping[str, MenuOverride]) -> None:
        self.kept = overrides


@pytest.fixture
def bus() -> EventBus:
    return EventBus()


@pytest.fixture
def menu(bus: EventBus) -> MenuManager:
    shelf = Shelf()
    manager = MenuManager(bus, lambda: shelf.kept, shelf.save)
    manager.add("shop", "Orders", "/shop/", icon="fas fa-cart")
    manager.add("shop", "Returns", "/shop/returns")
    manager.add("shop", "Keys", "/shop/keys", menu_type="admin", role="admin")
    manager.add("shop", "Profile", "/shop/me", menu_type="user")
    return manager


def labels(menu: MenuManager, user: User | None, kind: str = "main") -> list[str]:
    return [
        entry.label for section in menu.sections(user) if section.type == kind for entry in section.entries
    ]


def test_each_visitor_sees_what_their_role_may_use(menu: MenuManager):
    assert labels(menu, VIEWER) == ["Orders", "Returns"]
    assert labels(menu, VIEWER, "admin") == []
    assert labels(menu, ADMIN, "admin") == ["Keys"]
    assert labels(menu, ADMIN, "user") == ["Profile"]


def test_a_stranger_sees_no_menu(menu: MenuManager):
    assert labels(menu, None) == []


@pytest.mark.parametrize(
    ("path", "active"),
    [
        ("/shop/", "Orders"),
        ("/shop/7", "Orders"),
        ("/shop/returns", "Returns"),
        ("/shop/returns/3", "Returns"),
        ("/", None),
    ],
)
def test_the_entry_closest_to_the_page_is_marked(menu: MenuManager, path: str, active: str | None):
    entries = [entry for section in menu.sections(ADMIN, path) for entry in section.entries]
    assert [entry.label for entry in entries if entry.active] == ([active] if active else [])


def test_lower_positions_come_first(menu: MenuManager):
    menu.add("news", "News", "/news/", position=-1)
    assert labels(menu, VIEWER) == ["News", "Orders", "Returns"]


def test_entries_of_latecomers_stand_below_the_others():
    menu = MenuManager(
        EventBus(), dict, lambda overrides: None, comes_late=lambda owner: owner == "a_new_one"
    )
    menu.add("a_new_one", "New", "/new/")
    menu.add("shop", "Shop", "/shop/")
    menu.add("a_new_one", "But this one first", "/first/", position=-1)
    assert [entry.url for entry in menu.all_entries()] == ["/first/", "/shop/", "/new/"]


def test_an_admin_can_rename_hide_and_reorder(menu: MenuManager):
    menu.override(
        {"shop:/shop/": MenuOverride("Sales", position=9), "shop:/shop/me": MenuOverride(hidden=True)}
    )
    assert labels(menu, ADMIN) == ["Returns", "Sales"]
    assert labels(menu, ADMIN, "user") == []


def test_two_entries_of_one_url_are_renamed_one_by_one(menu: MenuManager):
    menu.add("shop", "Orders again", "/shop/")
    first, second = (entry.key for entry in menu.all_entries() if entry.url == "/shop/")
    menu.override({second: MenuOverride("Sales")})
    assert labels(menu, VIEWER) == ["Orders", "Returns", "Sales"]
    menu.override({first: MenuOverride("Buys")})
    assert labels(menu, VIEWER) == ["Buys", "Returns", "Orders again"]
    assert first == "shop:/shop/"  # as it was kept before there were two


def test_hidden_entries_are_still_listed_for_the_admin_to_find(menu: MenuManager):
    menu.override({"shop:/shop/": MenuOverride(hidden=True)})
    assert [entry.label for entry in menu.all_entries() if entry.hidden] == ["Orders"]


def test_overrides_are_told_to_listeners(menu: MenuManager, bus: EventBus):
    heard = []
    bus.on("menu.overrides_changed", heard.append)
    menu.override({"shop:/shop/": MenuOverride("Sales")})
    assert heard[0].data["overrides"] == {"shop:/shop/": MenuOverride("Sales")}


@pytest.mark.parametrize(("show_empty", "expected"), [(True, ["Nowhere"]), (False, [])])
def test_entries_that_lead_nowhere_are_shown_as_the_setting_says(
    bus: EventBus, show_empty: bool, expected: list[str]
):
    menu = MenuManager(bus, dict, lambda overrides: None, show_empty)
    menu.add("shop", "Nowhere")
    assert labels(menu, VIEWER) == expected


def test_an_unknown_type_is_refused(menu: MenuManager):
    with pytest.raises(ValueError, match="menu_type must be one of main, admin, user"):
        menu.add("shop", "Odd", "/odd", menu_type="side")


def test_an_owner_is_taken_back_whole(menu: MenuManager):
    menu.remove_owner("shop")
    assert menu.all_entries() == []
