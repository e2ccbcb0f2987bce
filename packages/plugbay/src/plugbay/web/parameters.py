"""What a request carries, read strictly: form fields, whole numbers and the ids of rows."""

import re
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Path, Request
from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

LARGEST_ID = 2**31 - 1  # of an integer column on PostgreSQL: a larger one names no row

_INTEGER = re.compile(r"-?[0-9]{1,20}")  # 20 digits are more than any database holds


def plain_integer(text: str) -> int:
    """The integer that the text plainly is, else ValueError: `1.0`, `+1`, ` 1`, `1_0` and `１` are none."""
    if not _INTEGER.fullmatch(text):
        raise ValueError("it is not a plain whole number")
    return int(text)


def row_id(text: str, otherwise: str = "Not Found") -> int:
    """The id that a path names; 404, in these words, for what cannot be one."""
    try:
        number = plain_integer(text)
    except ValueError:
        number = 0
    if not 1 <= number <= LARGEST_ID:
        raise HTTPException(404, otherwise)
    return number


def _plain(value: Any) -> Any:
    """Only the spelling is looked at here; the bounds are the field's own."""
    try:
        return plain_integer(value) if isinstance(value, str) else value
    except ValueError:
        raise PydanticCustomError("int_parsing", "Input should be a plain integer") from None


PLAIN = BeforeValidator(_plain)
"""For `Annotated[int, Query(ge=1), PLAIN]`: pydantic's own int takes `1.0`, ` 1` and `1_0` too."""

RowId = Annotated[int, Path(ge=1, le=LARGEST_ID), PLAIN]
"""The type of a path parameter that is the id of a row; 422 for what cannot be one."""


async def typed_fields(request: Request) -> dict[str, str]:
    """The text fields of a form; of several with one name the last counts."""
    async with request.form() as form:
        return {name: value for name, value in form.items() if isinstance(value, str)}


Typed = Annotated[dict[str, str], Depends(typed_fields)]
"""The type of a handler's parameter that is all that was typed into a form."""
