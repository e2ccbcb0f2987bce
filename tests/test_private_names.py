"""What we use of our libraries without their word for it: each name is here, each library bounded above.

A new version may rename these without notice. When a test here fails, look where the name is used before you
raise the bound.
"""

import importlib
import inspect
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PACKAGES = Path(__file__).parents[1] / "packages"
HOST = "plugbay/src/plugbay"
GUARD, ROUTES, SERVER = f"{HOST}/auth/guard.py", f"{HOST}/plugins/routes.py", f"{HOST}/server.py"
SERVICE = "scheduled_query/src/plugbay_scheduled_query"
MYSQL, PARSING = f"{SERVICE}/dialects/mysql/session.py", f"{SERVICE}/core/guard/parsing.py"
PYMYSQL = "pymysql.connections"


@dataclass(frozen=True)
class PrivateName:
    """A name that is not promised: of which distribution, how our source says it, and where."""

    distribution: str
    said: str
    file: str
    is_there: Callable[[], Any]

    def __str__(self) -> str:
        return f"{self.distribution}: {self.said}"


def named(place: str) -> Callable[[], Any]:
    """Whether `module:attribute.attribute` is there."""

    def look() -> object:
        module, _, path = place.partition(":")
        found: object = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
        return found

    return look


def says(module: str, text: str) -> Callable[[], Any]:
    """Whether the source of a module has this text."""
    return lambda: text in inspect.getsource(importlib.import_module(module))


PRIVATE_NAMES = [
    PrivateName(
        "fastapi",
        'get("effective_route_context")',
        GUARD,
        says("fastapi.routing", '_FASTAPI_EFFECTIVE_ROUTE_CONTEXT_KEY = "effective_route_context"'),
    ),
    PrivateName(
        "fastapi",
        'scope.get("fastapi", {})',
        GUARD,
        says("fastapi.routing", '_FASTAPI_SCOPE_KEY = "fastapi"'),
    ),
    PrivateName(
        "fastapi",
        "dependant.dependencies",
        GUARD,
        says("fastapi.routing", "route.dependant,"),
    ),
    PrivateName(
        "fastapi",
        '"fastapi_middleware_astack"',
        f"{HOST}/auth/browser_security.py",
        says("fastapi.middleware.asyncexitstack", "fastapi_middleware_astack"),
    ),
    PrivateName(
        "fastapi",
        "dependency_overrides_provider=",
        ROUTES,
        says("fastapi.dependencies.utils", "dependency_overrides_provider.dependency_overrides"),
    ),
    PrivateName(
        "fastapi",
        "iter_route_contexts",
        ROUTES,
        named("fastapi.routing:iter_route_contexts"),
    ),
    PrivateName(
        "fastapi",
        "original_route",
        ROUTES,
        named("fastapi.routing:RouteContext.original_route"),
    ),
    PrivateName(
        "starlette",
        "cookie_parser",
        f"{HOST}/web/flash_messages.py",
        named("starlette.requests:cookie_parser"),
    ),
    PrivateName(
        "starlette",
        "NotModifiedResponse",
        f"{HOST}/web/pages.py",
        named("starlette.staticfiles:NotModifiedResponse"),
    ),
    PrivateName(
        "starlette",
        "router.lifespan_context",
        f"{HOST}/host.py",
        says("starlette.routing", "self.lifespan_context"),
    ),
    PrivateName("uvicorn", '"should_reload"', SERVER, named("uvicorn.config:Config.should_reload")),
    PrivateName("uvicorn", '"_kwargs"', SERVER, says("uvicorn._subprocess", '"config": config')),
    PrivateName("uvicorn", "server.force_exit", SERVER, says("uvicorn.server", "self.force_exit")),
    PrivateName(
        "alembic",
        "._upgrade_revs(",
        f"{HOST}/store/migrating.py",
        named("alembic.script:ScriptDirectory._upgrade_revs"),
    ),
    PrivateName("pymysql", "._execute_command(", MYSQL, named(f"{PYMYSQL}:Connection._execute_command")),
    PrivateName("pymysql", "._force_close(", MYSQL, named(f"{PYMYSQL}:Connection._force_close")),
    PrivateName("pymysql", "._read_ok_packet(", MYSQL, named(f"{PYMYSQL}:Connection._read_ok_packet")),
    PrivateName("pymysql", "._read_packet(", MYSQL, named(f"{PYMYSQL}:Connection._read_packet")),
    PrivateName("pymysql", "._read_timeout = None", MYSQL, says(PYMYSQL, "settimeout(self._read_timeout)")),
    PrivateName("pymysql", ".unbuffered_active", MYSQL, says(PYMYSQL, "self.unbuffered_active = True")),
    PrivateName("pymysql", "cursor._result", MYSQL, says("pymysql.cursors", "self._result = ")),
    PrivateName("sqlglot", "def _advance(", PARSING, named("sqlglot.parser:Parser._advance")),
    PrivateName("sqlglot", "dialect.parser_class", PARSING, named("sqlglot:Dialect.parser_class")),
    PrivateName("sqlglot", "parser import logger", PARSING, named("sqlglot.parser:logger")),
]


@pytest.mark.parametrize("name", PRIVATE_NAMES, ids=str)
def test_the_library_still_has_it(name: PrivateName):
    assert name.is_there()


@pytest.mark.parametrize("name", PRIVATE_NAMES, ids=str)
def test_we_still_use_it_where_this_list_says(name: PrivateName):
    assert name.said in (PACKAGES / name.file).read_text()


def declared(file: Path) -> list[str]:
    project = tomllib.loads(file.read_text())["project"]
    extras = project.get("optional-dependencies", {}).values()
    return [*project["dependencies"], *(need for extra in extras for need in extra)]


@pytest.mark.parametrize("distribution", sorted({name.distribution for name in PRIVATE_NAMES}))
def test_every_package_that_needs_the_library_bounds_its_version_from_above(distribution: str):
    pattern = re.compile(rf"{re.escape(distribution)}\b(?!-)", re.IGNORECASE)
    needs = [
        need for file in PACKAGES.glob("*/pyproject.toml") for need in declared(file) if pattern.match(need)
    ]
    assert needs
    assert [need for need in needs if "<" not in need and "==" not in need] == []


UNDERSCORED = re.compile(r"(?<!self)(?<!cls)(?<!super\(\))\._[a-z]\w*")
DOCUMENTED = {"._exit", "._make", "._mapping", "._replace"}  # in spite of the underscore


def test_the_service_uses_no_other_private_name_of_a_library():
    listed = {found for name in PRIVATE_NAMES for found in UNDERSCORED.findall(name.said)}
    for path in sorted((PACKAGES / SERVICE).rglob("*.py")):
        text = path.read_text()
        own = set(re.findall(r"(?:self|cls)(\._[a-z]\w*)", text))  # classes of one file may know each other
        assert set(UNDERSCORED.findall(text)) <= listed | DOCUMENTED | own, path.name
