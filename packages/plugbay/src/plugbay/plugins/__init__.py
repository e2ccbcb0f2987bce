"""Plugins: what is known of each that was found, in this process and in the store."""

import inspect
import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from plugbay.base_module import BaseModule
from plugbay.clock import Clock
from plugbay.errors import SecretUnreadable
from plugbay.logs import get_logger
from plugbay.menu import MenuOverride, Overrides
from plugbay.plugins.discovery import PluginSource
from plugbay.plugins.load_order import Candidate
from plugbay.plugins.routes import OpenRequests
from plugbay.secrets import Secrets
from plugbay.settings import LoadedSettings, is_secret, revealed
from plugbay.store import Store
from plugbay.store.tables import changes, menu_overrides, plugin_settings, plugin_states

NOWHERE = ""  # where a plugin is found that was removed
MENU_FRESH_S = 1.5  # so soon a page shows what another process changed about the menu

log = get_logger(__name__)


class PluginState(StrEnum):
    FOUND = "found"  # only on its way to one of the others
    LOADED = "loaded"
    DISABLED = "disabled"
    FAILED = "failed"
    REFUSED = "refused"

    @property
    def as_predicate(self) -> str:
        """How a sentence says it: "which failed", "which is disabled"."""
        return "failed" if self is PluginState.FAILED else f"is {self.value}"


@dataclass
class Plugin:
    """The manager's card for one plugin; `module` is there while it is loaded."""

    source: PluginSource
    name: str
    state: PluginState = PluginState.FOUND
    reason: str = ""
    traceback: str = ""
    module_class: type[BaseModule] | None = None
    module: BaseModule | None = None
    settings: LoadedSettings | None = None
    stored_settings: dict[str, Any] = field(default_factory=dict)
    """What the store had when the settings were last read."""
    open_requests: OpenRequests = field(default_factory=OpenRequests)
    """The requests that its routes are answering."""
    load_number: int = 0
    """Its place in the order of loading."""
    missing: list[str] = field(default_factory=list)
    """Requirements that it declares and this Python lacks."""

    def settle(self, state: PluginState, reason: str = "", trace: str = "") -> None:
        """Notes what became of it, and why."""
        self.state, self.reason, self.traceback = state, reason, trace

    @property
    def is_loaded(self) -> bool:
        return self.state is PluginState.LOADED

    @property
    def is_enabled(self) -> bool:
        return self.state is not PluginState.DISABLED

    @property
    def version(self) -> str:
        return (self.module_class.module_version if self.module_class else "") or "0.0.0"

    @property
    def depends_on(self) -> dict[str, str]:
        return dict(self.module_class.depends_on) if self.module_class else {}

    @property
    def candidate(self) -> Candidate:
        return Candidate(self.name, self.version, self.depends_on)

    @property
    def folder(self) -> Path | None:
        """Where its templates, static files, migrations and requirements are."""
        if self.module_class is None:
            return self.source.folder
        given = self.module.module_path if self.module else self.module_class.module_path
        if given:
            return Path(given)
        return self.source.folder or Path(inspect.getfile(self.module_class)).parent


class Switch(StrEnum):
    """What somebody last did to a plugin."""

    ON = "on"
    OFF = "off"
    REMOVED = "removed"


