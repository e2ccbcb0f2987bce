"""`env:NAME` and `file:PATH`: secrets that stay where the operator keeps them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from plugbay_scheduled_query.sources.dialects.session import SourceError, SourceRefusedError
from plugbay_scheduled_query.sources.url import reference_of

FILE_LIMIT_BYTES = 64 * 1024
PROCESSES = "/proc"  # has the environment of this process, and in it Plugbay's own secrets


@dataclass(frozen=True)
class References:
    """Looks references up, except where the product keeps secrets of its own."""

    data_dir: Path
    environment: Mapping[str, str]

    def resolve(self, text: str) -> str:
        """What a reference stands for; a text that is none stays as it is."""
        found = reference_of(text)
        if found is None:
            return text
        kind, name = found
        return self._from_environment(name) if kind == "env" else self._from_file(Path(name))

    def _from_environment(self, name: str) -> str:
        if name.upper().startswith("PLUGBAY_"):
            raise SourceRefusedError(f"{name} is a secret of Plugbay itself and cannot be part of a source")
        if name not in self.environment:
            raise SourceError(f"the environment variable {name} is not set")
        return self.environment[name]

    def _from_file(self, path: Path) -> str:
        place = Path(os.path.realpath(path))
        if any(place.is_relative_to(own) for own in (os.path.realpath(self.data_dir), PROCESSES)):
            raise SourceRefusedError("a file in the data directory, or in /proc, cannot be part of a source")
        if place.exists() and not place.is_file():  # a pipe would keep us waiting
            raise SourceError(f"cannot read the file {path}: it is not a file")
        try:
            with path.open("rb") as file:
                return file.read(FILE_LIMIT_BYTES).decode("utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(f"cannot read the file {path}: {_cause(error)}") from None


def _cause(error: OSError | UnicodeDecodeError) -> str:
    return "it is not text" if isinstance(error, UnicodeDecodeError) else str(error.strerror)
