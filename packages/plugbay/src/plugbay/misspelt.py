"""Environment variables that set nothing because of their spelling: a silent mistake, unless one looks."""

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches

from plugbay.config import HostConfig
from plugbay.settings import variable_name

LIKENESS = 0.7  # of two names, from 0 to 1: some letters or a word too many or too few


def misspelt(environment: Mapping[str, str], plugins: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Each variable that is nearly one of the host's or of these plugins' fields, and what was meant."""
    everybody = {"plugbay": HostConfig.model_fields.keys(), **plugins}
    return {
        variable: meant
        for name, fields in everybody.items()
        for variable, meant in _nearly(name, fields, environment)
    }


def _nearly(name: str, fields: Collection[str], environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    prefix = variable_name(name, "")
    for variable in sorted(environment):
        field = variable.removeprefix(prefix).lower()
        if variable.startswith(prefix) and field not in fields:
            for meant in get_close_matches(field, fields, 1, LIKENESS):
                yield variable, variable_name(name, meant)
