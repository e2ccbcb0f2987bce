"""Who comes in first: sources take turns, and none of several takes the last place."""

from types import SimpleNamespace
from typing import Any

from plugbay_scheduled_query.runs.claiming import Admission


class Door:
    """A door, and who came through it."""

    def __init__(self, limit: int) -> None:
        self.came: list[int] = []
        self.admission = Admission(lambda runs: self.came.extend(run.id for run in runs), lambda: limit)

    def put(self, source: int, *ids: int) -> None:
        runs: Any = [SimpleNamespace(id=run_id, source_id=source) for run_id in ids]
        self.admission.put(runs)


def test_the_only_source_takes_every_place():
    door = Door(limit=3)
    door.put(1, 10, 11, 12, 13)
    assert door.came == [10, 11, 12]
    door.admission.leave(11)
    assert door.came == [10, 11, 12, 13]


def test_where_there_are_several_one_place_is_left_to_the_others():
    door = Door(limit=3)
    door.put(2, 20)
    door.admission.leave(20)
    door.put(1, 10, 11, 12)
    assert door.came == [20, 10, 11]
    door.put(2, 21)
    assert door.came == [20, 10, 11, 21]


def test_sources_take_turns():
    door = Door(limit=1)
    door.put(1, 10, 11, 12)
    door.put(2, 20, 21)
    for _ in range(4):
        door.admission.leave(door.came[-1])
    assert door.came == [10, 20, 11, 21, 12]


def test_who_never_came_in_leaves_nothing():
    door = Door(limit=1)
    door.put(1, 10, 11)
    door.admission.leave(99)
    assert door.came == [10]


def test_a_shut_door_returns_those_who_wait():
    door = Door(limit=1)
    door.put(1, 10, 11)
    door.put(2, 20)
    assert sorted(run.id for run in door.admission.shut()) == [11, 20]
    door.admission.leave(10)
    assert door.came == [10]
