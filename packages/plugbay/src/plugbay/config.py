"""The host's own configuration: a keyword wins over the environment, which wins over the default."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, ValidationInfo, field_validator

from plugbay.errors import InvalidConfig
from plugbay.keys import SESSION_SECRET_PLACEHOLDER

ENVIRONMENT_PREFIX = "PLUGBAY_"


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
        mode="before",
    )
    @classmethod
    def _default_for_none(cls, value: Any, info: ValidationInfo) -> Any:
        return cls.model_fields[str(info.field_name)].default if value is None else value

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
