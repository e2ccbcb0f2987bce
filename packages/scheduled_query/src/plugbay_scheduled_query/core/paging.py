"""Pages of a list, newest first, without counting and without skipping."""

from dataclasses import asdict, dataclass

DEFAULT_LIMIT = 50
MAX_LIMIT = 200


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


def numbers_of_page(live: NumberRange, page: int, limit: int) -> NumberRange:
    """Which numbers of the live ones make up a page, newest (highest) first."""
    highest = live.highest - (page - 1) * limit
    lowest = max(live.lowest, highest - limit + 1)
    return NumberRange(lowest, highest) if highest >= lowest else NOTHING


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a list, read forwards, or backwards from its other end."""

    is_turned: bool
    offset: int
    limit: int


def from_nearer_end(offset: int, limit: int, total: int) -> Slice:
    """Where a page lies, from the end that is nearer: so the last page costs what the first does."""
    limit = max(0, min(limit, total - offset))
    behind = max(0, total - offset - limit)
    return Slice(True, behind, limit) if behind < offset else Slice(False, offset, limit)


def numbers_to_prune(live: NumberRange, keep: int) -> NumberRange:
    """Which numbers are too many: the oldest, when at most `keep` may stay; -1 keeps all."""
    if keep < 0:
        return NOTHING
    highest = live.highest - keep
    return NumberRange(live.lowest, highest) if highest >= live.lowest else NOTHING
