"""A row of values as a small drawing, made on the server: nothing to load, and nothing moves."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from plugbay_ui_tools.numbers import format_number

EDGE = 2.0  # px kept free, so that the line's own width is not cut off

Point = tuple[float, float]


@dataclass(frozen=True)
class Sparkline:
    """SVG paths in a box of `width` × `height`, the last point, and the same in words."""

    width: int
    height: int
    line: str
    area: str
    last: Point | None
    words: str


def draw_sparkline(values: Sequence[float | None], width: int = 120, height: int = 32) -> Sparkline:
    """The line through the values from left to right; `None` leaves a gap."""
    known = [value for value in values if value is not None]
    if not known:
        return Sparkline(width, height, "", "", None, "no values")
    points = _place(values, min(known), max(known), width, height)
    runs = [run if len(run) > 1 else _dash(run[0]) for run in _runs(points)]
    line = "".join("M" + "L".join(f"{x:g} {y:g}" for x, y in run) for run in runs)
    area = "".join(_closed(run, height) for run in runs)
    return Sparkline(width, height, line, area, runs[-1][-1], _words(known))


def _place(
    values: Sequence[float | None], low: float, high: float, width: int, height: int
) -> list[Point | None]:
    room, span = height - 2 * EDGE, high / 2 - low / 2  # of halves: two huge floats are too far apart for one
    step = (width - 2 * EDGE) / max(1, len(values) - 1)

    def point(index: int, value: float | None) -> Point | None:
        if value is None:
            return None
        share = (value / 2 - low / 2) / span if span else 0.5
        return (round(EDGE + index * step, 1), round(EDGE + room * (1 - share), 1))

    return [point(index, value) for index, value in enumerate(values)]


def _runs(points: Iterable[Point | None]) -> list[list[Point]]:
    runs: list[list[Point]] = [[]]
    for point in points:
        if point is not None:
            runs[-1].append(point)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _dash(point: Point) -> list[Point]:
    """A lone value between gaps is still to be seen."""
    return [(round(point[0] - 1, 1), point[1]), (round(point[0] + 1, 1), point[1])]


def _closed(run: list[Point], height: int) -> str:
    middle = "L".join(f"{x:g} {y:g}" for x, y in run)
    return f"M{run[0][0]:g} {height}L{middle}L{run[-1][0]:g} {height}Z"


def _words(known: Sequence[float]) -> str:
    low, high, last = (format_number(value) for value in (min(known), max(known), known[-1]))
    if len(known) == 1:
        return f"one value: {last}"
    return f"{len(known)} values from {low} to {high}, last {last}"
