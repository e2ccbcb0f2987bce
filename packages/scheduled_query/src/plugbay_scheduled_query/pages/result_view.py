"""A result as pages show it: by its render type, or in every form at once for the editor. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plugbay_scheduled_query.core.model import Query, RenderType
from plugbay_scheduled_query.core.rendering import Rendered, render
from plugbay_scheduled_query.repository.glances import Latest


@dataclass(frozen=True, slots=True)
class Shown:
    """A result made ready, with what to say beside it."""

    rendered: Rendered
    row_count: int
    is_whole: bool
    previous: float | None = None


def shown(query: Query, latest: Latest | None) -> Shown | None:
    """The latest result of a query in the form that was asked for."""
    if latest is None:
        return None
    before = previous_value(query.recent_values)
    rendered = render(query.render_type, latest.columns, latest.text, before, latest.is_whole)
    return Shown(rendered, latest.row_count, latest.is_whole, before)


def previous_value(recent: Sequence[float | None]) -> float | None:
    """The value before the last one; an execution that brought none does not count."""
    known = [value for value in recent if value is not None]
    return known[-2] if len(known) > 1 else None


def forms(columns: Sequence[str], text: str, is_whole: bool = True) -> dict[str, Any]:
    """One result in each of the forms, and which of them `auto` chooses."""
    kinds = (RenderType.TABLE, RenderType.COUNTER, RenderType.RAW)
    made = {kind.value: render(kind, columns, text, None, is_whole) for kind in kinds}
    return made | {"auto": render(RenderType.AUTO, columns, text, None, is_whole).kind.value}
