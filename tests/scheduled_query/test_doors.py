"""Doors before what people start: how many come in, who is told to come again, and when a place is free."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import HTTPException
from own_thread import in_own_thread
from plugbay_scheduled_query.assembly import ASIDES
from plugbay_scheduled_query.runs.places import most_at_once, most_by_hand
from plugbay_scheduled_query.settings import Settings
from plugbay_scheduled_query.web.doors import (
    BACKTESTS,
    CHANNELS,
    CLEARANCE,
    DIFFS,
    DOWNLOADS,
    LONGEST_S,
    LOOKS,
    OVERVIEWS,
    RUNS_BY_HAND,
    TRIES,
    Door,
    Room,
    RunsByHand,
    TextStream,
)
from plugbay_task_worker.plugin import TaskWorkerSettings

SMALL = Room(3, 2, "visits", patience_s=0.01)
PATIENT = Room(3, 2, "visits", patience_s=60)


def on_a_loop(scene: Callable[[], Awaitable[Any]]) -> Any:
    async def played() -> Any:
        return await scene()

    return in_own_thread(asyncio.run, played())


async def refused(entering: Awaitable[object]) -> HTTPException:
    with pytest.raises(HTTPException) as error:
        await entering
    assert error.value.status_code == 429
    assert int(error.value.headers["Retry-After"]) > 0
    return error.value


def test_a_call_gets_its_arguments_and_gives_its_answer_from_a_thread():
    async def scene() -> str:
        thread = threading.current_thread()

        def call(name: str, *, last: str) -> str:
            assert threading.current_thread() is not thread
            return name + last

        return await Door(SMALL).run("ada", call, "a", last="!")

    assert on_a_loop(scene) == "a!"


def test_one_person_gets_no_more_than_their_share_and_the_next_person_comes_in():
    async def scene() -> None:
        door = Door(SMALL)
        places = [await door.enter("ada"), await door.enter("ada")]
        assert "2 visits" in (await refused(door.enter("ada"))).detail
        await door.enter("bob")
        assert "room for 3 visits" in (await refused(door.enter("cleo"))).detail
        places[0].leave()
        places[0].leave()
        await door.enter("cleo")
        await refused(door.enter("ada"))

    on_a_loop(scene)


def test_who_comes_a_moment_too_early_is_let_in_and_the_first_in_line_comes_first():
    async def scene() -> list[str]:
        door, came = Door(PATIENT), []

        async def come(who: str) -> None:
            await door.enter(who)
            came.append(who)

        inside = [await door.enter("ada"), await door.enter("ada"), await door.enter("bob")]
        line = [asyncio.create_task(come(who)) for who in ("ada", "cleo", "dan")]
        await asyncio.sleep(0)
        inside[2].leave()  # bob goes: ada has her share, so cleo is next
        await asyncio.wait([line[1]])
        inside[0].leave()
        await asyncio.wait([line[0]])
        inside[1].leave()
        await asyncio.wait([line[2]])
        return came

    assert on_a_loop(scene) == ["cleo", "ada", "dan"]


async def others_leave(door: Door, until: Callable[[], bool]) -> None:
    """Places of somebody else become free, again and again."""
    while not until():
        door.left("somebody")
        await asyncio.sleep(0)


def test_while_the_line_moves_one_waits_on_and_when_it_stands_still_one_is_told():
    async def scene() -> None:
        loop, door = asyncio.get_running_loop(), Door(Room(1, 1, "visits", patience_s=0.01))
        await door.enter("bob")
        waiting, end = asyncio.create_task(door.enter("ada")), loop.time() + 0.2
        await others_leave(door, lambda: loop.time() > end)
        assert not waiting.done()
        await refused(waiting)

    on_a_loop(scene)


def test_that_others_leave_is_no_hope_for_who_has_their_share():
    async def scene() -> None:
        loop, door = asyncio.get_running_loop(), Door(Room(3, 1, "visits", patience_s=0.01))
        await door.enter("ada")
        waiting, end = asyncio.create_task(door.enter("ada")), loop.time() + LONGEST_S / 2
        await others_leave(door, lambda: waiting.done() or loop.time() > end)
        assert waiting.done()
        await refused(waiting)

    on_a_loop(scene)


def test_before_the_door_is_not_room_for_all_the_world():
    async def scene() -> None:
        door = Door(PATIENT)
        for who in ("ada", "ada", "bob"):
            await door.enter(who)
        line = [asyncio.create_task(door.enter(str(n))) for n in range(CLEARANCE * PATIENT.at_once)]
        await asyncio.sleep(0)
        await refused(door.enter("one more"))
        for waiting in line:
            waiting.cancel()
        await asyncio.gather(*line, return_exceptions=True)
        line = [asyncio.create_task(door.enter("who waits again"))]
        await asyncio.sleep(0)
        assert not line[0].done()
        line[0].cancel()

    on_a_loop(scene)


def test_a_call_that_fails_gives_its_place_back():
    async def scene() -> None:
        door = Door(SMALL)
        for _ in range(5):
            for verb in (door.run, door.answer):
                with pytest.raises(ZeroDivisionError):
                    await verb("ada", lambda: 1 // 0)

    on_a_loop(scene)


def test_as_many_calls_run_at_once_as_there_are_places():
    barrier = threading.Barrier(SMALL.at_once, timeout=30)

    async def scene() -> None:
        door = Door(SMALL)
        await asyncio.gather(*(door.run(who, barrier.wait) for who in ("ada", "ada", "bob")))

    on_a_loop(scene)


# answers that go on for long


def stream_of(pieces: Iterator[bytes]) -> TextStream:
    return TextStream(pieces, media_type="text/plain")


async def read(response: Any, fails_after: int = 99) -> bytes:
    """The body as a reader gets it, who may hang up after so many messages."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        if len(sent) == fails_after:
            raise OSError("the reader has gone")
        sent.append(message)

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    await response({"type": "http", "asgi": {"spec_version": "2.4"}}, receive, send)
    return b"".join(message.get("body", b"") for message in sent)


