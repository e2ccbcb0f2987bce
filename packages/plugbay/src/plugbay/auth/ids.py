"""Row ids in paths: plain whole numbers that every database can hold."""

import re
from typing import Annotated

from fastapi import Path
from pydantic import BeforeValidator

_PLAIN = re.compile(r"[1-9][0-9]{0,8}")  # nine digits are below 2**31


def _plain_number(value: str) -> str:
    # pydantic's own int takes "1.0", " 1" and "1_0" too
    if not _PLAIN.fullmatch(value):
        raise ValueError("an id is a plain whole number")
    return value


RowId = Annotated[int, Path(), BeforeValidator(_plain_number)]
