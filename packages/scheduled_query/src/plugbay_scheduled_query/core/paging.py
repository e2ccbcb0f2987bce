"""Which part of a list is asked for: a period, a page, words to search for."""

import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from plugbay_scheduled_query.core.draft import Draft

MAX_ID = 2**63 - 1  # what an integer column of either store can hold
DEFAULT_LIMIT = 50
MAX_LIMIT = 200
MAX_SEARCH = 200  # characters
ESCAPE = "\\"  # the escape character of the patterns: `LIKE ? ESCAPE '\'`

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SECOND = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")
LAST_MOMENT = datetime.fromisoformat("9999-12-31 23:59:59.999999")
_SPECIAL = str.maketrans({"%": r"\%", "_": r"\_", "\\": r"\\"})


class BadParameter(ValueError):
    """A parameter that the request should not have had, and why."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name} {message}")
        self.name = name
        self.message = message


@dataclass(frozen=True, slots=True)
class Period:
    """From a moment up to, not including, another; None leaves that end open."""

    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Pagination:
    """The specified object of every paged answer."""

    page: int
    limit: int
    total_count: int
    total_pages: int
    has_next: bool
    has_prev: bool

    def as_json(self) -> dict[str, int | bool]:
        return asdict(self)

    @property
    def offset(self) -> int:
        """Rows before this page, for lists that have no dense numbers; capped at what SQL can take."""
        return min((self.page - 1) * self.limit, self.total_count)


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The dense numbers `lowest` to `highest`, both included; empty when they cross."""

    lowest: int
    highest: int

    def __len__(self) -> int:
        return max(0, self.highest - self.lowest + 1)

    def __bool__(self) -> bool:
        return self.highest >= self.lowest


NOTHING = NumberRange(1, 0)


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a list, read forwards, or backwards from its other end."""

    is_turned: bool
    offset: int
    limit: int


def period(date_from: str | None, date_to: str | None, place: tzinfo = UTC) -> Period:
    """The time between two dates of a place; both days, or both seconds, belong to it."""
    since = _in_utc(_start("date_from", date_from), place) if date_from else None
    until = _in_utc(_end("date_to", date_to), place) if date_to else None
    if since and until and since >= until:
        raise BadParameter("date_from", "must not be later than date_to")
    return Period(since, until)


def moment(name: str, text: str) -> datetime:
    """A second of UTC."""
    if not _SECOND.fullmatch(text):
        raise BadParameter(name, "must be YYYY-MM-DD HH:MM:SS, in UTC")
    return _start(name, text).replace(tzinfo=UTC)


def paginate(page: int, limit: int, total_count: int) -> Pagination:
    """Where a page lies among all; a page past the end is a page, only empty."""
    total_pages = -(-total_count // limit)
    return Pagination(
        page=page,
        limit=limit,
        total_count=total_count,
        total_pages=total_pages,
        has_next=page < total_pages,
        has_prev=page > 1,
    )


def numbers_of_page(live: NumberRange, page: int, limit: int) -> NumberRange:
    """Which numbers of the live ones make up a page, newest (highest) first."""
    highest = live.highest - (page - 1) * limit
    lowest = max(live.lowest, highest - limit + 1)
    return NumberRange(lowest, highest) if highest >= lowest else NOTHING


def from_nearer_end(offset: int, limit: int, total: int) -> Slice:
    """Where a page lies, from the end that is nearer: so the last page costs what the first does."""
    limit = max(0, min(limit, total - offset))
    behind = max(0, total - offset - limit)
    return Slice(True, behind, limit) if behind < offset else Slice(False, offset, limit)


def search_text(draft: Draft) -> str:
    """All that a search looks into, folded here because SQLite knows the capitals of ASCII alone."""
    parts = (draft.name, draft.description, *draft.tags, draft.data_source, draft.query)
    return "\n".join(parts).casefold()


def name_part(search: str) -> str:
    """Part of a name, as it stands in the first line of the folded text."""
    return search[:MAX_SEARCH].replace("\0", " ").strip().partition("\n")[0].casefold()


def like_patterns(search: str) -> list[str]:
    """One LIKE pattern for each word; a query is found when all of them match."""
    words = search[:MAX_SEARCH].replace("\0", " ").casefold().split()
    return [f"%{word.translate(_SPECIAL)}%" for word in words]


def _start(name: str, text: str) -> datetime:
    if not (_DAY.fullmatch(text) or _SECOND.fullmatch(text)):
        raise BadParameter(name, "must be YYYY-MM-DD or YYYY-MM-DD HH:MM:SS, in UTC")
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise BadParameter(name, "is not a date of the calendar") from None


def _end(name: str, text: str) -> datetime:
    inclusive = timedelta(days=1) if _DAY.fullmatch(text) else timedelta(seconds=1)
    try:
        return _start(name, text) + inclusive
    except OverflowError:  # the last day there is
        return LAST_MOMENT


def _in_utc(moment: datetime, place: tzinfo) -> datetime:
    try:
        return moment.replace(tzinfo=place).astimezone(UTC)
    except OverflowError:  # the first or the last hours there are
        return moment.replace(tzinfo=UTC)
