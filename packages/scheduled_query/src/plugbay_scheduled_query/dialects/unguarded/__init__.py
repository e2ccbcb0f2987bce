"""Any other database that SQLAlchemy knows: no proven guard, so only where an admin accepts that."""

import re
from typing import TYPE_CHECKING, Any

from plugbay_scheduled_query.core.errors import SourceError
from plugbay_scheduled_query.dialects.contract import Dialect, Params, Session

if TYPE_CHECKING:
    from plugbay_scheduled_query.core.guard.judging import Language
    from plugbay_scheduled_query.core.source import OwnStore, SourceUrl

# What any driver may be told by a URL: nothing that names a file, code to load or another server. Compared
# without underscores and in small letters, because drivers spell them each in their way.
URL_OPTIONS = {
    "applicationintent", "authentication", "charset", "connecttimeout", "database", "dataset", "domain",
    "driver", "encrypt", "encoding", "hostnameincertificate", "httpscheme", "location", "loginretries",
    "logintimeout", "multisubnetfailover", "protocol", "role", "schema", "secure", "servicename",
    "sessiontimezone", "sid", "ssl", "sslmode", "tdsversion", "timeout", "timezone",
    "trustservercertificate", "verify", "version", "warehouse",
}  # fmt: skip
URL_SECRETS = {
    "accesstoken", "apikey", "authtoken", "clientsecret", "credentialsbase64", "passcode", "passphrase",
    "passwd", "password", "privatekey", "pwd", "secret", "sslpassword", "token",
}  # fmt: skip
_BREAKS_OUT = re.compile(r"[/\\;{}=]")  # a path of a file, or more than one option in a value


def _params(url: "SourceUrl", own: "OwnStore") -> dict[str, Any]:
    for name, value in url.options:
        _check_option(name, value)
    return {
        "scheme": url.scheme,
        "username": url.username,
        "password": url.password,
        "host": url.host,
        "port": url.port,
        "database": url.database or None,
        "options": dict(url.options),
    }


def _check_option(name: str, value: str) -> None:
    plain = name.replace("_", "").replace("-", "").lower()
    if plain in URL_SECRETS:
        return
    if plain not in URL_OPTIONS:
        raise SourceError(f"the URL has an option that is not allowed here: {name}")
    if _BREAKS_OUT.search(value):
        raise SourceError(f"the option {name} has a character that is not allowed: one of / \\ ; {{ }} =")


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
