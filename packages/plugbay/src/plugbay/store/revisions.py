"""What a folder of migrations contains, read without running it and without importing Alembic."""

import ast
from dataclasses import dataclass
from pathlib import Path

from plugbay.errors import MigrationsUnclear


@dataclass(frozen=True)
class Revisions:
    """One module's migrations: every version there is, and the newest."""

    known: frozenset[str]
    head: str | None


def read_revisions(module: str, scripts: Path) -> Revisions:
    """The versions named in `versions/*.py`; a folder without any has no head."""
    parents = dict(_revision_of(module, path) for path in sorted((scripts / "versions").glob("[!_]*.py")))
    heads = parents.keys() - {parent for each in parents.values() for parent in each}
    if len(heads) > 1:
        raise MigrationsUnclear(module=module, reason=f"it has several ends, {', '.join(sorted(heads))}")
    return Revisions(frozenset(parents), next(iter(heads), None))


def _revision_of(module: str, path: Path) -> tuple[str, tuple[str, ...]]:
    try:
        names = _constants(ast.parse(path.read_bytes(), path.name))
        return str(names["revision"]), _as_tuple(names["down_revision"])
    except (KeyError, SyntaxError, ValueError) as error:
        reason = f"{path.name} does not say its revision and down_revision plainly"
        raise MigrationsUnclear(module=module, reason=reason) from error


def _constants(tree: ast.Module) -> dict[str, object]:
    found: dict[str, object] = {}
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id in ("revision", "down_revision"):
            found[target.id] = ast.literal_eval(node.value)  # type: ignore[attr-defined]
    return found


def _as_tuple(parents: object) -> tuple[str, ...]:
    if parents is None:
        return ()
    return tuple(map(str, parents)) if isinstance(parents, tuple | list) else (str(parents),)
