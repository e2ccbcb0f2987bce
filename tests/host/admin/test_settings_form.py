"""The settings form without a browser: what a model becomes, and what becomes of what is typed."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from plugbay import FormHint
from plugbay.admin.settings_form import (
    TYPE_AGAIN,
    Current,
    FormField,
    form_fields,
    grouped,
    read_form,
    read_reset,
)
from plugbay.admin.settings_values import shapes_of, size_text
from plugbay.settings import MASK
from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Shelf(BaseModel):
    name: str = "main"
    key: SecretStr = SecretStr("")


class Model(BaseModel):
    enabled: bool = Field(True, description="Whether it runs.")
    maybe: bool | None = None
    interval: int = Field(30, ge=1, lt=100, description="Seconds.")
    retries: Annotated[int, Field(gt=0)] | None = None
    ratio: float = Field(0.5, gt=0, le=1)
    price: Decimal = Decimal("9.90")
    name: str = Field("Shop", min_length=1, max_length=20, pattern="^[A-Z]")
    note: str | None = None
    mode: Literal["fast", "safe"] = "safe"
    level: Literal[1, 2, None] = 1  # noqa: PYI061 - people write it like this, too
    colour: Colour = Colour.BLUE
    token: SecretStr | None = None
    hooks: list[SecretStr] = []
    shelf: Shelf = Shelf()
    tags: list[str] = Field(["new"], max_length=3)
    numbers: set[int] = {1}
    limits: dict[str, int] = Field({"cart": 20}, title="Limits by place")
    anything: Any = None
    folder: Path = Path("/srv")
    patience: timedelta = timedelta(seconds=90)
    call: Callable[[], int] = int


def current(**values: Any) -> Current:
    model = Model(**values)
    return Current({name: getattr(model, name) for name in Model.model_fields})


def field(name: str, given: Current | None = None, **more: Any) -> FormField:
    fields = form_fields(Model, "shop", given or current(), **more)
    return next(each for each in fields if each.name == name)


def typed(**texts: str) -> Any:
    return read_form(Model, current(), texts)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("enabled", "switch"),
        ("maybe", "select"),
        ("interval", "integer"),
        ("retries", "integer"),
        ("ratio", "number"),
        ("price", "text"),
        ("name", "text"),
        ("mode", "select"),
        ("level", "select"),
        ("colour", "select"),
        ("token", "text"),
        ("hooks", "lines"),
        ("shelf", "json"),
        ("tags", "lines"),
        ("numbers", "lines"),
        ("limits", "json"),
        ("anything", "json"),
        ("folder", "text"),
        ("patience", "text"),
        ("call", "json"),
    ],
)
def test_each_type_has_its_way_to_be_entered(name: str, kind: str):
    assert shapes_of(Model)[name].kind == kind


def test_bounds_reach_the_browser_where_it_can_express_them():
    shapes = shapes_of(Model)
    assert (shapes["interval"].minimum, shapes["interval"].maximum) == (1, 99)
    assert (shapes["ratio"].minimum, shapes["ratio"].maximum) == (None, 1)
    assert shapes["retries"].minimum == 1
    assert shapes["name"].max_length == 20


def test_bounds_are_also_told_in_words():
    shapes = shapes_of(Model)
    assert shapes["interval"].rule == "at least 1, less than 100"
    assert shapes["ratio"].rule == "more than 0, at most 1"
    assert shapes["name"].rule == "characters: at least 1, characters: at most 20, matching ^[A-Z]"
    assert shapes["tags"].rule == "entries: at most 3"


def test_none_makes_a_field_optional_and_is_no_choice_of_its_own():
    shapes = shapes_of(Model)
    assert shapes["level"].choices == (1, 2)
    assert shapes["maybe"].choices == (True, False)
    assert {name for name, shape in shapes.items() if shape.is_optional} == {
        "maybe",
        "retries",
        "note",
        "level",
        "token",
    }


def test_a_field_shows_label_help_variable_value_and_default():
    interval = field("interval", current(interval=5))
    assert (interval.label, interval.help, interval.text) == ("Interval", "Seconds.", "5")
    assert (interval.variable, interval.default) == ("SHOP_INTERVAL", "30")
    assert field("limits").label == "Limits by place"


@pytest.mark.parametrize(
    ("name", "text", "default"),
    [
        ("enabled", "true", "on"),
        ("maybe", "", "not set"),
        ("ratio", "0.5", "0.5"),
        ("price", "9.90", "9.90"),
        ("level", "1", "1"),
        ("colour", "blue", "blue"),
        ("token", "", "empty"),
        ("hooks", "", "empty"),
        ("tags", "new", "new"),
        ("limits", '{\n  "cart": 20\n}', '{"cart": 20}'),
        ("anything", "null", "not set"),
        ("folder", "/srv", "/srv"),
        ("patience", "PT1M30S", "PT1M30S"),
    ],
)
def test_values_and_defaults_are_shown_as_they_can_be_typed(name: str, text: str, default: str):
    assert (field(name).text, field(name).default) == (text, default)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("enabled", "false", False),
        ("maybe", "true", True),
        ("interval", " 60 ", 60),
        ("retries", "3", 3),
        ("ratio", "0.25", 0.25),
        ("price", "12.345", Decimal("12.345")),
        ("name", "Corner shop", "Corner shop"),
        ("note", " kept as it is ", " kept as it is "),
        ("mode", "fast", "fast"),
        ("level", "2", 2),
        ("level", "", None),
        ("colour", "red", Colour.RED),
        ("tags", "a, b\r\n\r\n  c \r\n", ["a, b", "c"]),
        ("tags", "", []),
        ("numbers", "3\n2\n3", {2, 3}),
        ("limits", '{"cart": 1, "shelf": "7"}', {"cart": 1, "shelf": 7}),
        ("anything", "[1, null]", [1, None]),
        ("folder", "/var/tmp", Path("/var/tmp")),
        ("patience", "PT5S", timedelta(seconds=5)),
    ],
)
def test_what_is_typed_becomes_a_value_of_the_right_type(name: str, text: str, value: Any):
    result = typed(**{name: text})
    assert result.errors == {}
    assert result.changes == {name: value}


@pytest.mark.parametrize("name", ["maybe", "retries", "note", "level", "token"])
def test_an_emptied_optional_field_is_none(name: str):
    values = {"maybe": True, "retries": 2, "note": "x", "level": 2, "token": "x"}
    assert read_form(Model, current(**{name: values[name]}), {name: ""}).changes == {name: None}


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("interval", "0", "greater than or equal to 1"),
        ("interval", "", "Enter a number."),
        ("interval", "often", "valid integer"),
        ("interval", "1.5", "valid integer"),
        ("interval", "9" * 5000, "exceeded maximum size"),
        ("ratio", "nan", "less than or equal to 1"),
        ("name", "", "at least 1 character"),
        ("mode", "reckless", "Choose one of: fast, safe."),
        ("colour", "", "Choose one of: red, blue."),
        ("tags", "a\nb\nc\nd", "at most 3 items"),
        ("numbers", "1\ntwo", "valid integer"),
        ("limits", "{oops", "This is not JSON: Expecting property name"),
        ("limits", "", "This is not JSON"),
        ("limits", '{"cart": "many"}', "valid integer"),
        ("limits", '["cart"]', "valid dictionary"),
        ("anything", "NaN", "not JSON that can be kept"),
        ("anything", '"\\ud800"', "not JSON that can be kept"),
        ("anything", "[" * 100_000, "not JSON that can be kept"),
    ],
)
def test_what_cannot_be_is_an_error_at_its_field(name: str, text: str, told: str):
    result = typed(**{name: text})
    assert set(result.errors) == {name}
    assert told in result.errors[name]
    assert result.changes == {}


def test_all_errors_are_told_at_once():
    assert set(typed(interval="0", limits="{", mode="x", name="Fine").errors) == {
        "interval",
        "limits",
        "mode",
    }


def test_what_is_left_as_it_is_or_not_sent_is_not_touched():
    same = {name: field(name).text for name in Model.model_fields}
    assert read_form(Model, current(), same) == typed()
    assert typed().changes == {}


def test_browsers_line_breaks_do_not_count_as_a_change():
    given = current(note="two\nlines", tags=["a", "b"])
    assert read_form(Model, given, {"note": "two\r\nlines", "tags": "a\r\nb"}).changes == {}


def test_fields_that_the_form_does_not_have_are_ignored():
    assert typed(csrf_token="abc", unknown="1").changes == {}


def test_a_text_with_line_breaks_keeps_them():
    assert field("note", current(note="two\nlines")).is_multiline
    assert not field("note").is_multiline


def test_entries_that_lines_cannot_hold_are_entered_as_json():
    given = current(tags=["two\nlines", " spaced "])
    assert field("tags", given).shape.kind == "json"
    assert read_form(Model, given, {"tags": '["a\\nb"]'}).changes == {"tags": ["a\nb"]}


@pytest.mark.parametrize(
    ("name", "value"), [("token", "hunter2"), ("hooks", ["hunter2"]), ("shelf", {"key": "hunter2"})]
)
def test_a_secret_is_never_shown_and_is_kept_when_left_as_it_is(name: str, value: Any):
    given = current(**{name: value})
    shown = field(name, given)
    assert shown.text == MASK
    assert "hunter2" not in repr(shown)
    assert read_form(Model, given, {name: MASK}).changes == {}


def test_a_new_secret_replaces_the_old_one_as_a_whole():
    given = current(token="old", hooks=["old"])
    changes = read_form(Model, given, {"token": "new", "hooks": "one\ntwo"}).changes
    assert changes["token"].get_secret_value() == "new"
    assert [each.get_secret_value() for each in changes["hooks"]] == ["one", "two"]


def test_a_half_replaced_secret_is_refused():
    result = read_form(Model, current(token="old"), {"token": MASK + "x"})
    assert result.errors == {"token": "Replace all of it, or leave it as it is."}


def test_a_typed_secret_is_not_sent_back_and_must_be_typed_again():
    sent = {"token": "hunter2", "interval": "0"}
    shown = field("token", typed=sent, errors=typed(**sent).errors)
    assert (shown.text, shown.error) == ("", TYPE_AGAIN)


def test_after_an_error_the_form_shows_what_was_typed():
    sent = {"interval": "often", "limits": "{oops", "enabled": "false"}
    errors = typed(**sent).errors
    for name, text in sent.items():
        assert field(name, typed=sent, errors=errors).text == text


def test_what_the_environment_decides_is_locked_whatever_is_sent():
    given = Current(current(interval=7).values, locked={"interval": "SHOP_INTERVAL"}, stored={"interval"})
    shown = field("interval", given, typed={"interval": "8"}, errors={"": "no"})
    assert (shown.is_locked, shown.is_stored, shown.text) == (True, False, "7")
    assert read_form(Model, given, {"interval": "8"}).changes == {}


def test_saving_forgets_a_stored_value_that_was_replaced():
    given = Current(current().values, replaced={"interval": "too large"}, stored={"interval"})
    assert field("interval", given).replaced == "too large"
    assert read_form(Model, given, {"interval": "30"}).resets == {"interval"}
    assert read_form(Model, given, {"interval": "40"}).changes == {"interval": 40}
    assert read_form(Model, given, {"interval": "40"}).resets == set()


class Range(BaseModel):
    low: int = 0
    high: int = 10
    label: str

    @model_validator(mode="after")
    def _is_a_range(self) -> "Range":
        if self.low > self.high:
            raise ValueError("low must not be above high")
        return self

    @field_validator("label")
    @classmethod
    def _is_long(cls, value: str) -> str:
        return value if len(value) > 1 / (len(value)) else "short"


def test_a_rule_over_several_fields_is_an_error_of_the_form():
    given = Current({"low": 0, "high": 10, "label": "x"})
    assert read_form(Range, given, {"low": "11"}).errors == {"": "low must not be above high"}


def test_a_reset_must_fit_the_other_values():
    given = Current({"low": 50, "high": 60, "label": "x"}, stored={"low", "high"})
    assert read_reset(Range, given, "low").resets == {"low"}
    assert read_reset(Range, given, "high").errors == {"": "low must not be above high"}
    assert read_reset(Range, given, "label").errors == {"label": "Field required"}


def test_a_required_field_has_no_default_and_wants_a_value():
    given = Current({"low": 0, "high": 10})
    fields = {each.name: each for each in form_fields(Range, "range", given)}
    assert (fields["label"].text, fields["label"].default) == ("", "")
    assert read_form(Range, given, {"low": "1", "label": ""}).errors == {"label": "Field required"}
    assert read_form(Range, given, {"label": "long"}).changes == {"label": "long"}


def test_a_broken_validator_of_the_plugin_is_named_and_does_no_harm():
    given = Current({"low": 0, "high": 10, "label": "x"})
    result = read_form(Range, given, {"label": ""})
    assert "ZeroDivisionError" in result.errors[""]


def test_a_default_that_depends_on_other_fields_is_not_guessed():
    class Derived(BaseModel):
        name: str = "a"
        made: list[str] = Field(default_factory=lambda: ["x"])
        copy_of: str = Field(default_factory=lambda data: data["name"] * 2)

    defaults = {each.name: each.default for each in form_fields(Derived, "d", Current({}))}
    assert defaults == {"name": "a", "made": "x", "copy_of": "worked out from the other settings"}


def test_a_long_default_is_cut():
    class Long(BaseModel):
        text: str = "x" * 200

    assert form_fields(Long, "l", Current({}))[0].default == "x" * 80 + "…"


class Hinted(BaseModel):
    plain: int = 1
    kept: Annotated[int, FormHint("History", unit="days", words={-1: "for ever"})] = Field(-1, ge=-1, le=3650)
    size: Annotated[int, FormHint("History", unit="bytes", words={-1: "no limit"})] = Field(
        100_000_000, ge=-1, le=10**12
    )
    region: Annotated[str, FormHint("Shop", choices="regions")] = "eu"
    late: Annotated[int, FormHint("History", unit="seconds")] = Field(3600, ge=0)


def hinted(**values: Any) -> Current:
    return Current(Hinted(**values).model_dump())


def hinted_field(name: str, given: Current | None = None) -> FormField:
    return next(each for each in form_fields(Hinted, "shop", given or hinted()) if each.name == name)


def test_fields_stand_below_their_headings_in_the_order_of_the_model():
    groups = grouped(form_fields(Hinted, "shop", hinted()))
    found = {heading: [each.name for each in fields] for heading, fields in groups.items()}
    assert found == {"": ["plain"], "History": ["kept", "size", "late"], "Shop": ["region"]}


def test_numbers_have_units_and_words():
    assert (hinted_field("kept").default, hinted_field("kept").shape.rule) == ("for ever", "at most 3,650")
    assert (hinted_field("size").text, hinted_field("size").default) == ("100 MB", "100 MB")
    assert hinted_field("size").shape.rule == "at most 1 TB"
    assert hinted_field("late").default == "3,600 seconds"
    assert hinted_field("kept").is_worded
    assert not hinted_field("kept", hinted(kept=7)).is_worded


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("64 kB", 64_000), ("1.5GB", 1_500_000_000), ("7", 7), ("2 mb", 2_000_000), ("10 B", 10), ("-1", -1)],
)
def test_a_size_is_read_as_people_write_it(typed: str, meant: int):
    assert read_form(Hinted, hinted(), {"size": typed}).changes == {"size": meant}


@pytest.mark.parametrize("typed", ["much", "1.2.3 MB", "5 XB", "", "0.0001 kB", "9 TB"])
def test_what_is_no_size_is_told(typed: str):
    assert read_form(Hinted, hinted(), {"size": typed}).errors["size"]


def test_a_size_that_was_left_as_it_was_is_no_change():
    assert read_form(Hinted, hinted(size=65_536), {"size": "65.536 kB"}).changes == {}


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (-1, "-1"), (999, "999"), (1000, "1 kB"), (65_536, "65.536 kB"), (10**13, "10 TB")],
)
def test_a_size_is_said_exactly(count: int, text: str):
    assert size_text(count) == text
