"""What pages show of executions: results by their render type, charts over time and a calendar. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from plugbay_scheduled_query.core.chart import Drawing, draw, missing_columns
from plugbay_scheduled_query.core.model import ChartConfig, Query, RenderType, Status
from plugbay_scheduled_query.core.rendering import Brief, Rendered, brief, render
from plugbay_scheduled_query.core.results import rows_so_far
from plugbay_scheduled_query.repository.history import Days, Point
from plugbay_scheduled_query.repository.overview import Latest, Overview

DRAWN_CHARACTERS = 256_000  # of a result, at most, for a chart
WEEKS = 26  # of the calendar
TONES = {Status.SUCCESS: "primary", Status.FAILED: "red", Status.TIMEOUT: "orange"}
USUAL = 0.9  # the share of executions that take no longer than what is usual
TIMES_THE_USUAL, LEAST_CUT_MS = 4, 10  # where the bars of durations end
FEW, MANY = 0.1, 0.5  # shares of failures
LEVELS = (0.001, 0.25, 0.75)  # shares of the busiest day from which a square is a shade darker

Chart = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shown:
    """A result made ready, with what to say beside it."""

    rendered: Rendered
    row_count: int
    is_whole: bool
    previous: float | None = None
    drawing: Drawing | None = None
    problem: str = ""  # why a chart that was asked for is not drawn


def shown(query: Query, latest: Latest | None, beginning: str | None = None) -> Shown | None:
    """The latest result of a query in the form that was asked for; a chart is drawn from its beginning."""
    if latest is None:
        return None
    first = query.monitor_metric_config
    # what is kept of series is their sum, which the first number of a result cannot be compared with
    before = previous_value(query.recent_values) if first is None or first.is_plain else None
    rendered = render(query.render_type, latest.columns, latest.text, before, latest.is_whole)
    made = Shown(rendered, latest.row_count, latest.is_whole, before)
    if query.chart is None or rendered.kind is not RenderType.TABLE:
        return made
    return drawn(made, query.chart, latest, beginning or latest.text)


def drawn(made: Shown, chart: ChartConfig, latest: Latest, text: str) -> Shown:
    """The same with its chart, or with why there is none."""
    if missing := missing_columns(chart, latest.columns):
        return replace(
            made, problem=f"The chart needs columns that the result does not have: {', '.join(missing)}."
        )
    drawing = draw(chart, latest.columns, rows_so_far(text), latest.row_count)
    return replace(made, drawing=drawing, problem="" if drawing else "There are no numbers to draw.")


def ready(overview: Overview, queries: Sequence[Query]) -> dict[int, tuple[Latest, Shown]]:
    """The latest results of some queries, each made ready to be shown."""
    latest, beginnings = results_of(overview, queries)
    made = ((query.id, shown(query, latest.get(query.id), beginnings.get(query.id))) for query in queries)
    return {query_id: (latest[query_id], one) for query_id, one in made if one}


def results_of(overview: Overview, queries: Sequence[Query]) -> tuple[dict[int, Latest], dict[int, str]]:
    """The latest results of some queries, and of the long ones that are drawn more of the beginning."""
    latest = overview.latest([query.id for query in queries])
    long = [
        query.id for query in queries if query.chart and query.id in latest and not latest[query.id].is_whole
    ]
    return latest, overview.beginnings(long, DRAWN_CHARACTERS)


def brief_of(query: Query, latest: Latest | None) -> Brief | None:
    """The latest result of a query in a few words."""
    return brief(latest.columns, latest.text, latest.row_count, query.render_type) if latest else None


def previous_value(recent: Sequence[float | None]) -> float | None:
    """The value before the last one; an execution that brought none does not count."""
    known = [value for value in recent if value is not None]
    return known[-2] if len(known) > 1 else None


def in_every_form(columns: Sequence[str], text: str, is_whole: bool = True) -> dict[str, Any]:
    """One result in each of the forms, for the editor, and which of them `auto` chooses."""
    kinds = (RenderType.TABLE, RenderType.COUNTER, RenderType.RAW)
    made = {kind.value: render(kind, columns, text, None, is_whole) for kind in kinds}
    return made | {"auto": render(RenderType.AUTO, columns, text, None, is_whole).kind.value}


@dataclass(frozen=True, slots=True)
class Square:
    """A day of the calendar; x counts weeks, y weekdays from Monday."""

    x: int
    y: int
    day: date
    kind: str  # none, good-1 to good-3, few, some or bad
    words: str


@dataclass(frozen=True, slots=True)
class Calendar:
    """Half a year of days, and where the months begin."""

    squares: list[Square]
    months: list[tuple[int, str]]
    executions: int
    failures: int


def value_chart(points: Sequence[Point]) -> Chart | None:
    """The value over time; None where no execution brought a number."""
    if sum(point.value is not None for point in points) < 2:
        return None
    known = _in_order(
        point for point in points if point.value is not None or point.status is not Status.SUCCESS
    )
    series = [{"label": "value", "values": [point.value for point in known]}]
    return {"t": _times(known), "series": series}


def duration_chart(points: Sequence[Point]) -> Chart | None:
    """How long each execution took, in a colour of its own where it failed.

    One that took a thousand times as long as the others would hide them: bars end at a few times the usual.
    """
    if len(points) < 2:
        return None
    points = _in_order(points)
    longest, cut = max(point.duration_ms for point in points), _cut(points)
    series = [_bars(points, status, cut) for status in Status]
    return {
        "t": _times(points),
        "series": [one for one in series if any(value is not None for value in one["values"])],
        "cut_ms": cut if cut < longest else None,
        "longest_ms": longest,
    }


def calendar(days: Days, today: date) -> Calendar:
    """The last half year, a column for each week."""
    first = today - timedelta(days=today.weekday(), weeks=WEEKS - 1)
    span = [first + timedelta(days=n) for n in range((today - first).days + 1)]
    most = max((sum(counts.values()) for counts in days.values()), default=0)
    squares = [_square(day, first, days.get(day, {}), most) for day in span]
    months = [((day - first).days // 7, f"{day:%b}") for day in span if day.day == 1]
    totals = [(sum(counts.values()), _failures(counts)) for counts in days.values()]
    return Calendar(squares, months, sum(t for t, _ in totals), sum(f for _, f in totals))


def activity_chart(by_status: Mapping[str, Mapping[datetime, int]], starts: Sequence[int]) -> Chart:
    """Executions over time: how many ended how from each of these moments to the next."""
    counts = {name: {int(at.timestamp()): n for at, n in found.items()} for name, found in by_status.items()}

    def series(status: Status) -> dict[str, Any]:
        values = [counts.get(status.value, {}).get(start, 0) for start in starts]
        return {"label": status.value, "tone": TONES[status], "values": values}

    return {"t": list(starts), "series": [series(status) for status in Status]}


def _bars(points: Sequence[Point], status: Status, cut: int) -> dict[str, Any]:
    values = [min(point.duration_ms, cut) if point.status is status else None for point in points]
    return {"label": status.value, "tone": TONES[status], "values": values}


def _cut(points: Sequence[Point]) -> int:
    durations = sorted(point.duration_ms for point in points)
    usual = durations[int(len(durations) * USUAL)]
    return max(LEAST_CUT_MS, usual * TIMES_THE_USUAL)


def _in_order(points: Iterable[Point]) -> list[Point]:
    """By time: after a clock was set back they were recorded in another order, which a chart cannot draw."""
    return sorted(points, key=lambda point: point.at)


def _times(points: Sequence[Point]) -> list[float]:
    return [round(point.at.timestamp(), 3) for point in points]


def _square(day: date, first: date, counts: Mapping[str, int], most: int) -> Square:
    total, failures = sum(counts.values()), _failures(counts)
    words = f"{day:%a %Y-%m-%d}: {total:,} execution{'s' if total != 1 else ''}"
    words += f", {failures:,} failed" if failures else ""
    week, weekday = divmod((day - first).days, 7)
    return Square(week, weekday, day, _kind(total, failures, most), words)


def _kind(total: int, failures: int, most: int) -> str:
    if not total:
        return "none"
    if failures:
        share = failures / total
        return "bad" if share > MANY else "some" if share > FEW else "few"
    return f"good-{sum(total / most > level for level in LEVELS)}"


def _failures(counts: Mapping[str, int]) -> int:
    return sum(n for status, n in counts.items() if status != Status.SUCCESS.value)
