"""What a folder of migrations contains, read without running it and without importing Alembic."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from plugbay.errors import MigrationsUnclear

Parents = tuple[str, ...]


@dataclass(frozen=True)
class Revisions:
    """One module's migrations: every version there is, and the newest."""

    known: frozenset[str]
    head: str | None


def read_revisions(module: str, scripts: Path) -> Revisions:
    """The versions named in `versions/*.py`; a folder without any has no head."""
    try:
        parents = _read_all(sorted((scripts / "versions").glob("[!_.]*.py")))
        return Revisions(frozenset(parents), _head_of(parents))
    except ValueError as error:
        raise MigrationsUnclear(module=module, reason=error) from error


def _head_of(parents: Mapping[str, Parents]) -> str | None:
    named = {parent for each in parents.values() for parent in each}
    if missing := named - parents.keys():
        raise ValueError(f"{', '.join(sorted(missing))} is named as a down_revision but is not there")
    heads = sorted(parents.keys() - named)
    if len(heads) > 1 or (parents and not heads):
        raise ValueError(f"they must have one end, not {', '.join(heads) or 'a circle'}")
    return heads[0] if heads else None


def _read_all(paths: list[Path]) -> dict[str, Parents]:
    parents: dict[str, Parents] = {}
    for path in paths:
        revision, parents_of_it = _read(path)
        if revision in parents:
            raise ValueError(f"{path.name} has the revision {revision}, which another has too")
        parents[revision] = parents_of_it
    return parents


def _read(path: Path) -> tuple[str, Parents]:
    try:
        head = path.read_bytes().partition(b"\ndef ")[0]  # a fifth of the work of parsing it all
        names = _constants(ast.parse(head, path.name))
        return str(names["revision"]), _as_tuple(names["down_revision"])
    except (KeyError, SyntaxError, ValueError) as error:
        raise ValueError(f"{path.name} does not state its revision and down_revision at its head") from error


def _constants(tree: ast.Module) -> dict[str, object]:
    found: dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id in ("revision", "down_revision"):
                found[target.id] = ast.literal_eval(node.value)
    return found


def _as_tuple(parents: object) -> Parents:
    if parents is None:
        return ()
    return tuple(map(str, parents)) if isinstance(parents, tuple | list) else (str(parents),)
