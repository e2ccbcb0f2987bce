"""What templates can call: the filters, and the functions behind the macros."""

import itertools
from collections.abc import Callable
from typing import Any

from plugbay import Clock

from plugbay_ui_tools.cells import make_cell, typed_grid
from plugbay_ui_tools.cron_words import cron_words
from plugbay_ui_tools.durations import format_duration
from plugbay_ui_tools.numbers import format_bytes, format_compact, format_number, format_percent
from plugbay_ui_tools.paging import page_window, query_string, shown_range
from plugbay_ui_tools.sparklines import draw_sparkline
from plugbay_ui_tools.times import Moment, iso_text, relative_words, utc_text
from plugbay_ui_tools.trends import compare

FILTERS: dict[str, Callable[..., Any]] = {
    "number": format_number,
    "compact": format_compact,
    "bytes": format_bytes,
    "percent": format_percent,
    "duration": format_duration,
    "utc": utc_text,
    "cron_words": cron_words,
}


class Toolbox:
    """The template global `ui_tools`."""

    grid = staticmethod(typed_grid)
    cell = staticmethod(make_cell)
    sparkline = staticmethod(draw_sparkline)
    compare = staticmethod(compare)
    page_window = staticmethod(page_window)
    shown_range = staticmethod(shown_range)
    query_string = staticmethod(query_string)
    iso = staticmethod(iso_text)

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = itertools.count(1)

    def relative(self, moment: Moment) -> str:
        """How long ago, by the host's clock."""
        return relative_words(moment, self._clock.now())

    def unique_id(self, prefix: str) -> str:
        """An element id that no other element has, also when parts of a page are loaded later."""
        return f"{prefix}-{next(self._numbers)}"
