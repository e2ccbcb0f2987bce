from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Literal

import pytest
from plugbay import InvalidConfig
from plugbay.settings import is_secret, load_settings
from pydantic import BaseModel, Field, SecretStr, model_validator


class Model(BaseModel):
    interval: int = Field(30, ge=0)
    mode: Literal["slow", "fast"] = "slow"
    tags: list[str] = []
    limits: dict[str, int] | None = None
    token: SecretStr | None = None
    low: int = 0
    high: int = 10

    @model_validator(mode="after")
    def _in_order(self) -> "Model":
        if self.low > self.high:
            raise ValueError("low must not be above high")
        return self


def load(environment: dict[str, str] | None = None, stored: dict[str, object] | None = None):
    return load_settings(Model, "my_plugin", environment or {}, stored or {})


def test_environment_then_store_then_default():
    loaded = load({"MY_PLUGIN_INTERVAL": "5"}, {"interval": 7, "mode": "fast"})
    assert (loaded.values.interval, loaded.values.mode, loaded.values.high) == (5, "fast", 10)


def test_what_the_environment_sets_is_locked_by_its_variable():
    assert load({"MY_PLUGIN_INTERVAL": "5"}).locked == {"interval": "MY_PLUGIN_INTERVAL"}


def test_lists_and_objects_are_written_as_json():
    loaded = load({"MY_PLUGIN_TAGS": '["a", "b"]', "MY_PLUGIN_LIMITS": '{"rows": 3}'})
    assert (loaded.values.tags, loaded.values.limits) == (["a", "b"], {"rows": 3})


@pytest.mark.parametrize(
    ("variable", "value", "rule"),
    [
        ("MY_PLUGIN_INTERVAL", "-1", "greater than or equal to 0"),
        ("MY_PLUGIN_INTERVAL", "soon", "valid integer"),
        ("MY_PLUGIN_MODE", "medium", "'slow' or 'fast'"),
        ("MY_PLUGIN_TAGS", "[", "valid list"),
    ],
)
def test_a_bad_variable_is_refused_with_name_value_and_rule(variable: str, value: str, rule: str):
    with pytest.raises(InvalidConfig) as refusal:
        load({variable: value})
    assert variable in str(refusal.value)
    assert value in str(refusal.value)
    assert rule in str(refusal.value)


def test_a_bad_stored_value_gives_way_to_the_default_and_is_reported():
    loaded = load(stored={"interval": "often", "mode": "fast"})
    assert (loaded.values.interval, loaded.values.mode) == (30, "fast")
    assert "valid integer" in loaded.replaced["interval"]


def test_stored_values_that_break_a_common_rule_all_give_way():
    loaded = load(stored={"low": 20, "interval": 1})
    assert (loaded.values.low, loaded.values.interval) == (0, 30)


def refusal_of(environment: dict[str, str], model: type[BaseModel] = Model) -> str:
    with pytest.raises(InvalidConfig) as refusal:
        load_settings(model, "my_plugin", environment, {})
    return str(refusal.value)


def test_a_variable_that_breaks_a_common_rule_is_named_without_those_the_rule_is_not_about():
    told = refusal_of({"MY_PLUGIN_INTERVAL": "5", "MY_PLUGIN_LOW": "20", "MY_PLUGIN_MODE": "fast"})
    assert told.startswith("The setting MY_PLUGIN_LOW has the value '20', which is not valid: low must not")
    assert "INTERVAL" not in told
    assert "MODE" not in told


def test_variables_that_break_a_common_rule_are_all_named():
    told = refusal_of({"MY_PLUGIN_LOW": "20", "MY_PLUGIN_MODE": "fast", "MY_PLUGIN_HIGH": "15"})
    assert "MY_PLUGIN_LOW, MY_PLUGIN_HIGH has the value" in told
    assert "'20'" in told
    assert "'15'" in told
    assert "MODE" not in told


def test_all_variables_are_named_when_the_rule_names_no_field():
    class Vague(BaseModel):
        one: int = 0
        token: SecretStr = SecretStr("")

        @model_validator(mode="after")
        def _never(self) -> "Vague":
            raise ValueError("this cannot be")

    told = refusal_of({"MY_PLUGIN_ONE": "7", "MY_PLUGIN_TOKEN": "hidden"}, Vague)
    assert "MY_PLUGIN_ONE, MY_PLUGIN_TOKEN has the value" in told
    assert "hidden" not in told


def test_a_stored_field_that_no_longer_exists_is_ignored():
    assert load(stored={"gone": 1}).values.interval == 30


def test_secrets_are_recognised_also_when_optional():
    class Other(BaseModel):
        plain: str = ""
        marked: Annotated[SecretStr, Field(description="x")] = SecretStr("")

    assert is_secret(Model, "token")
    assert is_secret(Other, "marked")
    assert not is_secret(Other, "plain")


def test_a_bad_secret_is_not_repeated_in_the_message():
    class Strict(BaseModel):
        token: SecretStr = Field(SecretStr("long enough"), min_length=8)

    with pytest.raises(InvalidConfig) as refusal:
        load_settings(Strict, "my_plugin", {"MY_PLUGIN_TOKEN": "short"}, {})
    assert "short" not in str(refusal.value).replace("too_short", "")


class Colour(Enum):
    RED = 1
    BLUE = 2


class ManyKinds(BaseModel):
    names: frozenset[str] = frozenset()
    hosts: Sequence[str] = ()
    weights: Mapping[str, int] = {}
    level: Literal[1, 2] = 1
    colour: Colour | None = None


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("names", '["a"]', frozenset({"a"})),
        ("hosts", '["a", "b"]', ["a", "b"]),
        ("weights", '{"a": 1}', {"a": 1}),
        ("level", "2", 2),
        ("colour", "2", Colour.BLUE),
    ],
)
def test_every_kind_of_field_can_be_written_in_the_environment(field: str, text: str, value: object):
    loaded = load_settings(ManyKinds, "many", {f"MANY_{field.upper()}": text}, {})
    assert getattr(loaded.values, field) == value


def test_a_choice_that_is_not_offered_is_refused():
    with pytest.raises(InvalidConfig, match="MANY_LEVEL has the value '3', which is not valid"):
        load_settings(ManyKinds, "many", {"MANY_LEVEL": "3"}, {})
