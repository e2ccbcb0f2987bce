"""The list of plugins, all there is to know about one, and what an admin can do to plugins and server."""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Form, Request
from fastapi.responses import RedirectResponse, Response
from starlette.background import BackgroundTask

from plugbay.admin import ADMINS, AdminHost, AdminSite, Site
from plugbay.admin.settings_form import settings_of
from plugbay.admin.settings_values import described, shapes_of
from plugbay.errors import PlugbayError
from plugbay.plugins import Plugin, requirements
from plugbay.plugins.load_order import Candidate, dependents, unmet
from plugbay.plugins.service import PluginService, declared_requirements
from plugbay.settings import variable_name
from plugbay.web import FlashMessage
from plugbay.web.requests import route_path
from plugbay.web.routers import QuickRouter

FOUND_AS = {"plugin": "folder", "domain": "domain folder", "package": "package"}
router = QuickRouter(include_in_schema=False, dependencies=[ADMINS])
RESTARTING = "The server restarts. It finishes what it is doing first; this page comes back by itself."
RESTARTING_NOW = "The server restarts without waiting; this page comes back by itself."


@dataclass(frozen=True)
class Dependency:
    """Another plugin that this one needs; `problem` is empty when it is there."""

    name: str
    constraint: str
    problem: str = ""
    is_known: bool = True


@dataclass(frozen=True)
class RequirementLine:
    """A distribution that the plugin declares."""

    text: str
    is_missing: bool


@dataclass(frozen=True)
class SettingLine:
    """A setting as it is now, and who decided it."""

    name: str
    value: str
    origin: str


@router.get("/plugins")
def show_all(request: Request, site: Site) -> Response:
    plugins = site.host.modules.all()
    context = {
        "rows": [_row(site, plugin) for plugin in plugins],
        "counts": Counter(plugin.state.value for plugin in plugins),
        "folders": [site.host.path_plugins, site.host.path_modules],
        "started_at": site.started_at,
    }
    return site.page(request, "plugins", context)


@router.get("/base_module/{plugin_name}/overview")
def show(request: Request, site: Site, plugin_name: str, confirm: str = "") -> Response:
    context = {**_details(site, site.plugin(plugin_name)), "asks_removal": confirm == "remove"}
    return site.page(request, "overview", context)


@router.post("/plugins/{plugin_name}/toggle")
def toggle(request: Request, site: Site, plugin_name: str, wanted: Annotated[str, Form()] = "") -> Response:
    plugin = site.plugin(plugin_name)
    # our buttons say what they want: two clicks, or two admins, do not undo each other
    is_off_wanted = wanted == "disabled" if wanted else plugin.is_enabled
    change = PluginService.disable_plugin if is_off_wanted else PluginService.enable_plugin
    return site.back(request, change(plugin.name, site.host))


@router.post("/base_module/{plugin_name}/remove")
def remove(request: Request, site: Site, plugin_name: str) -> Response:
    plugin = site.plugin(plugin_name)
    answer = PluginService.remove_plugin(plugin.name, site.host)
    messages = [item for item in answer if isinstance(item, FlashMessage)]
    target = next(item for item in answer if isinstance(item, RedirectResponse))
    return site.to(request, target.headers["location"], *messages)


@router.post("/base_module/{plugin_name}/install-requirements")
def install(request: Request, site: Site, plugin_name: str) -> Response:
    plugin = site.plugin(plugin_name)
    run = partial(PluginService.install_module_requirements, plugin.name, site.host)
    if not any(line.is_missing for line in requirements_of(plugin)[0]):
        return site.back(request, run())
    site.installations.start(plugin.name, run)
    return site.to(request, quote(route_path(request.scope)))  # the same address shows how it goes


@router.get("/base_module/{plugin_name}/install-requirements")
def show_installation(request: Request, site: Site, plugin_name: str) -> Response:
    plugin = site.plugin(plugin_name)
    context = {"plugin": plugin, "installation": site.installations.latest(plugin.name)}
    name = "plugbay/admin/installation.html.j2"
    return site.host.templates.stream(request, name, site.context(request, context))


@router.post("/reload")
def reload(request: Request, site: Site) -> Response:
    return site.back(request, reloaded(site.host.reload()))


@router.post("/restart")
def restart(request: Request, site: Site) -> Response:
    return _restarting(site, request, RESTARTING)


@router.post("/restart/force")
def restart_by_force(request: Request, site: Site) -> Response:
    return _restarting(site, request, RESTARTING_NOW, force=True)


def _restarting(site: AdminSite, request: Request, told: str, force: bool = False) -> Response:
    restarter = site.host.restarter
    if obstacle := restarter.obstacle:
        return site.back(request, FlashMessage(obstacle, "warning"))
    restarter.request(force)
    answer = site.back(request, FlashMessage(told, "info"))
    answer.background = BackgroundTask(restarter.stop)  # a forced stop waits for no answer
    return answer


def reloaded(states: dict[str, str]) -> FlashMessage:
    """How a reload went, in one sentence."""
    counts = Counter(states.values())
    told = ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "no plugin found"
    has_trouble = counts["failed"] + counts["refused"] > 0
    return FlashMessage(f"Reloaded: {told}.", "warning" if has_trouble else "success")


