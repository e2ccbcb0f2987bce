"""Reads a page as a person would: its words, its fields, its links and buttons."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"input", "meta", "link", "br", "img", "hr"}


@dataclass
class Element:
    """An element with what is in it."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All words in it, with single spaces between them."""
        parts = [child if isinstance(child, str) else child.text for child in self.children]
        return " ".join(" ".join(parts).split())

    def all(self, tag: str, **attributes: str) -> list["Element"]:
        """Every element below of that tag whose attributes have these values."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                is_match = child.tag == tag and attributes.items() <= child.attributes.items()
                found += [child] if is_match else []
                found += child.all(tag, **attributes)
        return found

    def first(self, tag: str, **attributes: str) -> "Element":
        found = self.all(tag, **attributes)
        assert found, f"there is no <{tag}> with {attributes}"
        return found[0]

    def fields(self) -> dict[str, str]:
        """What the form would send."""
        sent = {}
        for box in self.all("input"):
            given = box.attributes
            if given.get("type") not in ("checkbox", "radio") or "checked" in given:
                sent[given.get("name", "")] = given.get("value", "on")
        for area in self.all("textarea"):
            sent[area.attributes["name"]] = "".join(map(str, area.children)).removeprefix("\n")
        for select in self.all("select"):
            options = select.all("option")
            chosen = [one for one in options if "selected" in one.attributes] or options[:1]
            sent[select.attributes.get("name", "")] = chosen[0].attributes.get("value", "") if chosen else ""
        return {name: value for name, value in sent.items() if name}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if tag in [element.tag for element in self.open[1:]]:
            while self.open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(html: str) -> Element:
    """The whole page."""
    reader = _Reader()
    reader.feed(html)
    return reader.root


def live(page: Element) -> tuple[str, dict[str, str]]:
    """What the live part of a page asks for, and the header that tells what it shows already."""
    part = page.first("div", id="live").attributes
    return part["hx-get"], {"X-Seen": part["data-seen"]}
