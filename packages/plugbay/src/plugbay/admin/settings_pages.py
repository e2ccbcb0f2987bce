"""The settings page of a plugin."""

from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

from plugbay.admin.current_settings import PluginSettings, settings_of
from plugbay.admin.settings_form import FormResult, form_fields, read_form, read_reset
from plugbay.admin.site import AdminSite
from plugbay.flash import FlashMessage
from plugbay.plugin import Plugin, PluginState
from plugbay.plugin_service import PluginService
from plugbay.web import Typed

RESET = "_reset"  # the name of the buttons; no setting begins with an underscore


def settings_router(site: AdminSite) -> APIRouter:
    router = APIRouter()
    host = site.host

    def form_page(request: Request, plugin: Plugin, status: int = 200, **typed: Any) -> Response:
        found = settings_of(host, plugin)
        shown = {"errors": found.errors, **typed} if found else {}
        fields = form_fields(found.model, plugin.name, found.current, **shown) if found else []
        context = {"plugin": plugin, "fields": fields, "errors": shown.get("errors", {})}
        return site.page(request, "settings", context, status)

    @router.get("/base_module/{plugin_name}/settings")
    def show(request: Request, plugin_name: str) -> Response:
        return form_page(request, site.plugin(plugin_name))

    @router.post("/base_module/{plugin_name}/settings")
    def save(request: Request, plugin_name: str, typed: Typed) -> Response:
        plugin = site.plugin(plugin_name)
        found = settings_of(host, plugin)
        if found is None:
            raise HTTPException(422, f"{plugin.name} has no settings to change now.")
        result = _read(found, typed)
        if result.errors:
            return form_page(request, plugin, 422, typed=typed, errors=result.errors)
        host.modules.save_settings(plugin.name, result.changes, result.resets)
        messages = [FlashMessage(_told(plugin, result))]
        if plugin.state is PluginState.FAILED:  # it may have failed for want of just this
            messages.append(PluginService.enable_plugin(plugin.name, host))
        return site.to(request, f"{site.base}/base_module/{plugin.name}/settings", *messages)

    return router


def _read(found: PluginSettings, typed: dict[str, str]) -> FormResult:
    reset = typed.get(RESET)
    if reset is None:
        return read_form(found.model, found.current, typed)
    if reset not in found.model.model_fields:
        return FormResult(errors={"": f"There is no setting named {reset!r}."})
    return read_reset(found.model, found.current, reset)


def _told(plugin: Plugin, result: FormResult) -> str:
    if result.changes:
        return f"Saved for {plugin.name}: {', '.join(result.changes)}."
    if result.resets:
        return f"Back to the default: {', '.join(sorted(result.resets))}."
    return "Nothing was changed."
