"""Settings: the host's configuration and those of plugins, from environment, store and defaults."""

import json
import os
import re
import types
import typing
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, ValidationInfo, field_validator

from plugbay.errors import InvalidConfig, PlugbayError
from plugbay.logs import get_logger

ENVIRONMENT_PREFIX = "PLUGBAY_"
SESSION_SECRET_PLACEHOLDER = "<SESSION_SECRET>"  # noqa: S105 - it never signs anything
MASK = "••••••••"
LIKENESS = 0.7  # of two names, from 0 to 1: some letters or a word too many or too few

log = get_logger(__name__)


@dataclass(frozen=True)
class FormHint:
    """How the settings page shows a field: `Annotated[int, FormHint("History", unit="days")]`."""

    group: str = ""
    """The heading below which it stands, with all others that name it."""
    unit: str = ""
    """What a number counts, said beside it; `bytes` are entered as `64 kB` or `1.5 GB`, too."""
    words: Mapping[int, str] = field(default_factory=dict)
    """What certain numbers mean, each a box to tick instead: `{-1: "no limit"}`."""
    choices: str = ""
    """The method of the plugin's class that tells what can be picked, as a list of texts."""
    button: tuple[str, str] | None = None
    """A label and a path of the plugin's, which a button beside the field posts to."""


