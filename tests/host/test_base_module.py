"""Every way in for a plugin is in one file, and that file says no more than there is."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import get_type_hints

import pytest
from plugbay import BaseModule, Clock, Host, Plugbay, base_module
from plugbay.cli import COMMANDS_GROUP
from plugbay.plugins import activation, discovery, manager, requirements

SOURCE = inspect.getsource(base_module)
WAYS = get_type_hints(Host)


def sentence_below(name: str) -> str:
    """What stands below an attribute of a class."""
    found = re.search(rf'^    {name}: [^\n]*\n    """(.*?)"""', SOURCE, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def test_every_field_and_every_way_has_a_sentence():
    fields = [name for name in BaseModule.__annotations__ if not name.startswith("_")]
    assert [name for name in [*fields, *WAYS] if not sentence_below(name)] == []
    hooks = [value for name, value in vars(BaseModule).items() if inspect.isfunction(value)]
    assert [hook.__name__ for hook in hooks if not hook.__doc__] == []
    assert {hook.__name__ for hook in hooks} == set(discovery.HOOKS)


def test_every_table_that_takes_back_what_an_owner_added_is_listed():
    taken_back = set(re.findall(r"self\.(\w+),", inspect.getsource(Plugbay.remove_owner)))
    listed = {name for name, kind in WAYS.items() if hasattr(kind, "remove_owner")}
    assert taken_back == listed


@pytest.mark.parametrize("name", sorted(WAYS))
def test_what_a_sentence_calls_can_be_called(name: str):
    for called in re.findall(r"`(\w+)\(", sentence_below(name)):
        assert callable(getattr(WAYS[name], called)), called


def test_a_host_has_all_of_it(make_host: Callable[..., Plugbay]):
    host = make_host()
    for name, kind in WAYS.items():
        if kind is not Clock:  # a protocol: any clock will do
            assert isinstance(getattr(host, name), kind), name
    assert host.get_module("nobody") is None


def test_the_ways_past_both_classes_are_named():
    assert COMMANDS_GROUP in (base_module.__doc__ or "")
    code = "".join(map(inspect.getsource, (activation, manager, requirements)))
    for picked_up in ("templates", "static", "migrations", "requirements.txt"):
        assert f'"{picked_up}"' in code
        assert picked_up in (base_module.__doc__ or "")


def test_the_documents_name_every_way():
    text = (Path(__file__).parents[2] / "docs/plugins.md").read_text()
    assert [name for name in [*WAYS, "get_module"] if f"`{name}" not in text] == []
