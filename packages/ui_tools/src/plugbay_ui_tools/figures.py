"""What the figures of a page rest on: a row of values as a small drawing, and how a value moved."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from plugbay_ui_tools.filters import format_number, format_percent, read_number

EDGE = 2.0  # px kept free, so that the line's own width is not cut off
ICONS = {"up": "fa-arrow-trend-up", "down": "fa-arrow-trend-down", "level": "fa-minus"}

Point = tuple[float, float]
Good = Literal["up", "down", "neither"]


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
    return Sparkline(width, height, line, area, runs[-1][-1], _spark_words(known))


@dataclass(frozen=True)
class Change:
    """`+6.2 %`, with its direction and the tone in which it is shown."""

    text: str
    direction: str
    tone: str

    @property
    def icon(self) -> str:
        return ICONS[self.direction]


def compare(current: object, previous: object, good: Good = "neither") -> Change | None:
    """The change from `previous` to `current`, or `None` where there is nothing to compare."""
    new, old = read_number(current), read_number(previous)
    if new is None or old is None:
        return None
    change = float(new) - float(old)
    direction = "level" if change == 0 else "up" if change > 0 else "down"
    return Change(_change_text(change, float(old)), direction, _change_tone(direction, good))


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


def _spark_words(known: Sequence[float]) -> str:
    low, high, last = (format_number(value) for value in (min(known), max(known), known[-1]))
    if len(known) == 1:
        return f"one value: {last}"
    return f"{len(known)} values from {low} to {high}, last {last}"


def _change_tone(direction: str, good: Good) -> str:
    if direction == "level" or good == "neither":
        return "secondary"
    return "green" if direction == good else "red"


def _change_text(change: float, old: float) -> str:
    if change == 0:
        return "unchanged"
    # against zero there is no percentage
    if old == 0:
        return ("+" if change > 0 else "") + format_number(change)
    return format_percent(change / abs(old), signed=True)
