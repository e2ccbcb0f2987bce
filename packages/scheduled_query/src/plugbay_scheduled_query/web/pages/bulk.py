"""What is done to several queries of the list at once."""

from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import Response
from plugbay import CurrentUser, FlashMessage
from plugbay.web import row_id

from plugbay_scheduled_query.core.draft import FieldRefused, check_tags
from plugbay_scheduled_query.web.bulk import ACTIONS, MOST, Order, carry_out, message
from plugbay_scheduled_query.web.pages.site import EDITOR, LIST, NO_QUERY, PREFIX, CurrentSite, Site

NOTHING = "Select queries first: tick the boxes before their names."

router = APIRouter(prefix=PREFIX, include_in_schema=False)


async def order_of(request: Request) -> Order | str:
    """What the form asks for, or what is wrong with it."""
    async with request.form() as form:
        given, action, tag = form.getlist("ids"), form.get("action"), form.get("tag")
    wanted = next((one for one in ACTIONS if one == action), None)
    if wanted is None:
        raise HTTPException(422, "There is no such action.")
    ids = _ids([one for one in given if isinstance(one, str)])
    if wanted not in ("tag", "untag"):
        return Order(wanted, ids) if ids else NOTHING
    try:
        tags = check_tags([tag])
    except FieldRefused as refused:
        return str(refused)
    if not tags:
        return "Write the tag into its field first."
    return Order(wanted, ids, tags[0]) if ids else NOTHING


Ordered = Annotated[Order | str, Depends(order_of)]


@router.post("/bulk")
async def bulk(site: CurrentSite, order: Ordered, user: CurrentUser) -> Response:
    """Does it, and says to how many and why not to the others."""
    if isinstance(order, str):
        return _back(site, FlashMessage(order, "warning"))
    names = await run_sync(site.parts.definitions.names_of, order.ids)
    many = await carry_out(site.parts, order, user.name)
    text = message(order, many, names)
    return _back(site, FlashMessage(text, "warning") if many.refused else FlashMessage(text))


@router.get("/bulk/delete", dependencies=EDITOR)
def ask(site: CurrentSite) -> Response:
    """The question before many are deleted: a page, or what htmx puts into a dialog."""
    ids = _ids(site.request.query_params.getlist("ids"))
    queries = list(site.parts.definitions.get_many(ids).values())
    if not queries:
        return _back(site, FlashMessage(NOTHING, "warning"))
    with_metric = sum(bool(query.metrics) for query in queries)
    context = {"queries": queries, "with_metric": with_metric, "is_dialog": site.is_part}
    return site.page("bulk_delete_form" if site.is_part else "bulk_delete", context)


def _ids(given: list[str]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(row_id(one, NO_QUERY) for one in given[:MOST]))


def _back(site: Site, said: FlashMessage) -> Response:
    """To the list as it was, wherever the question was asked."""
    is_from_list = (site.came_from or "").partition("?")[0].endswith(LIST)
    return site.back(said) if is_from_list else site.to(LIST, said)
