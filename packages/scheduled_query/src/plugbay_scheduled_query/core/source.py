"""A source as a value: its name, its URL and the masked form of that, and what a runner needs to open it."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote

from plugbay_scheduled_query.core.errors import SourceError

MASK = "***"
LONGEST_PACE_S = 86_400  # a day
MOST_PARALLEL = 64  # runs of a source at the same time
SHORT_SECRET = 4  # characters: replaced only where it stands alone, or it would garble every word

# run on the product's own store; a source is the same database, or a replica of it, when it answers the same
IDENTITY_SQL = (
    "SELECT (SELECT system_identifier FROM pg_control_system())::text || '/' || oid"
    " FROM pg_database WHERE datname = current_database()"
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}")
_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+._-]*)://"
    r"(?:(?P<username>[^:/?@]*)(?::(?P<password>[^@]*))?@)?"
    r"(?P<host>\[[^\]/?@]*\]|[^:/?@\[]*)(?::(?P<port>[0-9]*))?"
    r"(?:/(?P<database>[^?]*))?(?:\?(?P<query>.*))?",
    re.DOTALL,
)
_REFERENCE = re.compile(r"(?P<kind>env|file):(?P<name>[^\s].*)")
_LEADING_ELSEWHERE = {"host", "hostaddr", "port", "user", "service", "unix_socket", "dsn", "odbc_connect"}
_SECRET_NAME = re.compile(
    r"pass|pwd|secret|token|credential|jwt|odbc[_-]?connect|connection[_-]?string|signature"
    r"|(?:api|private|access|account|shared|encryption|client)[_-]?key|^(?:key|auth|dsn|pat)$",
    re.IGNORECASE,
)
# How well a connection is protected, in libpq's words: all below `require` promise nothing.
_PROTECTION = {"require": 1, "verify-ca": 2, "verify-full": 3}
_PROTECTING = re.compile(
    r"(?!sslmode$)(?:ssl|tls|encrypt|trust|verify|secure|protocol|http_?scheme|authentication|hostnameincert"
    r"|channel_binding|require_auth|gss|krb)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Source:
    """A database to ask: a name, and a URL that may hold references instead of secrets."""

    name: str
    url: str = field(repr=False)
    accepts_unguarded: bool = False
    pace_s: int | None = None  # none: the setting interval
    max_parallel: int | None = None  # none: the setting

    @property
    def masked_url(self) -> str:
        """The URL fit to be shown."""
        return mask_url(self.url)


@dataclass(frozen=True)
class StoreIdentity:
    """A PostgreSQL store: its answer to `IDENTITY_SQL`, and the tables that are private."""

    identity: str
    tables: Sequence[str]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class OwnStore:
    """What is the product's own, and no source may be: its store, and its data directory but for a sample."""

    data_dir: Path
    file: Path | None = None  # none where it is no file
    sample: Path | None = None
    identity: StoreIdentity | None = None


