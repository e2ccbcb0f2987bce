"""How a value moved since the one before, and whether that is good news."""

from dataclasses import dataclass
from typing import Literal

from plugbay_ui_tools.numbers import format_number, format_percent, read_number

Good = Literal["up", "down", "neither"]
ICONS = {"up": "fa-arrow-trend-up", "down": "fa-arrow-trend-down", "level": "fa-minus"}


@dataclass(frozen=True)
class Trend:
    """`+6.2 %`, with its direction and the tone in which it is shown."""

    text: str
    direction: str
    tone: str

    @property
    def icon(self) -> str:
        return ICONS[self.direction]


def compare(current: object, previous: object, good: Good = "neither") -> Trend | None:
    """The change from `previous` to `current`, or `None` where there is nothing to compare."""
    new, old = read_number(current), read_number(previous)
    if new is None or old is None:
        return None
    change = float(new) - float(old)
    direction = "level" if change == 0 else "up" if change > 0 else "down"
    return Trend(_text(change, float(old)), direction, _tone(direction, good))


def _tone(direction: str, good: Good) -> str:
    if direction == "level" or good == "neither":
        return "secondary"
    return "green" if direction == good else "red"


def _text(change: float, old: float) -> str:
    if change == 0:
        return "unchanged"
    # against zero there is no percentage
    if old == 0:
        return ("+" if change > 0 else "") + format_number(change)
    return format_percent(change / abs(old), signed=True)
