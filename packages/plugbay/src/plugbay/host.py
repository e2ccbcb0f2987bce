"""Plugbay, the framework object: its constructor is the table of contents of the framework."""

import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response
from pydantic import SecretStr

from plugbay import health, metrics
from plugbay.admin import AdminSite, add_menu_entries, menu_pages, plugin_pages, settings_form
from plugbay.auth import (
    AuthManager,
    CsrfTokens,
    Guard,
    LocalAuthManager,
    SecurityMiddleware,
    auth_routers,
    behind_login,
    ensure_first_admin,
    open_to_all,
    scrapes,
    user_of,
)
from plugbay.base_module import BaseModule
from plugbay.clock import Clock
from plugbay.errors import PlugbayError
from plugbay.events import EventBus
from plugbay.health import HealthRegistry
from plugbay.logs import goes_to_journal
from plugbay.menu import MenuManager
from plugbay.metrics import MetricsRegistry
from plugbay.plugins import PluginRecords
from plugbay.plugins.manager import ModuleManager
from plugbay.plugins.routes import Contribution, RouteTable
from plugbay.plugins.service import StoreFollower
from plugbay.private_files import make_private_dir, write_private_file
from plugbay.secrets import Secrets, check_keys, encryption_keys, session_secret
from plugbay.server import STOP_GRACE_S, Restarter
from plugbay.settings import HostConfig, load_config
from plugbay.store import clock_of, open_store
from plugbay.web import from_host, url_below_root
from plugbay.web.flash_messages import FlashMiddleware, take_flashes
from plugbay.web.pages import StaticFiles, Templates, static_router

HERE = Path(__file__).parent
FIRST_PASSWORD = "first-admin-password"  # noqa: S105 - a file's name
LAST_NEWS_S = 2.0  # for listeners to hear what was posted before they go
CLEAR_UP_S = 15.0  # beyond the grace: to cancel what did not finish in it, and to let go

home_router = APIRouter(include_in_schema=False)