class PluginRecords:
    """Reads and writes these tables; nothing but the menu is kept in memory, so that all processes agree."""

    def __init__(self, store: Store, secrets: Secrets, clock: Clock) -> None:
        self._store = store
        self._secrets = secrets
        self._clock = clock
        self._menu: tuple[float, Overrides] | None = None
        secrets.add("plugbay", plugin_settings.c.value, plugin_settings.c.is_secret)

    def is_enabled(self, name: str) -> bool:
        """A plugin nobody ever switched is enabled."""
        return self.switches().get(name) is not Switch.OFF

    def switches(self) -> dict[str, Switch]:
        """What was done to each plugin that was ever switched or removed."""
        with self._store.connect() as connection:
            rows = connection.execute(sa.select(plugin_states)).all()
        return {row.name: _switch(row.enabled, row.found_as) for row in rows}

    def changes(self) -> Counter[str]:
        """How often, by any process, plugins were switched or set (`plugins`) or loaded anew (`reload`)."""
        with self._store.connect() as connection:
            rows = connection.execute(sa.select(changes.c.kind, changes.c.number)).all()
        return Counter({row.kind: row.number for row in rows})

    def note_reload(self) -> int:
        """Counts a reload, and returns the number of all that there were."""
        with self._store.begin() as connection:
            return self._count(connection, "reload")

    def name_of(self, found_as: str) -> str | None:
        """The name of the plugin that was last found in this place; its code is not asked."""
        query = sa.select(plugin_states.c.name).where(plugin_states.c.found_as == found_as)
        query = query.order_by(plugin_states.c.updated_at.desc()).limit(1)
        with self._store.connect() as connection:
            return connection.scalar(query)

    def set_enabled(self, name: str, found_as: str, enabled: bool) -> None:
        values = {"found_as": found_as, "enabled": enabled, "updated_at": self._clock.now()}
        insert = self._store.insert(plugin_states).values(name=name, **values)
        with self._store.begin() as connection:
            connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_=values))
            self._count(connection, "plugins")

    def forget(self, name: str) -> None:
        """Notes that it was removed, and deletes its settings; the plugin's own tables stay."""
        self.set_enabled(name, NOWHERE, False)
        with self._store.begin() as connection:
            connection.execute(sa.delete(plugin_settings).where(plugin_settings.c.module == name))

    def settings(self, module: str) -> dict[str, Any]:
        """The stored values by field; a secret that cannot be read any more is left out."""
        query = sa.select(plugin_settings).where(plugin_settings.c.module == module)
        with self._store.connect() as connection:
            rows = connection.execute(query).all()
        found: dict[str, Any] = {}
        for row in rows:
            try:
                found[row.field] = json.loads(
                    self._secrets.decrypt(row.value) if row.is_secret else row.value
                )
            except SecretUnreadable:
                log.warning("secret_unreadable", plugin=module, setting=row.field)
        return found

    def save_settings(
        self, module: str, model: type[BaseModel], values: Mapping[str, Any], resets: Collection[str] = ()
    ) -> None:
        """Keeps these values, and forgets those of `resets`: their fields are at the default again."""
        rows = [self._setting_row(module, model, field, value) for field, value in values.items()]
        insert = self._store.insert(plugin_settings)
        changed = {name: insert.excluded[name] for name in ("value", "is_secret", "updated_at")}
        of_resets = (plugin_settings.c.module == module) & plugin_settings.c.field.in_(resets)
        with self._store.begin() as connection:
            connection.execute(sa.delete(plugin_settings).where(of_resets))
            if rows:
                key = ["module", "field"]
                connection.execute(insert.on_conflict_do_update(index_elements=key, set_=changed), rows)
            self._count(connection, "plugins")

    def menu_overrides(self) -> Overrides:
        """What admins changed about the menu; every page asks, and the store only now and then."""
        now, known = self._clock.monotonic(), self._menu
        if known is None or now - known[0] >= MENU_FRESH_S:
            self._menu = known = now, self._read_menu()
        return known[1]

    def _read_menu(self) -> Overrides:
        with self._store.connect() as connection:
            rows = connection.execute(sa.select(menu_overrides)).all()
        return {row.entry_key: MenuOverride(row.label or "", row.hidden, row.position) for row in rows}

    def save_menu_overrides(self, overrides: Overrides) -> None:
        rows = [
            {"entry_key": key, "label": item.label or None, "hidden": item.hidden, "position": item.position}
            for key, item in overrides.items()
        ]
        with self._store.begin() as connection:
            connection.execute(sa.delete(menu_overrides))
            if rows:
                connection.execute(sa.insert(menu_overrides), rows)
        self._menu = None

    def _count(self, connection: sa.Connection, kind: str) -> int:
        insert = self._store.insert(changes).values(kind=kind, number=1)
        grown = {"number": changes.c.number + 1}
        counting = insert.on_conflict_do_update(index_elements=["kind"], set_=grown)
        number: int = connection.execute(counting.returning(changes.c.number)).scalar_one()
        return number

    def _setting_row(self, module: str, model: type[BaseModel], field: str, value: Any) -> dict[str, Any]:
        secret = is_secret(model, field)
        text = json.dumps(to_jsonable_python(revealed(value) if secret else value))
        return {
            "module": module,
            "field": field,
            "value": self._secrets.encrypt(text) if secret else text,
            "is_secret": secret,
            "updated_at": self._clock.now(),
        }


def _switch(enabled: bool, found_as: str) -> Switch:
    if found_as == NOWHERE:
        return Switch.REMOVED
    return Switch.ON if enabled else Switch.OFF
