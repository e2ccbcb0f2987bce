"""The text format that Prometheus scrapes, line by line."""

import re
from collections.abc import Mapping

MAX_HELP_TEXT = 1024  # characters of a query in its help line

# what some readers take for the end of a line, though the format knows only the line feed
_OTHER_LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def family_header(name: str, kind: str, help_text: str) -> str:
    """The help and type lines that stand before the samples of a metric."""
    return f"# HELP {name} {_escape_help(help_text)}\n# TYPE {name} {kind}\n"


def sample_line(name: str, labels: Mapping[str, str], value: float) -> str:
    """One sample."""
    # repr is the shortest text that reads back as the same float, also to Prometheus
    return f"{name}{_label_part(labels)} {float(value)!r}\n"


def gauge_help(query_text: str) -> str:
    """The specified help text of a query's gauge."""
    return f"metric for query {query_text[:MAX_HELP_TEXT]}"


def _label_part(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join([f'{name}="{_escape_label(value)}"' for name, value in labels.items()]) + "}"


def _escape_help(text: str) -> str:
    return _OTHER_LINE_ENDS.sub("\n", text).replace("\\", r"\\").replace("\n", r"\n")


def _escape_label(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