@dataclass(frozen=True)
class Target:
    """Where to connect, as plain data; `secrets` are masked in whatever is said about it."""

    dialect: str
    params: Mapping[str, Any]
    secrets: tuple[str, ...] = ()

    @property
    def language(self) -> str:
        """Whose SQL it speaks, by SQLAlchemy's name: the guard reads a query by it."""
        return re.split(r"[+.]", self.params["scheme"])[0] if "scheme" in self.params else self.dialect

    @cached_property
    def key(self) -> str:
        """Equal for targets between which a session can be shared."""
        text = json.dumps([self.dialect, self.params], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def mask(self, text: str) -> str:
        """The text without any secret, in clear or as it stands in a URL."""
        for pattern in self._patterns:
            text = pattern.sub(MASK, text)
        return text

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        forms = {form for secret in self.secrets for form in _forms(secret) if form}
        return [_pattern(form) for form in sorted(forms, key=len, reverse=True)]

    def __repr__(self) -> str:
        return f"Target({self.dialect})"


def _forms(secret: str) -> tuple[str, ...]:
    return secret, quote(secret, safe=""), quote(secret), quote_plus(secret)


def _pattern(secret: str) -> re.Pattern[str]:
    text = re.escape(secret)
    return re.compile(text if len(secret) >= SHORT_SECRET else rf"(?<!\w){text}(?!\w)")


def check_name(name: str) -> str:
    """The name itself when it can name a source."""
    if _NAME.fullmatch(name) is None:
        raise SourceError(
            "a source's name has 1 to 63 letters, digits, spaces, dots, dashes or underscores"
            " and begins with a letter or digit"
        )
    return name


def sources_from_settings(found: Mapping[str, Any]) -> list[Source]:
    """`{"orders": "postgresql://…", "odd": {"url": "…", "accepts_unguarded": true}}` as sources."""
    return [_source(name, value) for name, value in found.items()]


def _source(name: str, value: Any) -> Source:
    details = value if isinstance(value, dict) else {"url": value}
    url, accepts = details.get("url"), details.get("accepts_unguarded", False)
    is_odd = bool(details.keys() - {"url", "accepts_unguarded", "pace_s", "max_parallel"})
    if is_odd or not isinstance(url, str) or not isinstance(accepts, bool):
        raise SourceError(
            f"the source {name} needs a URL, or an object of url, accepts_unguarded, pace_s and max_parallel"
        )
    if reference_of(url) is None:
        parse_url(url)  # says at once when it is no URL
    try:
        pace_s, most = check_pace(details.get("pace_s")), check_max_parallel(details.get("max_parallel"))
    except SourceError as error:
        raise SourceError(f"the source {name}: {error}") from None
    return Source(check_name(name), url, accepts, pace_s, most)


def check_pace(given: Any) -> int | None:
    """The seconds between two runs of a source; none leaves them to the setting."""
    return _whole(given, 0, LONGEST_PACE_S, "the pace is a whole number of seconds")


def check_max_parallel(given: Any) -> int | None:
    """How many runs a source has at the same time; none leaves it to the setting."""
    return _whole(given, 1, MOST_PARALLEL, "max_parallel is a whole number")


def _whole(given: Any, least: int, most: int, what: str) -> int | None:
    if given is not None and (type(given) is not int or not least <= given <= most):
        raise SourceError(f"{what} from {least} to {most:,}, or null for the setting's")
    return given


@dataclass(frozen=True)
class SourceUrl:
    """The decoded parts of a URL."""

    scheme: str
    username: str | None
    password: str | None = field(repr=False)
    host: str | None
    port: int | None
    database: str
    options: tuple[tuple[str, str], ...] = field(repr=False)


def parse_url(url: str) -> SourceUrl:
    """The parts of a URL; SourceError when it is none, in words that repeat nothing of it."""
    found = _match(url)
    if "\0" in unquote(url):  # a C library would read only what stands before it
        raise SourceError("the URL has a NUL character")
    port = found["port"]
    if port and not 0 < int(port) < 65536:
        raise SourceError("the port in the URL is not a port number")
    return SourceUrl(
        found["scheme"].lower(),
        _decode(found["username"]),
        _decode(found["password"]),
        _decode(found["host"].strip("[]")) or None,
        int(port) if port else None,
        _decode(found["database"]) or "",
        tuple(parse_qsl(found["query"] or "", keep_blank_values=True)),
    )


def reference_of(text: str) -> tuple[str, str] | None:
    """`("env", NAME)` or `("file", PATH)` when the text is a reference to a secret kept elsewhere."""
    found = _REFERENCE.fullmatch(text)
    if found is None or found["name"].startswith("//"):
        return None
    return found["kind"], found["name"]


def is_secret(option: str) -> bool:
    """Whether an option of this name holds a secret."""
    return _SECRET_NAME.search(option) is not None


def mask_url(url: str) -> str:
    """The URL fit to be shown: passwords replaced, references left, because they hold no secret."""
    if reference_of(url):
        return url
    try:
        return _replace(url, [MASK] * len(_secret_spans(url)))
    except SourceError:  # what cannot be read for sure may be a password anywhere
        return MASK


def keep_secrets(url: str, stored: str) -> str:
    """A URL that came back masked, with the secrets of the stored one; they never move to another server."""
    if reference_of(url) or MASK not in [_cut(url, span) for span in _secret_spans(url)]:
        return url
    if reference_of(stored) or _server(url) != _server(stored):
        raise SourceError("the server or user has changed: enter the password again")
    if _is_less_protected(parse_url(url), parse_url(stored)):
        raise SourceError("the connection would be protected otherwise: enter the password again")
    old = {name: stored[start:end] for name, start, end in _secret_spans(stored)}
    new = [_kept(name, url[start:end], old) for name, start, end in _secret_spans(url)]
    return _replace(url, new)


def _kept(name: str, value: str, old: dict[str, str]) -> str:
    if value != MASK:
        return value
    if name not in old:
        raise SourceError("there is no stored password to keep: enter it")
    return old[name]


def _server(url: str) -> tuple[object, ...]:
    parts = parse_url(url)
    elsewhere = sorted(option for option in parts.options if option[0] in _LEADING_ELSEWHERE)
    return parts.scheme.partition("+")[0], parts.username, parts.host, parts.port, *elsewhere


def _is_less_protected(new: SourceUrl, old: SourceUrl) -> bool:
    modes = [_PROTECTION.get(dict(parts.options).get("sslmode", ""), 0) for parts in (new, old)]
    return modes[0] < modes[1] or _protection(new) != _protection(old)


def _protection(parts: SourceUrl) -> list[tuple[str, str]]:
    return sorted(
        option for option in parts.options if _PROTECTING.match(option[0]) and not is_secret(option[0])
    )


def _match(url: str) -> re.Match[str]:
    found = _URL.fullmatch(url)
    if found is None or _has_stray_marks(found):
        raise SourceError(
            "this is not a URL of the form dialect://user:password@host:port/database"
            " (an @, : or / in user or password must be written as %40, %3A, %2F)"
        )
    return found


def _has_stray_marks(found: re.Match[str]) -> bool:
    """Whether an @ or / stands where it may belong to a password that was not escaped."""
    password, database = found["password"] or "", found["database"] or ""
    is_cut = "/" in password and reference_of(unquote(password)) is None
    is_tail = "@" in database and bool(found["host"] or found["username"] or ":" in database)
    return is_cut or is_tail or "@" in (found["query"] or "") or found[0].count("@") > 1


def _secret_spans(url: str) -> list[tuple[str, int, int]]:
    """(name, start, end) of each secret that stands in the URL itself, from left to right."""
    found = _match(url)
    spans = [("", *found.span("password"))] if found["password"] else []
    for option in re.finditer(r"(?P<name>[^=&]+)=(?P<value>[^&]*)", found["query"] or ""):
        if option["value"] and is_secret(option["name"]):
            start = found.start("query")
            spans.append((option["name"], start + option.start("value"), start + option.end("value")))
    return [span for span in spans if reference_of(unquote(_cut(url, span))) is None]


def _cut(url: str, span: tuple[str, int, int]) -> str:
    return url[span[1] : span[2]]


def _replace(url: str, values: list[str]) -> str:
    for (_, start, end), value in reversed(list(zip(_secret_spans(url), values, strict=True))):
        url = url[:start] + value + url[end:]
    return url


def _decode(text: str | None) -> str | None:
    return None if text is None else unquote(text)
