"""What each database must be guarded against, and what it must run."""

from types import ModuleType

from . import duckdb, mysql, postgresql, sqlite

BANKS: dict[str, ModuleType] = {"sqlite": sqlite, "postgresql": postgresql, "mysql": mysql, "duckdb": duckdb}
