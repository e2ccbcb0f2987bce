"""One action for many queries over HTTP."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, HTTPException, Response
from plugbay import CurrentUser
from plugbay.web import LARGEST_ID
from pydantic import BaseModel, ConfigDict, Field

from plugbay_scheduled_query.core.draft import FieldRefused, check_tags
from plugbay_scheduled_query.web.api.json_text import json_response
from plugbay_scheduled_query.web.api.requests import PREFIX, JsonBody, documented_as, problem, refusals
from plugbay_scheduled_query.web.api.schemas import Tag
from plugbay_scheduled_query.web.bulk import ACTIONS, MOST, Action, Order, carry_out, message
from plugbay_scheduled_query.web.dependencies import ServiceParts

router = APIRouter(prefix=PREFIX, tags=["Queries"])


class BulkRequest(BaseModel):
    """What is to be done, and to which queries."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"ids": [1, 2], "action": "tag", "tag": "night"}]}
    )

    ids: list[Annotated[int, Field(ge=1, le=LARGEST_ID)]] = Field(min_length=1, max_length=MOST)
    action: Action
    tag: Tag | None = Field(None, description="For `tag` and `untag`.")


class RefusedOne(BaseModel):
    """A query that it was not done to, and why."""

    id: int
    name: str | None = Field(description="Null: there is no such query.")
    reason: str


class BulkAnswer(BaseModel):
    """What became of them."""

    action: Action
    done: list[int] = Field(description="It was done to these, or they were so already.")
    refused: list[RefusedOne]
    message: str = Field(examples=["12 enabled, 1 refused: Orders: there is no such query"])


@router.post(
    "/scheduled-queries/bulk",
    summary="Enable, disable, tag, run or delete many",
    response_model=BulkAnswer,
    responses=refusals(),
)
async def bulk(
    parts: ServiceParts, body: Annotated[JsonBody, documented_as(BulkRequest)], user: CurrentUser
) -> Response:
    """Edits are one transaction over all that allow them; what was refused is listed with its reason.

    Runs start as far as there is room for runs by hand; the answer does not wait for their end.
    """
    order = order_in(body)
    names = await run_sync(parts.definitions.names_of, order.ids)
    many = await carry_out(parts, order, user.name)
    refused = [{"id": one, "name": names.get(one), "reason": why} for one, why in many.refused.items()]
    answer = {"action": order.action, "done": [query.id for query in many.done], "refused": refused}
    return json_response(answer | {"message": message(order, many, names)})


def order_in(body: Mapping[str, Any]) -> Order:
    """What was sent, or 422 with a sentence for the first field that is wrong."""
    action, ids, tag = body.get("action"), body.get("ids"), body.get("tag")
    if action not in ACTIONS:
        raise _refused("action", f"must be one of {', '.join(ACTIONS)}", action)
    if not isinstance(ids, list) or not 1 <= len(ids) <= MOST or not all(map(_is_id, ids)):
        raise _refused("ids", f"must be a list of 1 to {MOST} ids of queries", ids)
    if action in ("tag", "untag"):
        return Order(action, tuple(dict.fromkeys(ids)), _tag(tag))
    return Order(action, tuple(dict.fromkeys(ids)))


def _is_id(given: Any) -> bool:
    return type(given) is int and 1 <= given <= LARGEST_ID


def _tag(given: Any) -> str:
    try:
        tags = check_tags([given])
    except FieldRefused as refused:
        raise _refused("tag", str(refused), given) from None
    if not tags:
        raise _refused("tag", "is needed", given)
    return tags[0]


def _refused(field: Literal["action", "ids", "tag"], message: str, given: Any) -> HTTPException:
    return HTTPException(422, [problem(["body", field], message, given)])
