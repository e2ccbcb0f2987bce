"""Any other database that SQLAlchemy knows: no proven guard, so only where an admin accepts that."""

from typing import TYPE_CHECKING, Any

from plugbay_scheduled_query.dialects.contract import Dialect, Params, Session

if TYPE_CHECKING:
    from plugbay_scheduled_query.core.guard.judging import Language
    from plugbay_scheduled_query.core.source import OwnStore, SourceUrl


def _params(url: "SourceUrl", own: "OwnStore") -> dict[str, Any]:
    return {
        "scheme": url.scheme,
        "username": url.username,
        "password": url.password,
        "host": url.host,
        "port": url.port,
        "database": url.database or None,
        "options": dict(url.options),
    }


def _language(name: str) -> "Language":
    from plugbay_scheduled_query.dialects.unguarded.guard import other

    return other(name)


def _open_session(params: Params) -> Session:
    from plugbay_scheduled_query.dialects.unguarded.session import UnguardedSession

    return UnguardedSession(params)


UNGUARDED = Dialect(
    name="unguarded",
    schemes=(),
    labels=(),
    example_url="",
    editor="",  # the page tells its SQLAlchemy name, which the editor may know
    params=_params,
    language=_language,
    open_session=_open_session,
)
