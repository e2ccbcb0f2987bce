"""What pages need, the host's and those of plugins: paths, form fields, ids and messages."""

from plugbay.flash import FlashMessage, flash
from plugbay.web.parameters import LARGEST_ID, PLAIN, RowId, Typed, plain_integer, row_id, typed_fields
from plugbay.web.paths import came_from, url_below_root

__all__ = [
    "LARGEST_ID",
    "PLAIN",
    "FlashMessage",
    "RowId",
    "Typed",
    "came_from",
    "flash",
    "plain_integer",
    "row_id",
    "typed_fields",
    "url_below_root",
]
