"""Doors before what people start: so many of a kind at once, fewer of one person, in threads of their own.

Nothing behind a door takes one of the threads that all other requests share, so whatever it waits for, pages
and the schedule do not wait with it.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import HTTPException, Request
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

PATIENCE_S = 0.5  # so long without anybody leaving, and who waits is told; while the line moves, one waits on
LONGEST_S = 10.0  # for a place, however the line moves
RETRY_S = 5  # told in `Retry-After`: most of what is behind a door has ended by then
CLEARANCE = 8  # as many may stand before a door for each place behind it; whoever else comes is told at once
LOOK_S = 0.2  # between two looks whether somebody still waits for an answer

UnderWay = Callable[[Collection[int]], Collection[int]]  # those of these queries that run

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Room:
    """How many there may be at once, in all and of one person, and what they are called."""

    at_once: int
    of_one: int
    what: str
    patience_s: float = PATIENCE_S


# people wait for each of these, and have several tabs open: one who clicks in all of them is still let in.
# Three who take all that they may leave room for a fourth.
TRIES = Room(12, 4, "tries")  # each holds a runner, for as long as a query may take
LOOKS = Room(6, 3, "looks into data sources")  # each holds a runner, for 12 s when nobody answers
RUNS_BY_HAND = Room(12, 8, "runs by hand", 2.0)  # a few at work, the others wait for the end of these
DOWNLOADS = Room(12, 4, "downloads")  # each holds a result of up to 10 MB in memory
DIFFS = Room(4, 2, "comparisons of two results")  # each holds two of them
BACKTESTS = Room(4, 2, "backtests")  # each reads up to 10,000 results
CHANNELS = Room(6, 3, "calls of channels")  # each waits for somebody else's server
OVERVIEWS = Room(8, 4, "pages over the whole history", 2.0)  # quick, and every open dashboard asks again


class Place:
    """What somebody has behind a door until they leave."""

    def __init__(self, door: "Door", who: str) -> None:
        self._door: Door | None = door
        self._who = who

    def leave(self) -> None:
        """Makes room for the next; to leave twice is to leave once."""
        door, self._door = self._door, None
        if door:
            door.left(self._who)


@dataclass(eq=False, slots=True)
class _Waiting:
    who: str
    called: asyncio.Event = field(default_factory=asyncio.Event)


class Door:
    """Lets in as many as there is room for; asked from one event loop."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._threads = CapacityLimiter(room.at_once)
        self._inside: Counter[str] = Counter()
        self._left_at: dict[str, float] = {}
        """When each of those inside last gave a place back."""
        self._line: deque[_Waiting] = deque()

    async def run(self, who: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the call returns, made in a thread behind the door; 429 when there is no room."""
        place = await self.enter(who)
        try:
            return await self.in_thread(lambda: call(*args, **kwargs))
        finally:
            place.leave()

    async def answer(
        self, who: str, call: Callable[P, Response], *args: P.args, **kwargs: P.kwargs
    ) -> Response:
        """The same for a response that may go on for long: who reads it has the place until its end."""
        place = await self.enter(who)
        try:
            response = await self.in_thread(lambda: call(*args, **kwargs))
        except BaseException:
            place.leave()
            raise
        if isinstance(response, TextStream):
            return response.behind(place, self._drawn(response.pieces))
        place.leave()
        return response

    async def sent(self, who: str, response: Response) -> Response:
        """A response as it is; one that is made as it is sent needs a place until its end."""
        if isinstance(response, TextStream):
            return response.behind(await self.enter(who), self._drawn(response.pieces))
        return response

    async def enter(self, who: str) -> Place:
        """A place, perhaps after a moment; else 429 with a sentence."""
        if not self._has_room(who):
            await self._stand_in_line(who)
        else:
            self._inside[who] += 1
        return Place(self, who)

    async def in_thread(self, call: Callable[[], T]) -> T:
        """What the call returns; the threads are those of this door alone."""
        return await run_sync(call, limiter=self._threads)

    def is_full(self, who: str) -> bool:
        """Whether this person would have to wait."""
        return not self._has_room(who)

    def left(self, who: str) -> None:
        """Somebody leaves: the first in line for whom there is room now comes in."""
        self._inside -= Counter([who])
        self._left_at = {name: at for name, at in self._left_at.items() if self._inside[name]}
        self._left_at[who] = asyncio.get_running_loop().time()
        for waiting in self._line:
            if self._has_room(waiting.who):
                self._line.remove(waiting)
                self._inside[waiting.who] += 1
                waiting.called.set()
                return

    async def _stand_in_line(self, who: str) -> None:
        if len(self._line) >= CLEARANCE * self._room.at_once:
            raise self._refusal(who)
        waiting = _Waiting(who)
        self._line.append(waiting)
        try:
            await self._called(waiting)
        except BaseException as error:
            self._give_up(waiting)
            if isinstance(error, TimeoutError):
                raise self._refusal(who) from None
            raise

    async def _called(self, waiting: _Waiting) -> None:
        """Waits while the line moves; raises TimeoutError once it stands still."""
        loop = asyncio.get_running_loop()
        end = loop.time() + LONGEST_S
        while not waiting.called.is_set():
            began = loop.time()
            try:
                await asyncio.wait_for(waiting.called.wait(), self._room.patience_s)
            except TimeoutError:
                if loop.time() >= end or not self._has_moved(waiting.who, began):
                    raise

    def _has_moved(self, who: str, since: float) -> bool:
        """Whether a place was given back that this person could have had."""
        is_at_limit = self._inside[who] >= self._room.of_one
        moments = [self._left_at.get(who, 0.0)] if is_at_limit else self._left_at.values()
        return max(moments, default=0.0) >= since

    def _give_up(self, waiting: _Waiting) -> None:
        if waiting.called.is_set():  # let in at the very moment that patience ended
            self.left(waiting.who)
        else:
            self._line.remove(waiting)

    def _has_room(self, who: str) -> bool:
        return self._inside.total() < self._room.at_once and self._inside[who] < self._room.of_one

    def _refusal(self, who: str) -> HTTPException:
        what, most = self._room.what, self._room.at_once
        if self._inside.total() >= most:
            text = f"There is room for {most} {what} at once, and it is taken. Try again in a moment."
        else:
            text = f"You have {self._inside[who]} {what} under way; try again when one of them has ended."
        return HTTPException(429, text, {"Retry-After": str(RETRY_S)})

    async def _drawn(self, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
        while (piece := await self.in_thread(lambda: next(pieces, None))) is not None:
            yield piece


class TextStream(StreamingResponse):
    """An answer that is made as it is sent, by a thread behind the door that it came through."""

    def __init__(self, pieces: Iterator[bytes], **options: object) -> None:
        super().__init__(pieces, **options)  # type: ignore[arg-type]
        self.pieces = pieces
        self._place: Place | None = None

    def behind(self, place: Place, drawn: AsyncIterator[bytes]) -> "TextStream":
        """The same answer, which gives the place back at its end."""
        self._place, self.body_iterator = place, drawn
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:  # also when the reader has gone before the first byte
            if self._place:
                self._place.leave()


@asynccontextmanager
async def stopped_when_gone(request: Request, stop: Callable[[], object]) -> AsyncIterator[None]:
    """Calls `stop` if the client hangs up while what is inside goes on."""
    watching = asyncio.create_task(_watch(request, stop))
    try:
        yield
    finally:
        watching.cancel()


async def _watch(request: Request, stop: Callable[[], object]) -> None:
    while not await request.is_disconnected():
        await asyncio.sleep(LOOK_S)
    stop()


class RunsByHand:
    """The door before Run Now: a run has its place until it ends, long after the one who asked has gone.

    One who asks twice for the same query joins their own run, and has one place for it.
    """

    def __init__(self, under_way: UnderWay) -> None:
        self._door = Door(RUNS_BY_HAND)
        self._under_way = under_way
        self._places: dict[tuple[str, int], Place] = {}
        self._watched: Counter[tuple[str, int]] = Counter()
        """How many requests wait for each run."""

    async def enter(self, who: str, query_id: int) -> None:
        """A place for a run of this query, or 429."""
        key = (who, query_id)
        self._watched[key] += 1
        if key in self._places:
            return
        try:
            if self._door.is_full(who):
                await self._forget_ended()
            place = await self._door.enter(who)
        except BaseException:
            self._watched -= Counter([key])
            raise
        if key in self._places:  # the same person was quicker in another tab
            place.leave()
        else:
            self._places[key] = place

    def leave(self, who: str, query_id: int, has_ended: bool) -> None:
        """The one who asked goes; the run keeps its place unless it has ended."""
        key = (who, query_id)
        self._watched -= Counter([key])
        if has_ended and not self._watched[key] and key in self._places:
            self._places.pop(key).leave()

    async def _forget_ended(self) -> None:
        """Takes back the places of runs that ended after their watchers had gone."""
        left = [key for key in self._places if not self._watched[key]]
        if not left:
            return
        running = await self._door.in_thread(lambda: self._under_way({query_id for _, query_id in left}))
        for key in left:
            if key[1] not in running and not self._watched[key] and key in self._places:
                self._places.pop(key).leave()


class Doors:
    """All of them, for one service."""

    def __init__(self, under_way: UnderWay) -> None:
        self.tries = Door(TRIES)
        self.looks = Door(LOOKS)
        self.downloads = Door(DOWNLOADS)
        self.diffs = Door(DIFFS)
        self.backtests = Door(BACKTESTS)
        self.channels = Door(CHANNELS)
        self.overviews = Door(OVERVIEWS)
        self.runs_by_hand = RunsByHand(under_way)
