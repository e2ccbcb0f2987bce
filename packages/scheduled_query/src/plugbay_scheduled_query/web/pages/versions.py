"""The versions of a query: who saved what and when, what changed, and the way back."""

from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response
from plugbay import CurrentUser, FlashMessage
from plugbay.web import Typed, row_id

from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.core.versions import Version, field_changes, line_diff, present_version
from plugbay_scheduled_query.queries.editing import Saved, UnknownQuery
from plugbay_scheduled_query.queries.versions import UnknownVersion
from plugbay_scheduled_query.repository.definitions import VersionConflict
from plugbay_scheduled_query.web.pages.listing import page_number, refusal
from plugbay_scheduled_query.web.pages.query_page import crumbs
from plugbay_scheduled_query.web.pages.site import NO_QUERY, PREFIX, CurrentSite, Site

LIMIT = 20  # versions on a page
NO_VERSION = "There is no such version. It may have been too old to be kept."
WORDS = {
    "name": "Name",
    "query": "SQL",
    "cron_schedule": "Schedule",
    "enabled": "Enabled",
    "render_type": "Render type",
    "metrics": "Metrics",
    "chart": "Chart",
    "data_source": "Source",
    "timezone": "Time zone",
    "timeout": "Time limit",
    "description": "Description",
    "tags": "Tags",
}

router = APIRouter(prefix=PREFIX, include_in_schema=False)


@router.get("/query/{query_id}/versions")
async def show(site: CurrentSite, query_id: str, user: CurrentUser) -> Response:
    """All versions, and one of them compared."""
    return await site.parts.doors.diffs.run(user.name, _page, site, query_id)


@router.post("/query/{query_id}/restore")
def restore(site: CurrentSite, query_id: str, typed: Typed, user: CurrentUser) -> Response:
    """Saves an older definition anew."""
    query, number = site.query(query_id), row_id(typed.get("version", ""), NO_VERSION)
    here = f"{PREFIX}/query/{query.id}/versions"
    try:
        saved = site.parts.versions.restore(query, number, user.name)
    except UnknownVersion:
        raise HTTPException(404, NO_VERSION) from None
    except UnknownQuery:
        raise HTTPException(404, NO_QUERY) from None
    except VersionConflict as error:
        return site.to(here, FlashMessage(f"Version {number} was not restored: {error}", "error"))
    if isinstance(saved, Refused):
        return site.to(
            f"{here}?version={number}&against=now", refusal(f"Version {number} was not restored", saved)
        )
    return site.to(here, *_messages(site, number, saved))


def _page(site: Site, query_id: str) -> Response:
    query, page = site.query(query_id), page_number(site.asked)
    found, total = site.parts.versions.page(query, (page - 1) * LIMIT, LIMIT)
    context = {
        "query": query,
        "versions": found,
        "page": page,
        "pages": -(-total // LIMIT),
        "limit": LIMIT,
        "total": total,
        "words": WORDS,
        "crumbs": crumbs(query),
        "topic": "versions",
    }
    return site.page("versions", context | _compared(site, query))


def _compared(site: Site, query: Query) -> dict[str, Any]:
    """The version that was chosen, else the newest, beside the one before it or the one in force."""
    chosen = _version(site, query, site.asked.get("version") or str(query.version))
    is_against_now = site.asked.get("against") == "now" and chosen.version != query.version
    before, after = (
        (chosen, present_version(query)) if is_against_now else (_before(site, query, chosen), chosen)
    )
    found = {"chosen": chosen, "is_against_now": is_against_now, "before": before, "after": after}
    if before is None:
        return found
    return {
        **found,
        "fields": field_changes(before.definition, after.definition),
        "lines": line_diff(before.definition["query"], after.definition["query"]),
    }


def _before(site: Site, query: Query, version: Version) -> Version | None:
    try:
        return site.parts.versions.get(query, version.version - 1)
    except UnknownVersion:
        return None


def _version(site: Site, query: Query, number: str) -> Version:
    try:
        return site.parts.versions.get(query, row_id(number, NO_VERSION))
    except UnknownVersion:
        raise HTTPException(404, NO_VERSION) from None


def _messages(site: Site, number: int, saved: Saved) -> list[FlashMessage]:
    if not saved.changed:
        return [FlashMessage(f"Version {number} is what is in force already: nothing changed.", "info")]
    text = f"Version {number} is in force again, as version {saved.query.version}."
    warnings = site.parts.editing.warnings(saved)
    return [FlashMessage(text), *(FlashMessage(each, "warning") for each in warnings)]
