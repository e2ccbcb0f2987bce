"""One action for many queries, the same for page and API."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from anyio.to_thread import run_sync
from fastapi import HTTPException

from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.queries.editing import NO_QUERY, Many
from plugbay_scheduled_query.web.dependencies import Parts
from plugbay_scheduled_query.web.doors import RUNS_BY_HAND

Action = Literal["enable", "disable", "tag", "untag", "run", "delete"]
ACTIONS: tuple[Action, ...] = get_args(Action)
MOST = 200  # queries at once: as many as a page of the API has
WAIT_S = 2.0  # for the end of a run: quick ones make room for those behind them
NAMED = 3  # refusals that a message tells in full

_DONE = {
    "enable": "enabled",
    "disable": "disabled",
    "tag": "tagged",
    "untag": "without the tag",
    "run": "started",
    "delete": "deleted",
}


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done, and to which queries."""

    action: Action
    ids: tuple[int, ...]
    tag: str = ""


async def carry_out(parts: Parts, order: Order, by: str) -> Many:
    """Does it to each that allows it, and says why not to the others."""
    if order.action == "run":
        return await _Running(parts, by).run(order.ids)
    if order.action == "delete":
        return await run_sync(parts.editing.delete_many, order.ids, by)
    return await run_sync(parts.editing.edit_many, order.ids, _change(order), by)


def message(order: Order, many: Many, names: Mapping[int, str]) -> str:
    """What came of it in a sentence: “12 enabled, 1 refused: …”."""
    text = f"{len(many.done):,} {_DONE[order.action]}"
    if not many.refused:
        return f"{text}."
    told = [f"{names.get(one, f'number {one}')}: {why}" for one, why in list(many.refused.items())[:NAMED]]
    if len(many.refused) > NAMED:
        told.append(f"and {len(many.refused) - NAMED:,} more")
    return f"{text}, {len(many.refused):,} refused: {'; '.join(told)}"


def _change(order: Order) -> Callable[[Query], Mapping[str, Any]]:
    if order.action in ("enable", "disable"):
        return lambda query: {"enabled": order.action == "enable"}
    return lambda query: {"tags": _tags(query.tags, order)}


def _tags(tags: Sequence[str], order: Order) -> list[str]:
    meant = order.tag.casefold()
    if order.action == "untag":
        return [tag for tag in tags if tag.casefold() != meant]
    return [*tags, *([] if meant in map(str.casefold, tags) else [order.tag])]


class _Running:
    """Runs of one person, no more at once than they may have; when there is no room, the rest is refused."""

    def __init__(self, parts: Parts, by: str) -> None:
        self._parts = parts
        self._by = by
        self._places = asyncio.Semaphore(RUNS_BY_HAND.of_one)
        self._full = ""

    async def run(self, query_ids: Sequence[int]) -> Many:
        found = await run_sync(self._parts.definitions.get_many, query_ids)
        refusals = await asyncio.gather(*(self._refusal(found.get(one)) for one in query_ids))
        refused = {one: why for one, why in zip(query_ids, refusals, strict=True) if why}
        return Many([query for one, query in found.items() if one not in refused], refused)

    async def _refusal(self, query: Query | None) -> str:
        if query is None:
            return NO_QUERY
        pause = await run_sync(self._parts.sessions.pause_named, query.data_source)
        if pause and not query.running:
            return pause.sentence
        async with self._places:
            return self._full or await self._start(query)

    async def _start(self, query: Query) -> str:
        try:
            ran = await self._parts.run_by_hand(query.id, self._by, WAIT_S)
        except HTTPException as no_room:
            self._full = str(no_room.detail)
            return self._full
        return "" if ran else NO_QUERY
