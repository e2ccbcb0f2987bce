"""DuckDB: a file, opened read-only for each statement."""

from typing import TYPE_CHECKING

from plugbay_scheduled_query.dialects.contract import Dialect, Params, Session, file_params

if TYPE_CHECKING:
    from plugbay_scheduled_query.core.guard.judging import Language


def _language(name: str) -> "Language":
    from plugbay_scheduled_query.dialects.duckdb.guard import LANGUAGE

    return LANGUAGE


def _open_session(params: Params) -> Session:
    from plugbay_scheduled_query.dialects.duckdb.session import DuckdbSession

    return DuckdbSession(params)


DUCKDB = Dialect(
    name="duckdb",
    schemes=("duckdb",),
    labels=("DuckDB",),
    example_url="duckdb:////srv/shop.duckdb",
    editor="duckdb",
    driver="duckdb",
    params=file_params,
    language=_language,
    open_session=_open_session,
)
