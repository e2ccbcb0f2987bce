"""The functions behind the macros: which page links to show, and the template global `ui_tools`."""

import itertools
from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

from plugbay import Clock

from plugbay_ui_tools.cells import make_cell, typed_grid
from plugbay_ui_tools.figures import compare, draw_sparkline
from plugbay_ui_tools.filters import Moment, iso_text, relative_words
from plugbay_ui_tools.sql_colours import sql_pieces

AROUND = 1  # neighbours of the current page; the first and last page are always there


def page_window(page: int, pages: int) -> list[int | None]:
    """The page numbers to link to; `None` stands for a gap of two or more."""
    near = range(page - AROUND, page + AROUND + 1)
    wanted = sorted({1, pages, *near} & set(range(1, pages + 1)))
    shown: list[int | None] = []
    for number in wanted:
        last = shown[-1] if shown else 0
        assert last is not None
        if number - last == 2:
            shown.append(number - 1)  # a gap of one page is as wide as the page itself
        elif number - last > 2:
            shown.append(None)
        shown.append(number)
    return shown


def shown_range(page: int, limit: int, total: int) -> tuple[int, int]:
    """First and last item on the page, counted from 1; past the end both are 0."""
    first = (page - 1) * limit + 1
    return (first, min(page * limit, total)) if 0 < first <= total else (0, 0)


def query_string(current: Mapping[str, str] | Iterable[tuple[str, str]], **changes: object) -> str:
    """`?…` with the current parameters, some of them changed; `None` or the empty text takes one away."""
    pairs = current.items() if isinstance(current, Mapping) else current
    kept = [(key, value) for key, value in pairs if key not in changes]
    added = [(key, str(value)) for key, value in changes.items() if value not in (None, "")]
    return "?" + urlencode(kept + added)


class Toolbox:
    """The template global `ui_tools`."""

    grid = staticmethod(typed_grid)
    cell = staticmethod(make_cell)
    sparkline = staticmethod(draw_sparkline)
    compare = staticmethod(compare)
    sql_pieces = staticmethod(sql_pieces)
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
