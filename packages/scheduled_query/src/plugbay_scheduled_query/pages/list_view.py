"""Which queries a list shows, as its address says; what cannot be understood is left out. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from plugbay_scheduled_query.core.parameters import BadParameter, plain_integer
from plugbay_scheduled_query.core.search import MAX_SEARCH
from plugbay_scheduled_query.repository.definitions import Filter, Listing, Sort

LIMIT = 50
MAX_PAGE = 1_000_000
SORTS = tuple(word for word in get_args(Sort) if word != "id")
FILTERS = get_args(Filter)


@dataclass(frozen=True, slots=True)
class ListView:
    """A page of a list: what it shows and in which order."""

    listing: Listing
    page: int = 1
    limit: int = LIMIT

    @property
    def is_filtered(self) -> bool:
        listing = self.listing
        return bool(listing.search or listing.data_source or listing.tag or listing.only != "all")

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.limit

    def within(self, total: int) -> "ListView":
        """The same, or its last page when there are fewer by now."""
        return replace(self, page=max(1, min(self.page, -(-total // self.limit))))


def list_view(given: Mapping[str, str], limit: int = LIMIT) -> ListView:
    """Reads an address."""
    listing = Listing(
        search=given.get("search", "").strip()[:MAX_SEARCH],
        only=_one_of(given.get("status", ""), FILTERS),
        data_source=given.get("source", ""),
        tag=given.get("tag", ""),
        sort=_one_of(given.get("sort", ""), SORTS),
        descending=given.get("order") == "desc",
    )
    return ListView(listing, page_number(given), limit)


def page_number(given: Mapping[str, str], name: str = "page") -> int:
    """The page that an address asks for, else the first."""
    try:
        return plain_integer(name, given.get(name, "1"), maximum=MAX_PAGE)
    except BadParameter:
        return 1


def _one_of(word: str, words: tuple[Any, ...]) -> Any:
    return word if word in words else words[0]
