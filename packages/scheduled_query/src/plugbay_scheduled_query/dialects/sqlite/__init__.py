"""SQLite: a file, opened read-only."""

from typing import TYPE_CHECKING

from plugbay_scheduled_query.dialects.contract import Dialect, Params, Session, file_params

if TYPE_CHECKING:
    from plugbay_scheduled_query.core.guard.judging import Language


def _language(name: str) -> "Language":
    from plugbay_scheduled_query.dialects.sqlite.guard import LANGUAGE

    return LANGUAGE


def _open_session(params: Params) -> Session:
    from plugbay_scheduled_query.dialects.sqlite.session import SqliteSession

    return SqliteSession(params)


SQLITE = Dialect(
    name="sqlite",
    schemes=("sqlite",),
    labels=("SQLite",),
    example_url="sqlite:////srv/shop.db",
    editor="sqlite",
    params=file_params,
    language=_language,
    open_session=_open_session,
)
