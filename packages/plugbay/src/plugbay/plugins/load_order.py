"""Which plugins can be loaded, in which order, and why the others cannot. Pure: values in, values out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version


@dataclass(frozen=True)
class Candidate:
    """What the order depends on."""

    name: str
    version: str = "0.0.0"
    depends_on: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LoadPlan:
    """Names in the order of loading, and the reason of each refusal."""

    order: list[str]
    refusals: dict[str, str]


def plan_load(candidates: Iterable[Candidate], absent: Mapping[str, str] | None = None) -> LoadPlan:
    """Dependencies first, else in the order given; `absent` says why a known plugin is not a candidate."""
    waiting = {candidate.name: candidate for candidate in candidates}
    known = dict(waiting)
    refusals: dict[str, str] = {}
    _refuse_unmet(waiting, known, refusals, absent or {})
    order: list[str] = []
    while ready := [name for name, candidate in waiting.items() if set(candidate.depends_on) <= set(order)]:
        order.append(ready[0])
        del waiting[ready[0]]
    for name in waiting:
        refusals[name] = _explain_cycle(name, waiting)
    return LoadPlan(order, refusals)


def dependents(name: str, candidates: Iterable[Candidate]) -> list[str]:
    """Those that need `name` directly."""
    return [candidate.name for candidate in candidates if name in candidate.depends_on]


def _refuse_unmet(
    waiting: dict[str, Candidate],
    known: Mapping[str, Candidate],
    refusals: dict[str, str],
    absent: Mapping[str, str],
) -> None:
    """Takes out what lacks something, then what needs those, until nothing changes."""
    while True:
        found = {}
        for candidate in waiting.values():
            if reason := unmet(candidate, known, {**absent, **dict.fromkeys(refusals, "is refused")}):
                found[candidate.name] = reason
        if not found:
            return
        refusals |= found
        for name in found:
            del waiting[name]


def unmet(candidate: Candidate, known: Mapping[str, Candidate], absent: Mapping[str, str]) -> str | None:
    """The first dependency that is not met, as a sentence."""
    if not _is_version(candidate.version):
        return f"its version {candidate.version!r} is not a version number (PEP 440)"
    for name, constraint in candidate.depends_on.items():
        wanted = "" if constraint.strip() in ("", "*") else constraint.strip()
        try:
            specifier = SpecifierSet(wanted)
        except InvalidSpecifier:
            return f"its constraint on {name}, {constraint!r}, is not a version specifier (PEP 440)"
        needs = f"needs {name} {wanted}".rstrip()
        if name in absent:
            return f"{needs}, which {absent[name]}"
        if name not in known:
            return f"{needs}, which is not installed"
        version = known[name].version
        if _is_version(version) and not specifier.contains(Version(version), prereleases=True):
            return f"{needs}, but {name} is {version}"
    return None


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _explain_cycle(name: str, waiting: Mapping[str, Candidate]) -> str:
    path = [name]
    while True:
        following = next(other for other in waiting[path[-1]].depends_on if other in waiting)
        if following in path:
            cycle = [*path[path.index(following) :], following]
            return f"depends on itself in a circle: {' → '.join(cycle)}"
        path.append(following)
