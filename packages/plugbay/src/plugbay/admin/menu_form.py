"""What an admin typed about the menu, as overrides. Pure: values in, values out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from plugbay.menu import MenuEntry, MenuOverride, Overrides

MAX_LABEL = 60  # characters; the menu is narrow
UNCHANGED = MenuOverride()


def typed_overrides(
    entries: Iterable[MenuEntry], overrides: Overrides, typed: Mapping[str, str]
) -> Overrides:
    """The labels and switches of a form, on top of what was changed before; what was not sent stays."""
    changed = dict(overrides)
    for own in entries:
        was = changed.get(own.key, UNCHANGED)
        label = typed.get(f"label:{own.key}", was.label or own.label).strip()
        shown = typed.get(f"shown:{own.key}", "false" if was.hidden else "true")
        changed[own.key] = replace(was, label="" if label == own.label else label, hidden=shown != "true")
    return _only_changes(changed)


def label_errors(entries: Iterable[MenuEntry], typed: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with the labels, by entry."""
    labels = {own.key: typed.get(f"label:{own.key}", "") for own in entries}
    message = f"A label has at most {MAX_LABEL} visible characters."
    return {
        key: message for key, label in labels.items() if len(label) > MAX_LABEL or not label.isprintable()
    }


def moved(order: Sequence[str], overrides: Overrides, key: str, step: int) -> Overrides:
    """The entry one place up (-1) or down (1) among those of its section, whose keys `order` lists."""
    keys = list(order)
    place = keys.index(key)
    target = min(max(place + step, 0), len(keys) - 1)
    keys.insert(target, keys.pop(place))
    # below zero, so that what a new plugin brings comes after what an admin has put in order
    positions = {each: index - len(keys) for index, each in enumerate(keys)}
    arranged = {each: replace(overrides.get(each, UNCHANGED), position=positions[each]) for each in keys}
    return {**overrides, **arranged}


def without(overrides: Overrides, key: str) -> Overrides:
    """As the owner made it again."""
    return {each: override for each, override in overrides.items() if each != key}


def _only_changes(overrides: Overrides) -> Overrides:
    return {key: override for key, override in overrides.items() if override != UNCHANGED}