class HostConfig(BaseModel):
    """Each field can be set by keyword or by the environment variable `PLUGBAY_<FIELD>`."""

    model_config = ConfigDict(extra="forbid", validate_default=False)

    app_name: str | None = Field("Plugbay", description="The name that pages show.")
    admin_enabled: bool | None = Field(True, description="Whether the admin pages exist.")
    admin_base_url: str | None = Field("/admin", description="The path under which the admin pages stand.")
    include_in_schema: bool | None = Field(True, description="Whether OpenAPI lists host and plugin routes.")
    show_empty_menu_entries: bool | None = Field(
        True, description="Whether the menu shows plugins that have no page to go to."
    )
    install_module_requirement_at_start: bool | None = Field(
        True, description="Whether missing requirements of plugins are installed at start."
    )
    session_secret_key: str = Field(
        SESSION_SECRET_PLACEHOLDER,
        description="Signs cookies and forms; 32 bytes or more. Unset: a random one, kept in the data dir.",
    )
    data_dir: Path | None = Field(None, description="Where Plugbay keeps its files; `data` below the root.")
    database_url: SecretStr | None = Field(
        None, description="The product's own store; a SQLite file in the data directory by default."
    )
    encryption_key: SecretStr | None = Field(
        None, description="Encrypts secrets at rest; comma-separated, the first encrypts."
    )
    admin_password: SecretStr | None = Field(
        None, description="Password of the user `admin`, made at the first start."
    )

    public_url: str | None = Field(
        None, description="The address under which people reach Plugbay, for links in messages."
    )
    debug: bool | None = Field(False, description="Whether the menu shows what is for developers.")
    samples: bool | None = Field(
        None,
        description="Whether plugins make samples at the first start; unset, `plugbay serve` has them made.",
    )

    @property
    def explicit_session_secret(self) -> str | None:
        """The session secret that somebody set, or None."""
        return self.session_secret_key if "session_secret_key" in self.model_fields_set else None

    @field_validator(
        "app_name",
        "admin_enabled",
        "admin_base_url",
        "include_in_schema",
        "show_empty_menu_entries",
        "install_module_requirement_at_start",
        "debug",
        mode="before",
    )
    @classmethod
    def _default_for_none(cls, value: Any, info: ValidationInfo) -> Any:
        return cls.model_fields[str(info.field_name)].default if value is None else value

    @field_validator("public_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        address = (value or "").strip().rstrip("/")
        if address and not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", address):
            raise ValueError("it must be an address such as https://plugbay.example.org")
        return address or None

    @field_validator("admin_base_url")
    @classmethod
    def _is_a_path(cls, value: str | None) -> str:
        path = (value or "").rstrip("/")
        if not path.startswith("/") or any(mark in path for mark in "{}?# \\"):
            raise ValueError("it must be a path such as /admin")
        return path


def load_config(
    given: HostConfig | Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
) -> HostConfig:
    """The configuration from keywords, then environment, then defaults; a bad value is named."""
    environment = os.environ if environment is None else environment
    keywords = given.model_dump(exclude_unset=True) if isinstance(given, HostConfig) else dict(given or {})
    variables = {
        field: environment[variable]
        for field in HostConfig.model_fields
        if field not in keywords and (variable := ENVIRONMENT_PREFIX + field.upper()) in environment
    }
    try:
        return HostConfig.model_validate({**variables, **keywords})
    except ValidationError as error:
        raise _as_invalid_config(error, set(variables)) from None


def _as_invalid_config(error: ValidationError, from_environment: set[str]) -> InvalidConfig:
    first = error.errors(include_url=False)[0]
    field = str(first["loc"][0])
    variable = ENVIRONMENT_PREFIX + field.upper() if field in from_environment else f"config[{field!r}]"
    return InvalidConfig(variable=variable, value=first["input"], rule=first["msg"])


class SettingsIncomplete(PlugbayError):
    """Its settings are not complete ({told}). Enter them on its settings page."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        self.faults = faults
        super().__init__(told="; ".join(f"{name}: {rule}" if name else rule for name, rule in faults.items()))


@dataclass(frozen=True)
class LoadedSettings:
    """The current values of a plugin's settings, and where they come from."""

    values: BaseModel
    locked: Mapping[str, str] = field(default_factory=dict)
    """Field to environment variable, for what the environment decides."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Field to reason, for stored values that were not valid and gave way to the default."""


def variable_name(module: str, field_name: str) -> str:
    return f"{module}_{field_name}".upper()


def is_secret(model: type[BaseModel], field_name: str) -> bool:
    """Whether there is a secret anywhere in the field: `list[SecretStr]` is one as a whole."""
    return _holds_secret(model.model_fields[field_name].annotation)


def revealed(value: Any) -> Any:
    """A value with its secrets in plain text, for the store to encrypt."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, BaseModel):
        return {name: revealed(item) for name, item in value}
    if isinstance(value, Mapping):
        return {key: revealed(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [revealed(item) for item in value]
    return value


def load_settings(
    model: type[BaseModel], module: str, environment: Mapping[str, str], stored: Mapping[str, Any]
) -> LoadedSettings:
    """Environment, then store, then defaults. A bad variable is refused; a bad stored value is replaced."""
    locked = {name: variable_name(module, name) for name in model.model_fields}
    locked = {name: variable for name, variable in locked.items() if variable in environment}
    given = {name: _parse(model, name, environment[variable]) for name, variable in locked.items()}
    usable = {
        name: value for name, value in stored.items() if name in model.model_fields and name not in locked
    }
    replaced: dict[str, str] = {}
    while True:
        try:
            return LoadedSettings(model.model_validate({**usable, **given}), locked, replaced)
        except ValidationError as error:
            _put_aside(error, model, environment, locked, usable, replaced)


def settings_errors(error: ValidationError) -> dict[str, str]:
    """What is wrong, by field, in words; the model as a whole is the field ``""``."""
    found: dict[str, str] = {}
    for item in error.errors(include_url=False):
        name = str(item["loc"][0]) if item["loc"] else ""
        found.setdefault(name, item["msg"].removeprefix("Value error, "))
    return found


def _put_aside(
    error: ValidationError,
    model: type[BaseModel],
    environment: Mapping[str, str],
    locked: Mapping[str, str],
    usable: dict[str, Any],
    replaced: dict[str, str],
) -> None:
    """Drops the stored values at fault, or raises when the environment or the defaults are."""
    faults = settings_errors(error)
    for name, rule in faults.items():
        if name in locked:
            raise _refusal({name: locked[name]}, rule, model, environment) from None
    if any(name and name not in usable for name in faults):
        raise SettingsIncomplete(faults) from None
    # a rule over several fields names none of them: then no stored value can be trusted
    dropped = [name for name in faults if name in usable] or list(usable)
    if not dropped:
        if locked:
            rule = "; ".join(faults.values())
            raise _refusal(_named_in(rule, locked), rule, model, environment) from None
        raise SettingsIncomplete(faults) from None
    for name in dropped:
        del usable[name]
        replaced[name] = faults.get(name, "; ".join(faults.values()))


def _named_in(rule: str, locked: Mapping[str, str]) -> Mapping[str, str]:
    """The variables whose fields a rule over several fields names; all of them when it names none."""
    words = re.findall(r"\w+", rule)
    return {name: variable for name, variable in locked.items() if name in words} or locked


def _refusal(
    at_fault: Mapping[str, str], rule: str, model: type[BaseModel], environment: Mapping[str, str]
) -> InvalidConfig:
    values = {
        variable: MASK if is_secret(model, name) else environment[variable]
        for name, variable in at_fault.items()
    }
    value = values if len(values) > 1 else next(iter(values.values()))
    return InvalidConfig(variable=", ".join(values), value=value, rule=rule)


def _parse(model: type[BaseModel], name: str, text: str) -> Any:
    """A variable's text as the field wants it: lists and objects are written as JSON."""
    annotation = model.model_fields[name].annotation
    if text in (choices := {str(choice): choice for choice in _choices(annotation)}):
        return choices[text]
    if any(map(_is_written_as_json, _leaf_types(annotation))):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _is_written_as_json(leaf: type) -> bool:
    return issubclass(leaf, Collection | BaseModel) and not issubclass(leaf, str | bytes | Enum)


def _choices(annotation: Any) -> list[Any]:
    """What a field of a `Literal` or an `Enum` can be, also beside `None`."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [member.value for member in annotation]
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return [part for part in parts if part is not None]
    is_one_of_many = origin in (typing.Union, types.UnionType, typing.Annotated)
    return [choice for part in parts for choice in _choices(part)] if is_one_of_many else []


def _holds_secret(annotation: Any, within: tuple[Any, ...] = ()) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation not in within:
        parts = [field.annotation for field in annotation.model_fields.values()]
    else:
        parts = list(typing.get_args(annotation))
    return annotation is SecretStr or any(_holds_secret(part, (*within, annotation)) for part in parts)


def _leaf_types(annotation: Any) -> list[type]:
    """The classes of an annotation: `list[int] | None` has `list` and `NoneType`."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return [leaf for part in typing.get_args(annotation) for leaf in _leaf_types(part)]
    if origin is typing.Annotated:
        return _leaf_types(typing.get_args(annotation)[0])
    leaf = origin or annotation
    return [leaf] if isinstance(leaf, type) else []


def misspelt(environment: Mapping[str, str], plugins: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Each variable that is nearly one of the host's or of these plugins' fields, and what was meant."""
    everybody = {"plugbay": HostConfig.model_fields.keys(), **plugins}
    return {
        variable: meant
        for name, fields in everybody.items()
        for variable, meant in _nearly(name, fields, environment)
    }


def _nearly(name: str, fields: Collection[str], environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    prefix = variable_name(name, "")
    for variable in sorted(environment):
        field = variable.removeprefix(prefix).lower()
        if variable.startswith(prefix) and field not in fields:
            for meant in get_close_matches(field, fields, 1, LIKENESS):
                yield variable, variable_name(name, meant)
