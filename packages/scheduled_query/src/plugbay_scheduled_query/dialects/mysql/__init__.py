"""MariaDB and MySQL: a session in a read-only transaction, stopped from a second one."""

from typing import TYPE_CHECKING, Any

from plugbay_scheduled_query.dialects.contract import Dialect, Params, Session, server_params

if TYPE_CHECKING:
    from plugbay_scheduled_query.core.guard.judging import Language
    from plugbay_scheduled_query.core.source import OwnStore, SourceUrl

_TLS_FILES = ("ssl_ca", "ssl_cert", "ssl_key", "ssl_key_password")
URL_OPTIONS = {"unix_socket", *_TLS_FILES, "ssl_verify_cert", "ssl_verify_identity", "ssl_disabled"}
SYSTEM_SCHEMA = "mysql"  # holds accounts and passwords
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def _params(url: "SourceUrl", own: "OwnStore") -> dict[str, Any]:
    given = server_params(url, "database", URL_OPTIONS)
    if given.get("database", "").lower() == SYSTEM_SCHEMA:
        del given["database"]  # where a table is named without its schema, the guard would not know it
    truths = {name: _TRUTH.get(given[name].lower(), given[name]) for name in URL_OPTIONS & given.keys()}
    return {"connect": {**given, **truths}}


def _language(name: str) -> "Language":
    from plugbay_scheduled_query.dialects.mysql.guard import LANGUAGE

    return LANGUAGE


def _open_session(params: Params) -> Session:
    from plugbay_scheduled_query.dialects.mysql.session import MysqlSession

    return MysqlSession(params)


MYSQL = Dialect(
    name="mysql",
    schemes=("mysql", "mariadb"),
    labels=("MariaDB", "MySQL"),
    example_url="mysql://reader:password@host/database",
    editor="mysql",
    driver="pymysql",
    params=_params,
    language=_language,
    open_session=_open_session,
)
