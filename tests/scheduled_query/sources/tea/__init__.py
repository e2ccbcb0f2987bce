"""A toy dialect: SQLite under another name, to be copied into the package beside the real ones."""

from typing import TYPE_CHECKING

from plugbay_scheduled_query.dialects.contract import Dialect, Params, Report, Session, file_params

if TYPE_CHECKING:
    from plugbay_scheduled_query.core.guard.judging import Language


def _language(name: str) -> "Language":
    from plugbay_scheduled_query.dialects.sqlite.guard import LANGUAGE

    return LANGUAGE


def _open_session(params: Params) -> Session:
    from plugbay_scheduled_query.dialects.sqlite.session import SqliteSession

    class TeaSession(SqliteSession):
        """Speaks SQLite, and says that it is tea."""

        def self_test(self) -> Report:
            return Report("Tea 1.0, opened read-only")

    return TeaSession(params)


TEA = Dialect(
    name="tea",
    schemes=("tea", "chai"),
    labels=("Tea",),
    example_url="tea:////srv/shop.tea",
    editor="mssql",
    params=file_params,
    language=_language,
    open_session=_open_session,
)
