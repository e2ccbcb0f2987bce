"""Definitions before they are stored: every field, every refusal, and what an edit leaves alone."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.draft import (
    FIELDS,
    Draft,
    DraftRules,
    Refused,
    changed_fields,
    check_edit,
    check_new,
    draft_of,
    starts_afresh,
)
from plugbay_scheduled_query.core.metric import clash
from plugbay_scheduled_query.core.model import ChartConfig, MetricConfig, Query, RenderType

RULES = DraftRules(data_sources={"sales"})
MINIMAL = {"name": "Orders", "query": "SELECT 1", "cron_schedule": "*/5 * * * *"}
DRAFT = Draft(name="Orders", query="SELECT 1", cron_schedule="*/5 * * * *", data_source="sales")


def accepted(rules: DraftRules = RULES, **fields: Any) -> Draft:
    found = check_new({**MINIMAL, **fields}, rules)
    assert isinstance(found, Draft), found
    return found


def errors(rules: DraftRules = RULES, **fields: Any) -> Mapping[str, str]:
    found = check_new({**MINIMAL, **fields}, rules)
    assert isinstance(found, Refused), found
    return found.errors


def edited(rules: DraftRules = RULES, current: Draft = DRAFT, **fields: Any) -> Draft | Mapping[str, str]:
    found = check_edit(current, fields, rules)
    return found.errors if isinstance(found, Refused) else found


# --- a new definition ------------------------------------------------------------------------------------


def test_name_query_and_cron_are_enough() -> None:
    assert accepted() == DRAFT
    assert (DRAFT.enabled, DRAFT.render_type, DRAFT.monitor_metric_config) == (True, RenderType.AUTO, None)
    assert (DRAFT.timezone, DRAFT.timeout, DRAFT.description, DRAFT.tags) == (None, None, "", ())


def test_every_field_is_taken() -> None:
    full = {
        "name": "Orders",
        "query": "SELECT count(*) FROM orders",
        "cron_schedule": "@daily",
        "enabled": False,
        "render_type": "metric",
        "monitor_metric_config": {"metric_name": "orders", "labels": {"region": "eu"}},
        "chart": {"kind": "bar", "x": "region", "y": ["n"]},
        "data_source": "sales",
        "timezone": "Europe/Berlin",
        "timeout": 60,
        "description": "All orders.\nOf today.",
        "tags": ["shop", "daily"],
    }
    draft = accepted(**full)
    assert draft.as_json() == full | {"metrics": [full["monitor_metric_config"]]}
    assert draft.monitor_metric_config == MetricConfig("orders", {"region": "eu"})


def test_what_is_missing_is_told_at_each_field() -> None:
    found = check_new({}, RULES)
    assert isinstance(found, Refused)
    assert found.errors == {
        "name": "a name is needed",
        "query": "an SQL query is needed",
        "cron_schedule": "a cron expression is needed, such as */5 * * * *",
    }


def test_null_for_an_optional_field_is_its_default() -> None:
    assert accepted(**dict.fromkeys(set(FIELDS) - set(MINIMAL))) == DRAFT


def test_null_for_a_required_field_is_refused() -> None:
    assert errors(name=None, query=None, cron_schedule=None) == dict.fromkeys(MINIMAL, "must be a text")


def test_unknown_and_read_only_fields_are_ignored() -> None:
    assert accepted(id=7, last_result="[]", version=3, next_run_at=None, nonsense=[1]) == DRAFT


def test_all_wrong_fields_are_told_at_once() -> None:
    assert set(errors(name="", cron_schedule="x", timeout=0, timezone="Mars", render_type="pie")) == {
        *("name", "cron_schedule", "timeout", "timezone", "render_type"),
    }


# --- name ------------------------------------------------------------------------------------------------


def test_a_name_is_trimmed_and_has_1_to_200_characters() -> None:
    assert accepted(name="  Orders \n").name == "Orders"
    assert accepted(name="x" * 200).name == "x" * 200
    assert accepted(name="日本語 😀 <script>").name == "日本語 😀 <script>"
    assert errors(name="x" * 201) == {"name": "a name has at most 200 characters; this one has 201"}


@pytest.mark.parametrize("name", ["", "   ", "\t\n", "\u200b", "\u2060\u200d"])
def test_a_name_that_nobody_can_see_is_none(name: str) -> None:
    assert errors(name=name) == {"name": "a name is needed"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a\0b", "must not have a NUL character at position 2"),
        ("a\nb", "must not have a line break at position 2"),
        ("a\u2028b", "must not have a line break at position 2"),
        ("a\tb", "must not have a tab at position 2"),
        ("a\x1b[0m", "must not have a control character (U+001B) at position 2"),
        ("a\x85b", "must not have a control character (U+0085) at position 2"),
        ("ab\ud800", "must not have half a character (a lone surrogate) at position 3"),
    ],
)
def test_a_name_without_control_characters(name: str, words: str) -> None:
    assert errors(name=name) == {"name": words}


@pytest.mark.parametrize("given", [5, True, ["x"], {"a": 1}, 1.5])
def test_texts_must_be_texts(given: Any) -> None:
    found = errors(
        name=given, query=given, cron_schedule=given, data_source=given, timezone=given, description=given
    )
    assert set(found) == {"name", "query", "cron_schedule", "data_source", "timezone", "description"}
    assert set(found.values()) == {"must be a text"}


# --- query -----------------------------------------------------------------------------------------------


def test_the_query_is_kept_as_typed() -> None:
    sql = "  SELECT\t1\r\n\f-- ä 😀\n"
    assert accepted(query=sql).query == sql


def test_a_query_has_at_most_100_kilobytes() -> None:
    assert accepted(query="x" * 100_000)
    assert errors(query="x" * 100_001) == {"query": "a query has at most 100,000 bytes; this one has 100,001"}
    assert errors(query="ä" * 50_001) == {"query": "a query has at most 100,000 bytes; this one has 100,002"}


@pytest.mark.parametrize("sql", ["", "  \n\t"])
def test_an_empty_query_is_refused(sql: str) -> None:
    assert errors(query=sql) == {"query": "an SQL query is needed"}


@pytest.mark.parametrize("sql", ["SELECT\0 1", "SELECT '\ud800'", "SELECT '\x1b'"])
def test_a_query_with_a_character_that_cannot_be_kept_is_refused(sql: str) -> None:
    assert errors(query=sql)["query"].startswith("must not have ")


def test_the_guard_is_asked_about_text_and_source_and_its_reason_is_shown() -> None:
    asked = []

    def objection(sql: str, data_source: str) -> str | None:
        asked.append((sql, data_source))
        return "rejected: the keyword “drop” is forbidden" if "drop" in sql else None

    rules = replace(RULES, objection=objection)
    assert errors(rules, query="drop x", name="") == {
        "name": "a name is needed",
        "query": "rejected: the keyword “drop” is forbidden",
    }
    assert accepted(rules).query == "SELECT 1"
    assert asked == [("drop x", "sales"), ("SELECT 1", "sales")]


def test_the_guard_is_not_asked_when_there_is_nothing_to_ask_about() -> None:
    def objection(sql: str, data_source: str) -> str | None:
        raise AssertionError

    assert set(errors(replace(RULES, objection=objection), query="")) == {"query"}


def test_what_is_wrong_in_any_database_is_told_with_a_source_that_is_not_there() -> None:
    asked: list[str] = []

    def objection(sql: str, data_source: str) -> str | None:
        asked.append(data_source)
        return "a forbidden word"

    rules = replace(RULES, objection=objection)
    assert set(errors(rules, data_source="nowhere", name="")) == {"data_source", "name", "query"}
    assert asked == [""]


def test_an_edit_tells_every_error_in_one_round() -> None:
    rules = replace(RULES, objection=lambda sql, data_source: "a forbidden word")
    refused = check_edit(DRAFT, {"name": "", "cron_schedule": "never", "query": "SELECT 2"}, rules)
    assert isinstance(refused, Refused)
    assert set(refused.errors) == {"name", "cron_schedule", "query"}


# --- chart -----------------------------------------------------------------------------------------------


def test_a_chart_may_come_as_the_text_of_a_form() -> None:
    chart = ChartConfig("line", "day", ("orders", "returns"))
    assert accepted(chart=chart.as_json()).chart == chart
    assert accepted(chart=json.dumps(chart.as_json())).chart == chart
    assert accepted(chart="").chart is None
    assert check_edit(replace(DRAFT, chart=chart), {"chart": None}, RULES) == DRAFT


@pytest.mark.parametrize(
    ("chart", "words"),
    [
        ({"kind": "pie", "x": "a", "y": ["b"]}, "bar, line"),
        ({"kind": "bar", "x": "a", "y": []}, "1 to 8"),
        ({"kind": "bar", "x": "a", "y": "b"}, "1 to 8"),
        ({"kind": "bar", "x": "a", "y": ["b"] * 9}, "1 to 8"),
        ({"kind": "bar", "x": "a", "y": ["b", "b"]}, "once"),
        ({"kind": "bar", "x": "a", "y": ["a"]}, "once"),
        ({"kind": "bar", "x": "", "y": ["a"]}, "name columns"),
        ({"kind": "bar", "x": 1, "y": ["a"]}, "name columns"),
        ({"kind": "bar", "x": "a", "y": ["b\0"]}, "name columns"),
        ({"kind": "bar", "x": "a" * 201, "y": ["b"]}, "name columns"),
        ({"kind": "bar", "x": "a", "y": ["b"], "z": 1}, "no field"),
        (["bar"], "an object"),
        ("{", "not valid JSON"),
        (1, "an object"),
    ],
)
def test_a_bad_chart_is_refused_at_its_field(chart: object, words: str) -> None:
    found = errors(chart=chart)
    assert set(found) == {"chart"}
    assert words in found["chart"]


# --- cron, render type, enabled --------------------------------------------------------------------------


def test_a_cron_expression_is_kept_with_single_spaces() -> None:
    assert accepted(cron_schedule=" */5  * * * * ").cron_schedule == "*/5 * * * *"
    assert accepted(cron_schedule="@Hourly").cron_schedule == "@hourly"


@pytest.mark.parametrize("cron", ["* * * *", "0 * * * * *", "0 0 30 2 *", "61 * * * *", "*" * 129])
def test_a_bad_cron_expression_is_refused_at_its_field(cron: str) -> None:
    assert set(errors(cron_schedule=cron)) == {"cron_schedule"}


@pytest.mark.parametrize("render_type", ["auto", "table", "counter", "metric", "raw"])
def test_the_five_render_types(render_type: str) -> None:
    assert accepted(render_type=render_type).render_type == render_type


@pytest.mark.parametrize("render_type", ["", "AUTO", "pie", "table ", 5, ["auto"], {}])
def test_other_render_types_are_refused(render_type: Any) -> None:
    assert errors(render_type=render_type) == {
        "render_type": "must be one of: auto, table, counter, metric, raw"
    }


@pytest.mark.parametrize("enabled", ["true", "on", 1, 0, "", [], {}])
def test_enabled_is_a_plain_boolean(enabled: Any) -> None:
    assert errors(enabled=enabled) == {"enabled": "must be true or false"}


# --- metric ----------------------------------------------------------------------------------------------


def test_a_metric_may_come_as_json_text() -> None:
    draft = accepted(monitor_metric_config='{"metric_name": "orders", "labels": {"region": "eu"}}')
    assert draft.monitor_metric_config == MetricConfig("orders", {"region": "eu"})
    assert accepted(monitor_metric_config="  ").monitor_metric_config is None
    assert accepted(monitor_metric_config="null").monitor_metric_config is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("5", "must be an object such as"),
        ([], "must be an object such as"),
        (5, "must be an object such as"),
        ({}, "metric_name is missing"),
        ({"metric_name": "up"}, "the metric name “up” is reserved"),
        ({"metric_name": "orders", "labels": {"le": "5"}}, "the label name “le” is reserved"),
    ],
)
def test_a_bad_metric_is_refused_at_its_field(given: Any, words: str) -> None:
    found = errors(monitor_metric_config=given)
    assert set(found) == {"monitor_metric_config"}
    assert words in found["monitor_metric_config"]


def test_the_same_series_twice_is_refused_with_the_name_of_its_owner() -> None:
    taken = MetricConfig("orders", {"region": "eu"})

    def metric_clash(metric: MetricConfig) -> str | None:
        reason = clash(metric, taken)
        return f"the query “Orders of today” already publishes this metric {reason}" if reason else None

    rules = replace(RULES, metric_clash=metric_clash)
    found = errors(
        rules, monitor_metric_config={"metric_name": "orders", "labels": {"region": "eu", "x": ""}}
    )
    message = "the query “Orders of today” already publishes this metric with the same labels"
    assert found == {"monitor_metric_config": message}
    assert accepted(rules, monitor_metric_config={"metric_name": "orders", "labels": {"region": "us"}})


# --- data source -----------------------------------------------------------------------------------------


def test_a_query_that_names_no_source_takes_the_default_one() -> None:
    rules = DraftRules(data_sources={"sales", "stock"}, default_data_source="stock")
    assert accepted(rules).data_source == "stock"
    assert accepted(rules, data_source="sales").data_source == "sales"


def test_without_a_default_it_takes_the_only_one() -> None:
    assert accepted(DraftRules(data_sources=["only"])).data_source == "only"
    assert accepted(DraftRules(data_sources=["only"], default_data_source="gone")).data_source == "only"


def test_without_either_it_is_refused_with_the_names_to_choose_from() -> None:
    rules = DraftRules(data_sources={"stock", "sales"})
    assert errors(rules) == {"data_source": "a data source is needed; there are: sales, stock"}
    assert errors(rules, data_source="shop") == {
        "data_source": "no data source is called “shop”; there are: sales, stock"
    }


def test_without_any_source_it_says_what_to_do() -> None:
    assert errors(DraftRules(data_sources=())) == {
        "data_source": "a data source is needed; there is none yet: add one first"
    }


# --- time zone, time limit, description, tags ------------------------------------------------------------


def test_a_time_zone_must_exist() -> None:
    assert accepted(timezone=" Europe/Berlin ").timezone == "Europe/Berlin"
    assert errors(timezone="europe/berlin") == {
        "timezone": "no time zone is called “europe/berlin”; did you mean Europe/Berlin?"
    }
    assert set(errors(timezone="../../etc/passwd")) == {"timezone"}
    assert set(errors(timezone="")) == {"timezone"}


def test_a_time_limit_is_whole_seconds_up_to_the_maximum() -> None:
    assert accepted(timeout=1).timeout == 1
    assert accepted(timeout=300).timeout == 300
    assert errors(timeout=301) == {"timeout": "must be from 1 to 300 seconds"}
    assert errors(timeout=0) == {"timeout": "must be from 1 to 300 seconds"}
    assert errors(replace(RULES, query_timeout_max=10), timeout=11) == {
        "timeout": "must be from 1 to 10 seconds"
    }


@pytest.mark.parametrize("timeout", ["30", 1.0, True, [], {}])
def test_a_time_limit_of_another_kind_is_refused(timeout: Any) -> None:
    assert errors(timeout=timeout) == {"timeout": "must be a whole number of seconds"}


def test_a_description_has_any_number_of_lines() -> None:
    assert accepted(description=" one\n\ttwo\r\n ").description == "one\n\ttwo"
    assert errors(description="x" * 2_001) == {
        "description": "a description has at most 2,000 characters; this one has 2,001"
    }
    assert errors(description="a\0") == {"description": "must not have a NUL character at position 2"}


def test_tags_are_trimmed_and_each_kept_once() -> None:
    assert accepted(tags=[" shop ", "", "Shop", "daily"]).tags == ("shop", "daily")
    assert accepted(tags="shop, daily,,").tags == ("shop", "daily")


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        (5, "must be a list of texts"),
        ({"a": 1}, "must be a list of texts"),
        ([5], "must be a text"),
        (["x" * 51], "at most 50 characters and no comma"),
        (["a,b"], "the tag “a,b” is not valid"),
        (["a\0"], "must not have a NUL character"),
        ([f"t{n}" for n in range(21)], "at most 20 tags; these are 21"),
    ],
)
def test_bad_tags_are_refused(tags: Any, words: str) -> None:
    assert words in errors(tags=tags)["tags"]


# --- edits -----------------------------------------------------------------------------------------------


def test_an_edit_changes_what_was_sent_and_nothing_else() -> None:
    current = accepted(timeout=60, timezone="Europe/Berlin", tags=["shop"], description="All.")
    assert edited(current=current, name="Orders today") == replace(current, name="Orders today")
    assert edited(current=current) == current


def test_null_resets_time_limit_time_zone_and_metric() -> None:
    current = accepted(timeout=60, timezone="Europe/Berlin", monitor_metric_config={"metric_name": "orders"})
    assert edited(current=current, timeout=None, timezone=None, monitor_metric_config=None) == DRAFT


def test_null_elsewhere_is_refused() -> None:
    found = edited(
        name=None, query=None, cron_schedule=None, enabled=None, render_type=None, data_source=None
    )
    assert found == {
        **dict.fromkeys(("name", "query", "cron_schedule", "data_source"), "must be a text"),
        "enabled": "must be true or false",
        "render_type": "must be one of: auto, table, counter, metric, raw",
    }


def test_an_edit_ignores_unknown_and_read_only_fields() -> None:
    assert edited(id=9, last_executed="2026-11-15 12:00:00", version="x", running=True, nonsense=1) == DRAFT


def test_what_was_read_can_be_sent_back() -> None:
    current = accepted(
        timeout=60, monitor_metric_config={"metric_name": "orders", "labels": {"a": "b"}}, tags=["x"]
    )
    assert edited(current=current, **current.as_json()) == current


def test_an_edit_does_not_look_again_at_fields_that_it_leaves_alone() -> None:
    current = replace(DRAFT, timeout=250, data_source="gone")
    rules = replace(RULES, query_timeout_max=100, objection=lambda sql, source: "forbidden meanwhile")
    assert edited(rules, current, enabled=False) == replace(current, enabled=False)


def test_an_edit_asks_the_guard_when_text_or_source_change() -> None:
    rules = DraftRules(data_sources={"sales", "stock"}, objection=lambda sql, source: f"{sql} on {source}")
    assert edited(rules, query="SELECT 2") == {"query": "SELECT 2 on sales"}
    assert edited(rules, data_source="stock") == {"query": "SELECT 1 on stock"}


def test_a_refused_edit_tells_every_field() -> None:
    assert set(edited(name="", timeout=-1)) == {"name", "timeout"}  # type: ignore[arg-type]


def test_a_stored_query_gives_its_draft() -> None:
    query = Query(id=7, **{name: getattr(DRAFT, name) for name in FIELDS}, last_result="[[1]]", version=3)
    assert draft_of(query) == DRAFT


def test_which_fields_changed() -> None:
    assert changed_fields(DRAFT, DRAFT) == ()
    assert changed_fields(DRAFT, replace(DRAFT, name="x", tags=("a",))) == ("name", "tags")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, False),
        ({"name": "x"}, False),
        ({"query": "SELECT 2"}, False),
        ({"enabled": False}, False),
        ({"cron_schedule": "@daily"}, True),
        ({"timezone": "Europe/Berlin"}, True),
    ],
)
def test_a_changed_schedule_counts_from_now(change: dict[str, Any], expected: bool) -> None:
    assert starts_afresh(DRAFT, replace(DRAFT, **change)) is expected


def test_a_query_that_is_switched_on_counts_from_now() -> None:
    assert starts_afresh(replace(DRAFT, enabled=False), DRAFT)
    assert not starts_afresh(replace(DRAFT, enabled=False), replace(DRAFT, enabled=False, name="x"))


# --- anything at all -------------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters(), max_size=30)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(FIELDS), ANYTHING))
def test_whatever_is_sent_is_stored_or_refused_with_words_that_can_be_shown(given: dict[str, Any]) -> None:
    for found in (check_new({**MINIMAL, **given}, RULES), check_edit(DRAFT, given, RULES)):
        if isinstance(found, Refused):
            assert set(found.errors) <= set(FIELDS)
            assert all(message.isprintable() for message in found.errors.values())
        else:
            "".join((found.name, found.query, found.description, *found.tags)).encode()
            assert check_new(found.as_json(), RULES) == found
