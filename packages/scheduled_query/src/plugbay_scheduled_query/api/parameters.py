"""Path and query parameters, read strictly: `1.0` is no integer, and no id is larger than an id can be."""

from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from plugbay_scheduled_query.core.paging import DEFAULT_LIMIT, MAX_LIMIT
from plugbay_scheduled_query.core.parameters import MAX_ID, BadParameter, plain_integer
from plugbay_scheduled_query.core.search import MAX_SEARCH

PREFIX = "/api"  # of every path
LARGEST_STORED_ID = 2**31 - 1  # of an integer column on PostgreSQL: a larger one names nothing


def _plain(value: Any) -> Any:
    """Only the spelling is looked at here; the bounds are the field's own."""
    if isinstance(value, str):
        try:
            return plain_integer("", value, -MAX_ID, 10 * MAX_ID)
        except BadParameter:
            raise PydanticCustomError("int_parsing", "Input should be a plain integer") from None
    return value


plain = BeforeValidator(_plain)
_Id = Annotated[int, Field(ge=1, le=MAX_ID), plain]

QueryId = Annotated[_Id, Path(description="The id of a query.", examples=[1])]
SourceId = Annotated[_Id, Path(description="The id of a data source.", examples=[1])]
ExecutionId = Annotated[_Id, Path(description="The id of a history item.", examples=[1])]
Page = Annotated[_Id, Query(description="Which page, from 1.")]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), plain, Query(description="How many on a page.")]
Search = Annotated[
    str, Query(max_length=MAX_SEARCH, description="Words that must stand in name, description, tags or SQL.")
]

FIRST_PAGE = 1
USUAL_LIMIT = DEFAULT_LIMIT
