"""PostgreSQL: a session in a read-only transaction, refused where it could read the product's own tables."""

from typing import TYPE_CHECKING, Any

from plugbay_scheduled_query.dialects.contract import Dialect, Params, Session, server_params

if TYPE_CHECKING:
    from plugbay_scheduled_query.core.guard.judging import Language
    from plugbay_scheduled_query.core.source import OwnStore, SourceUrl

_PLACE = ("host", "hostaddr", "port", "user", "password", "dbname", "options", "target_session_attrs")
_TLS = ("sslmode", "sslcert", "sslkey", "sslpassword", "sslrootcert", "sslcrl", "sslnegotiation", "sslsni")
URL_OPTIONS = {*_PLACE, *_TLS, "channel_binding", "gssencmode", "krbsrvname", "require_auth"}


def _params(url: "SourceUrl", own: "OwnStore") -> dict[str, Any]:
    params: dict[str, Any] = {"connect": server_params(url, "dbname", URL_OPTIONS)}
    if own.identity is not None:
        params["store"] = own.identity.as_dict()
    return params


def _language(name: str) -> "Language":
    from plugbay_scheduled_query.dialects.postgresql.guard import LANGUAGE

    return LANGUAGE


def _open_session(params: Params) -> Session:
    from plugbay_scheduled_query.dialects.postgresql.session import PostgresqlSession

    return PostgresqlSession(params)


POSTGRESQL = Dialect(
    name="postgresql",
    schemes=("postgresql", "postgres"),
    labels=("PostgreSQL",),
    example_url="postgresql://reader:password@host/database",
    editor="postgresql",
    driver="psycopg",
    params=_params,
    language=_language,
    open_session=_open_session,
)