def _row(site: AdminSite, plugin: Plugin) -> dict[str, Any]:
    return {
        "plugin": plugin,
        "source": plugin.source.distribution or FOUND_AS[plugin.source.kind],
        "has_settings": bool(plugin.module_class and plugin.module_class.module_settings),
        "description": description_of(plugin),
        # of two with one name, the address leads to the first
        "is_double": not _is_listed(site, plugin),
    }


def _is_listed(site: AdminSite, plugin: Plugin) -> bool:
    return site.host.modules.get(plugin.name) is plugin


def _details(site: AdminSite, plugin: Plugin) -> dict[str, Any]:
    host = site.host
    declared, problem = requirements_of(plugin)
    return {
        "plugin": plugin,
        "description": description_of(plugin),
        "facts": facts_of(plugin),
        "dependencies": dependencies_of(host, plugin),
        "dependents": dependents_of(host, plugin),
        "routes": routes_of(host, plugin),
        "entries": host.menu.of_owner(plugin.name),
        "events": host.events.of_owner(plugin.name),
        "metrics": host.metrics.of_owner(plugin.name),
        "settings": settings_lines(host, plugin),
        "requirements": declared,
        "requirements_problem": problem,
        "removal": removal_of(host, plugin),
        "needed_by": host.modules.needed_by(plugin.name),
    }


def description_of(plugin: Plugin) -> str:
    """The first line of what the plugin's class says about itself."""
    lines = (plugin.module_class.__doc__ or "").strip().splitlines() if plugin.module_class else []
    return lines[0] if lines else ""


def facts_of(plugin: Plugin) -> dict[str, str]:
    """The fields of the base class as this plugin has them; only those that say something."""
    source = plugin.source
    facts = {"Version": plugin.version} if plugin.module_class else {}
    facts |= {"Kind": FOUND_AS[source.kind]}
    facts |= {"Package": source.distribution} if source.distribution else {"Found in": str(source.folder)}
    module = plugin.module or plugin.module_class
    if module is None:
        return facts
    mount = module.module_mount_url
    facts |= {
        "Mounted at": (f"/{plugin.name}" if mount is None else mount or "/") if module.module_router else "",
        "Menu name": module.module_menu_name,
        "Menu icon": module.module_menu_icon if module.module_menu_name else "",
        "Menu type": (module.module_menu_type or "none") if module.module_menu_name else "",
        "Scripts": ", ".join(module.extra_js_files),
        "Style sheets": ", ".join(module.extra_css_files),
        "Files": str(plugin.folder) if plugin.folder != source.folder else "",
    }
    return {label: value for label, value in facts.items() if value}


def dependencies_of(host: AdminHost, plugin: Plugin) -> list[Dependency]:
    known = {other.name: other.candidate for other in host.modules.loaded()}
    absent = {other.name: other.state.as_predicate for other in host.modules.all() if other.name not in known}
    found = []
    for name, constraint in plugin.depends_on.items():
        problem = unmet(Candidate(plugin.name, plugin.version, {name: constraint}), known, absent) or ""
        found.append(Dependency(name, constraint, problem, name in known or name in absent))
    return found


def dependents_of(host: AdminHost, plugin: Plugin) -> list[str]:
    """Those that need this plugin, loaded or not."""
    return dependents(plugin.name, [other.candidate for other in host.modules.all()])


def routes_of(host: AdminHost, plugin: Plugin) -> list[tuple[str, str]]:
    """Methods and path of each route."""
    routes = host.modules.routes_of(plugin.name)
    return [(" ".join(sorted(set(route.methods or {"WS"}) - {"HEAD"})), str(route.path)) for route in routes]


def requirements_of(plugin: Plugin) -> tuple[list[RequirementLine], str]:
    """What it declares, and why that cannot be told."""
    try:
        declared = declared_requirements(plugin)
    except (PlugbayError, PackageNotFoundError, OSError, ValueError) as error:
        return [], str(error)
    missing = set(map(str, requirements.missing(declared)))
    return [RequirementLine(str(need), str(need) in missing) for need in declared], ""


def settings_lines(host: AdminHost, plugin: Plugin) -> list[SettingLine]:
    found = settings_of(host, plugin)
    if found is None:
        return []
    current, lines = found.current, []
    for name, shape in shapes_of(found.model).items():
        value = described(shape, current.values[name]) if name in current.values else "missing"
        kept = "settings page" if name in current.stored and name not in current.replaced else "default"
        origin = variable_name(plugin.name, name) if name in current.locked else kept
        lines.append(SettingLine(name, value, origin))
    return lines


def removal_of(host: AdminHost, plugin: Plugin) -> str:
    """What removing would do."""
    folder = plugin.source.folder
    if folder is None:
        package = plugin.source.distribution
        return f"It is an installed package: it is only disabled. To uninstall it: pip uninstall {package}"
    if folder.parent not in (host.path_plugins, host.path_modules):
        return f"{folder} is not directly in a plugin folder: nothing will be deleted."
    if folder.is_symlink():
        return f"The link {folder} is deleted; the folder that it leads to stays."
    return f"The folder {folder} is deleted with all that is in it. This cannot be undone."
