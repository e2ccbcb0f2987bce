"""GET /: to the first page of the menu that the visitor may see, or to a welcome page."""

from collections import Counter
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from plugbay.auth import user_of
from plugbay.web.paths import url_below_root

if TYPE_CHECKING:
    from plugbay.host import Plugbay


def home_router(host: "Plugbay") -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    def home(request: Request) -> Response:
        sections = host.menu.sections(user_of(request))
        main = [entry for section in sections if section.type == "main" for entry in section.entries]
        first = next((entry.url for entry in main if entry.url.startswith("/")), None)
        if first:
            return RedirectResponse(url_below_root(request, first), status_code=303)
        found = Counter(plugin.state.value for plugin in host.modules.all())
        return host.templates.response(request, "plugbay/welcome.html.j2", {"found": found})

    return router