def test_who_reads_a_long_answer_has_a_place_until_its_end():
    async def scene() -> None:
        door = Door(SMALL)
        first = await door.answer("ada", stream_of, iter([b"a", b"b"]))
        second = await door.sent("ada", stream_of(iter([b"c"])))
        await refused(door.enter("ada"))
        assert await read(first) == b"ab"
        assert await read(second) == b"c"
        await door.enter("ada")
        await door.enter("ada")

    on_a_loop(scene)


@pytest.mark.parametrize("after", [0, 1])
def test_a_reader_who_goes_away_leaves_their_place(after: int):
    async def scene() -> None:
        door = Door(SMALL)
        for _ in range(4):
            response = await door.answer("ada", stream_of, iter([b"a", b"b"]))
            with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the server makes of it
                await read(response, fails_after=after)

    on_a_loop(scene)


# runs by hand


def by_hand(running: Collection[int] = ()) -> RunsByHand:
    return RunsByHand(lambda ids: set(ids) & set(running))


def test_a_run_has_its_place_until_it_ends_though_nobody_waits_for_it():
    running = set(range(RUNS_BY_HAND.of_one))

    async def scene() -> None:
        door = by_hand(running)
        for query_id in sorted(running):
            await door.enter("ada", query_id)
            door.leave("ada", query_id, has_ended=False)
        await refused(door.enter("ada", 99))
        await door.enter("bob", 99)
        running.remove(3)
        await door.enter("ada", 100)
        await refused(door.enter("ada", 101))

    on_a_loop(scene)


def test_a_run_that_ended_while_somebody_waited_gives_its_place_back_at_once():
    async def scene() -> None:
        door = by_hand(range(1_000))  # the store is not asked
        for query_id in range(3 * RUNS_BY_HAND.of_one):
            await door.enter("ada", query_id)
            door.leave("ada", query_id, has_ended=True)

    on_a_loop(scene)


def test_who_asks_for_the_same_run_again_has_one_place_for_it():
    async def scene() -> None:
        door = by_hand(range(1_000))
        for _ in range(3 * RUNS_BY_HAND.of_one):
            await door.enter("ada", 1)
        for query_id in range(2, RUNS_BY_HAND.of_one + 1):
            await door.enter("ada", query_id)
        await refused(door.enter("ada", 99))
        door.leave("ada", 1, has_ended=True)  # others still wait for it
        await refused(door.enter("ada", 99))

    on_a_loop(scene)


@pytest.mark.parametrize(("workers", "most"), [(1, 1), (2, 1), (4, 1), (8, 2), (16, 5), (256, 6)])
def test_people_never_have_all_workers_of_the_engine(workers: int, most: int):
    assert most_by_hand(workers) == most
    assert most_at_once(workers, Settings().pace) == max(1, workers - most)


@pytest.mark.parametrize(
    "room", [TRIES, LOOKS, RUNS_BY_HAND, DOWNLOADS, DIFFS, BACKTESTS, CHANNELS, OVERVIEWS]
)
def test_the_documents_say_how_many_there_may_be(room: Room):
    text = (Path(__file__).parents[2] / "docs/operations.md").read_text()
    told = f"| {room.at_once} | {room.of_one} |"
    assert any(line.startswith(f"| {room.what}") and told in line for line in text.splitlines()), room
    assert room.of_one < room.at_once


def test_the_documents_say_how_many_runners_there_may_be():
    text = (Path(__file__).parents[2] / "docs/operations.md").read_text()
    workers = TaskWorkerSettings().workers
    most = most_at_once(workers, Settings().pace) + most_by_hand(workers) + ASIDES
    assert f"up to {most} by default" in text
