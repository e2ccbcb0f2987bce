"""Who comes in first: sources take turns, and none of several takes the last place."""

from types import SimpleNamespace
from typing import Any

from plugbay_scheduled_query.runs.claiming import Admission
from plugbay_scheduled_query.runs.places import Places


class Door:
    """A door, and who came through it."""

    def __init__(self, limit: int, largest: int = 1) -> None:
        self.slices: list[list[int]] = []
        self.admission = Admission(self._let_in, lambda: Places(limit, limit), largest)

    @property
    def came(self) -> list[int]:
        return [run_id for runs in self.slices for run_id in runs]

    def put(self, source: int, *ids: int) -> None:
        self.admission.put(runs_of(source, *ids))

    def _let_in(self, slices: list[list[Any]]) -> None:
        self.slices += [[run.id for run in runs] for runs in slices]


def runs_of(source: int, *ids: int) -> Any:
    return [SimpleNamespace(id=run_id, source_id=source) for run_id in ids]


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


def test_only_where_many_wait_do_they_share_a_slice():
    door = Door(limit=2, largest=16)
    door.put(1, *range(10, 17))
    assert door.slices == [[10, 11, 12], [13, 14, 15]]
    door.admission.leave(10)
    assert door.slices[2:] == [[16]]


def test_a_slice_is_of_one_source_and_has_a_limit():
    door = Door(limit=3, largest=16)
    door.put(1, *range(100, 200))
    for first, *_ in [*door.slices]:
        door.admission.leave(first)
    door.put(2, *range(200, 300))
    for first, *_ in door.slices[3:]:
        door.admission.leave(first)
    assert max(len(ids) for ids in door.slices) == 16
    assert {tuple({run_id // 100 for run_id in ids}) for ids in door.slices} == {(1,), (2,)}


def test_who_is_put_back_comes_first_and_in_order():
    door = Door(limit=1, largest=3)
    door.put(1, 10, 11, 12, 13)
    assert door.slices == [[10, 11, 12]]
    door.admission.put_back(runs_of(1, 11, 12))
    door.admission.leave(10)
    assert door.slices[1:] == [[11, 12, 13]]
