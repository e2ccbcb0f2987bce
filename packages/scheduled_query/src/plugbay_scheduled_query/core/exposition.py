"""Samples as the lines of /metrics and back, cut into parts of which few change when few values do."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import NamedTuple
from zlib import crc32

from plugbay_scheduled_query.core.model import MetricConfig, Part

PART_LINES = 32  # of a part on average: three changed values of 100,000 rewrite some 10 kB
MOST_LINES = 4 * PART_LINES
DIGEST_BYTES = 8

_TO_ESCAPE = re.compile(r'[\\\n"]')
_ESCAPES = {"\\": r"\\", "\n": r"\n", '"': r"\""}
_ESCAPED = re.compile(r"\\(.)")
_PAIR = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Line(NamedTuple):
    """A sample as it stands on /metrics."""

    labels: Mapping[str, str]
    value: float


def lines_of(metric: MetricConfig, values: Mapping[tuple[str, ...], float]) -> list[str]:
    """One line for each sample, ordered by labels: the order of rows may change though no value does."""
    fixed = [f'{name}="{_escaped(value)}"' for name, value in metric.labels.items()]
    pairs = [*[pair.replace("%", "%%") for pair in fixed], *[f'{name}="%s"' for name in metric.label_columns]]
    line = f"{metric.metric_name}{{{','.join(pairs)}}} %r\n" if pairs else f"{metric.metric_name} %r\n"
    rows = values.items()
    if _TO_ESCAPE.search("".join(["".join(row) for row in values])):
        rows = {tuple([_escaped(text) for text in row]): value for row, value in rows}.items()
    return sorted([line % (*row, value) for row, value in rows])


def parts_of(metric: MetricConfig, values: Mapping[tuple[str, ...], float]) -> tuple[Part, ...]:
    """The lines in parts: where one ends depends on its last line's labels alone, so a row more moves one."""
    return tuple([_part(lines) for lines in _cut(map(str.encode, lines_of(metric, values)))])


def read_lines(text: bytes) -> Iterator[Line]:
    """The samples that lines of ours hold."""
    for line in text.decode().split("\n"):
        if line:
            series, _, value = line.rpartition(" ")
            yield Line({name: _unescaped(found) for name, found in _PAIR.findall(series)}, float(value))


def key_of(metric: MetricConfig) -> str:
    """What makes samples those of a metric: one whose key changed begins without any."""
    columns, labels = [*metric.label_columns, metric.value_column], sorted(metric.labels.items())
    return _digest(json.dumps([metric.metric_name, metric.kind, labels, columns]).encode())


def _cut(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    part: list[bytes] = []
    for line in lines:
        part.append(line)
        is_end = crc32(line[: line.rindex(b" ")]) % PART_LINES == 0
        if is_end or len(part) == MOST_LINES:
            yield part
            part = []
    if part:
        yield part


def _part(lines: list[bytes]) -> Part:
    text = b"".join(lines)
    return Part(_digest(text), len(lines), text)


def _digest(text: bytes) -> str:
    return blake2b(text, digest_size=DIGEST_BYTES).hexdigest()


def _escaped(text: str) -> str:
    return _TO_ESCAPE.sub(lambda found: _ESCAPES[found[0]], text) if _TO_ESCAPE.search(text) else text


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], text) if "\\" in text else text
