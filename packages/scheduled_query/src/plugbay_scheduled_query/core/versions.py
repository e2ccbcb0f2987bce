"""What a definition was before: each save is a version, compared by its fields and the lines of its SQL."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, Literal

from plugbay_scheduled_query.core.draft import FIELDS, draft_of
from plugbay_scheduled_query.core.model import Query

CONTEXT = 3  # lines that are shown around a change
MAX_MATCHED = 2_000  # changed lines that are matched with each other; more are shown as removed and added
NOTHING = "–"

LineKind = Literal["same", "added", "removed", "skipped"]


@dataclass(frozen=True, slots=True)
class Version:
    """A definition as it was saved; `changed` names the fields that differ from the version before."""

    version: int
    at: datetime | None
    by: str | None
    definition: Mapping[str, Any]
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of two texts that are compared; what is skipped has words for how much that is."""

    kind: LineKind
    text: str
    before: int | None = None  # its number in the one text
    after: int | None = None  # and in the other


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that differs, in words."""

    name: str
    before: str
    after: str


def present_version(query: Query) -> Version:
    """The version that is in force."""
    return Version(query.version, query.updated_at, query.updated_by, draft_of(query).as_json())


def with_changes(versions: Sequence[Version]) -> list[Version]:
    """Versions, newest first, each compared with the next; the last has nothing to be compared with."""
    compared = [
        replace(after, changed=changed_in(before.definition, after.definition))
        for after, before in pairwise(versions)
    ]
    return [*compared, *versions[-1:]]


def changed_in(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields that differ; one that a version is too old to have is not compared."""
    known = [name for name in FIELDS if name in before and name in after]
    return tuple(name for name in known if before[name] != after[name])


def field_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[FieldChange]:
    """What differs beside the SQL, whose lines are compared."""
    names = [name for name in changed_in(before, after) if name != "query"]
    return [FieldChange(name, _in_words(before[name]), _in_words(after[name])) for name in names]


def line_diff(before: str, after: str) -> list[Line]:
    """Both texts line by line, with what is the same left out but for a little around each change."""
    return _folded(list(_lines(before.splitlines(), after.splitlines())))


def _in_words(value: Any) -> str:
    if value is None or value == "" or value == []:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _lines(old: list[str], new: list[str]) -> Iterator[Line]:
    for tag, i1, i2, j1, j2 in _steps(old, new):
        if tag == "equal":
            pairs = zip(range(i1, i2), range(j1, j2), strict=True)
            yield from (Line("same", old[i], i + 1, j + 1) for i, j in pairs)
        else:
            yield from (Line("removed", old[i], before=i + 1) for i in range(i1, i2))
            yield from (Line("added", new[j], after=j + 1) for j in range(j1, j2))


def _steps(old: list[str], new: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """How one text becomes the other; only what lies between their common ends is looked at closely."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    ends = (head, len(old) - tail, head, len(new) - tail)
    yield ("equal", 0, head, 0, head)
    if max(ends[1] - head, ends[3] - head) > MAX_MATCHED:
        yield ("replace", *ends)
    else:
        matcher = SequenceMatcher(None, old[head : ends[1]], new[head : ends[3]])
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            yield (tag, i1 + head, i2 + head, j1 + head, j2 + head)
    yield ("equal", ends[1], len(old), ends[3], len(new))


def _common(old: list[str], new: list[str]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((n for n, (one, other) in pairs if one != other), min(len(old), len(new)))


def _folded(lines: list[Line]) -> list[Line]:
    changed = [n for n, line in enumerate(lines) if line.kind != "same"]
    near = {n + step for n in changed for step in range(-CONTEXT, CONTEXT + 1)}
    found: list[Line] = []
    skipped = 0
    for n, line in enumerate(lines):
        skipped += n not in near
        if n in near:
            found += [*_skipped(skipped), line]
            skipped = 0
    return [*found, *_skipped(skipped)]


def _skipped(count: int) -> list[Line]:
    words = f"{count:,} line{'s' if count != 1 else ''} the same"
    return [Line("skipped", words)] if count else []