class Plugbay:
    """A plugin host for the FastAPI application `app`, which keeps its own routes, lifespan and answers."""

    def __init__(
        self,
        app: FastAPI,
        app_root_dir: str | Path | None = None,
        path_plugins: str | Path | None = None,
        path_modules: str | Path | None = None,
        auth_manager: AuthManager | None = None,
        *,
        config: HostConfig | Mapping[str, Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        # 1. configuration: keyword, then environment, then default
        self.app = app
        self.environment: Mapping[str, str] = os.environ
        self.config = load_config(config, self.environment)
        self.app_root_dir = Path(app_root_dir or Path.cwd()).absolute()
        self.path_plugins = Path(path_plugins or self.app_root_dir / "plugins").absolute()
        self.path_modules = Path(path_modules or self.app_root_dir / "domains").absolute()
        self.data_dir = Path(self.config.data_dir or self.app_root_dir / "data").absolute()

        # 2. the store, with the host's own tables, and its clock
        self.store = open_store(_plain(self.config.database_url), self.data_dir)
        self.clock = clock or clock_of(self.store)

        # 3. the keys: one signs what browsers carry, one encrypts what is stored
        secret = session_secret(self.config.explicit_session_secret, self.data_dir)
        keys = encryption_keys(_plain(self.config.encryption_key) or None, self.data_dir)
        check_keys(self.store, secret, keys)
        self.secrets = Secrets(keys)
        self.records = PluginRecords(self.store, self.secrets, self.clock)

        # 4. the tables that plugins contribute to, each by owner
        self.events = EventBus()
        self.menu = MenuManager(
            self.events,
            self.records.menu_overrides,
            self.records.save_menu_overrides,
            bool(self.config.show_empty_menu_entries),
            self._comes_late,
        )
        self.templates = Templates(self._page_context)
        self.metrics = MetricsRegistry()
        self.health = HealthRegistry()
        self.static = StaticFiles()
        self.static.add("plugbay", HERE / "static")

        # 5. who may come in
        self.csrf = CsrfTokens(secret)
        self.auth: AuthManager = auth_manager or LocalAuthManager(self.store, self.clock)
        self.guard = Guard(self.auth, self.csrf)

        # 6. middleware, which acts on our own routes only
        app.add_middleware(FlashMiddleware, secret=secret)
        # an application's own login may stand elsewhere: leaving by our form must be able to end there
        app.add_middleware(SecurityMiddleware, form_action="'self' https:" if auth_manager else "'self'")

        # 7. the host's own routes, after those of the application
        self.docs_url = app.docs_url if app.openapi_url else None
        app.state.plugbay = self
        self.admin = AdminSite(self)
        self._routes = RouteTable(app)
        self._routes.replace(self._host_routes())

        # 8. plugins: found, imported, ordered, loaded
        self.modules = ModuleManager(self, self._routes)
        # before plugins are read: what others change meanwhile is seen
        self.follower = StoreFollower(self)
        self.modules.discover_all(self.path_plugins, self.path_modules)
        self.modules.initialize_plugins_in_order()
        if self.modules.operator_error:
            raise self.modules.operator_error

        # 9. health: the store answers
        self.health.add("plugbay", self._store_problem)

        # 10. the application's lifespan, with ours inside it
        self.restarter = Restarter(lambda: self.stop(0.0))
        self._join_lifespan()

    def get_module(self, name: str) -> BaseModule | None:
        """The loaded module of that name, or None."""
        return next((plugin.module for plugin in self.modules.loaded() if plugin.name == name), None)

    def reload(self) -> dict[str, str]:
        """Unloads all plugins, looks for them anew and loads them; returns their states."""
        return self.follower.reload()

    def add_routes(self, owner: str, router: APIRouter) -> None:
        """Serves a router behind the login, beside the host's own."""
        self._routes.replace([*self._routes.contributions, self.guarded(owner, router)])

    def guarded(self, owner: str, router: APIRouter, prefix: str = "", *gates: Any) -> Contribution:
        """A router behind the login, and behind further gates if there are any."""
        return self._contribution(owner, router, prefix, behind_login, *gates)

    def remove_owner(self, owner: str) -> None:
        """Takes back what an owner added to any of the tables."""
        tables = (
            self.events,
            self.menu,
            self.templates,
            self.metrics,
            self.health,
            self.static,
            self.secrets,
        )
        for table in tables:
            table.remove_owner(owner)

    def stop(self, grace_s: float = STOP_GRACE_S) -> None:
        """Tells plugins to finish within the grace, takes them out of service, and lets the store go."""
        self.follower.stop()
        self.events.emit_lifecycle("stopping", limit_s=grace_s + CLEAR_UP_S, grace_s=grace_s)
        self.events.wait_told(LAST_NEWS_S)
        self.modules.unload_all()
        self.store.close()

    def _host_routes(self) -> list[Contribution]:
        public = [health.router, static_router]
        private = [(home_router, "")]
        private += auth_routers(self.auth, self.config, self.menu)
        if self.config.admin_enabled:
            add_menu_entries(self.menu, self.admin.base)
            private += [(room.router, self.admin.base) for room in (plugin_pages, settings_form, menu_pages)]
        return [
            *(self._contribution("plugbay", router, "", open_to_all) for router in public),
            self.guarded("plugbay", metrics.router, "", scrapes),
            *(self.guarded("plugbay", router, prefix) for router, prefix in private),
        ]

    def _contribution(self, owner: str, router: APIRouter, prefix: str, *gates: Any) -> Contribution:
        is_shown = bool(self.config.include_in_schema)
        return Contribution(owner, router, prefix, [Depends(gate) for gate in gates], is_shown)

    def _comes_late(self, owner: str) -> bool:
        """Whether the menu has the entries of this owner below those of installed plugins."""
        return self.modules.is_in_folder(owner)

    def _page_context(self, request: Request) -> dict[str, Any]:
        """What every page needs."""
        root_path = request.scope.get("root_path", "").rstrip("/")
        user = user_of(request)
        return {
            "request": request,
            "user": user,
            "config": self.config,
            "docs_url": self.docs_url,
            "menu": self.menu.sections(user, request.scope["path"].removeprefix(root_path)),
            "nonce": getattr(request.state, "nonce", ""),
            "csrf_token": self.csrf.for_request(request),
            "flashes": take_flashes(request),
            "url": lambda path: root_path + path if path.startswith("/") else path,
            "asset": lambda name, owner="plugbay": root_path + self.static.asset(name, owner),
            "static": lambda owner, path: root_path + self.static.url(owner, path),
            "extra_css": [root_path + url for url in self._extra_files("extra_css_files")],
            "extra_js": [root_path + url for url in self._extra_files("extra_js_files")],
        }

    def _extra_files(self, field: str) -> list[str]:
        """The files that loaded modules add to every page, as paths of this server."""
        found = [
            (plugin.name, file)
            for plugin in self.modules.loaded()
            for file in getattr(plugin.module, field, ())  # it may be unloaded at this moment
        ]
        return [file if file.startswith("/") else self.static.url(owner, file) for owner, file in found]

    def _store_problem(self) -> str | None:
        try:
            self.store.ping()
        except PlugbayError as error:
            return str(error)
        return None

    def _join_lifespan(self) -> None:
        inner = self.app.router.lifespan_context

        @asynccontextmanager
        async def lifespan(app: FastAPI) -> AsyncIterator[Any]:
            try:
                async with AsyncExitStack() as applications_own:
                    try:  # plugins are loaded since the constructor: they stop, whoever fails to start
                        state = await applications_own.enter_async_context(inner(app))
                        await run_in_threadpool(self._start)
                        yield state
                    finally:
                        await run_in_threadpool(self.stop, 0.0 if self.restarter.is_forced else STOP_GRACE_S)
            finally:
                if self.restarter.is_requested:
                    self.restarter.after_stop()

        self.app.router.lifespan_context = lifespan

    def _start(self) -> None:
        if self.modules.has_waiting():
            self.modules.initialize_plugins_in_order()  # it was stopped before, and starts again
        self._routes.keep_last()
        self._routes.warn_if_hidden()
        if isinstance(self.auth, LocalAuthManager):
            self._make_first_admin()
        self.follower.start()
        self.events.emit_lifecycle("ready")

    def _make_first_admin(self) -> None:
        password = ensure_first_admin(self.store, _plain(self.config.admin_password) or None)
        if password:
            sys.stdout.write(f"\n  The user admin was made with the password {self._told(password)}\n\n")
            sys.stdout.flush()

    def _told(self, password: str) -> str:
        """The password itself, or where it stands when what we print is kept for others to read."""
        if not goes_to_journal():
            return f"{password} (shown only this once)"
        path = self.data_dir / FIRST_PASSWORD
        make_private_dir(self.data_dir)
        write_private_file(path, f"{password}\n".encode())
        return f"in {path} (delete the file when you have read it)"


@home_router.get("/")
def home(
    request: Request,
    menu: Annotated[MenuManager, from_host("menu")],
    modules: Annotated[ModuleManager, from_host("modules")],
    templates: Annotated[Templates, from_host("templates")],
) -> Response:
    """To the first page of the menu that the visitor may see, or to a welcome page."""
    sections = menu.sections(user_of(request))
    main = [entry for section in sections if section.type == "main" for entry in section.entries]
    first = next((entry.url for entry in main if entry.url.startswith("/")), None)
    if first:
        return RedirectResponse(url_below_root(request, first), status_code=303)
    found = Counter(plugin.state.value for plugin in modules.all())
    return templates.response(request, "plugbay/welcome.html.j2", {"found": found})


def _plain(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret else ""
