"""Which page links to show, and where they lead."""

from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

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
