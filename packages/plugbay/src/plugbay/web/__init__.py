"""What pages need, the host's and those of plugins: parts of the host, paths, form fields, ids, messages."""

from plugbay.web.flash_messages import FlashMessage, flash
from plugbay.web.requests import (
    LARGEST_ID,
    PLAIN,
    RowId,
    Typed,
    came_from,
    from_host,
    host_of,
    plain_integer,
    row_id,
    typed_fields,
    url_below_root,
)

__all__ = [
    "LARGEST_ID",
    "PLAIN",
    "FlashMessage",
    "RowId",
    "Typed",
    "came_from",
    "flash",
    "from_host",
    "host_of",
    "plain_integer",
    "row_id",
    "typed_fields",
    "url_below_root",
]
