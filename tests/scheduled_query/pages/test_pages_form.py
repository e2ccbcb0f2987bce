"""Between definitions and HTML forms."""

import pytest
from plugbay_scheduled_query.core.draft import Draft, DraftRules, check_edit, check_new
from plugbay_scheduled_query.core.model import ChartConfig, MetricConfig, RenderType
from plugbay_scheduled_query.web.pages.editor import as_form, from_form

RULES = DraftRules(data_sources={"sales"})
SPECIFIED = {
    "name": "Orders",
    "query": "SELECT 1",
    "cron_schedule": "*/5 * * * *",
    "enabled": "on",
    "render_type": "table",
}
FULL = Draft(
    name="Orders",
    query="SELECT 1\nFROM t",
    cron_schedule="@daily",
    enabled=True,
    render_type=RenderType.METRIC,
    metrics=(MetricConfig("orders", {"region": "eu", "query": "a=b, c"}),),
    chart=ChartConfig("bar", "region", ("n",)),
    data_source="sales",
    timezone="Europe/Berlin",
    timeout=60,
    description="All.\nOrders.",
    tags=("shop", "daily"),
)


def test_the_five_specified_fields_make_a_definition() -> None:
    assert check_new(from_form(SPECIFIED), RULES) == Draft(
        name="Orders",
        query="SELECT 1",
        cron_schedule="*/5 * * * *",
        enabled=True,
        render_type=RenderType.TABLE,
        data_source="sales",
    )


def test_a_form_with_the_five_fields_leaves_the_others_as_they_are() -> None:
    edited = check_edit(FULL, from_form(SPECIFIED), RULES)
    assert isinstance(edited, Draft)
    assert (edited.timezone, edited.timeout, edited.tags) == ("Europe/Berlin", 60, ("shop", "daily"))
    assert edited.monitor_metric_config == FULL.monitor_metric_config


def test_a_box_that_is_not_ticked_is_not_sent() -> None:
    assert from_form({})["enabled"] is False
    assert from_form({"enabled": "on"})["enabled"] is True


@pytest.mark.parametrize("value", ["", "0", "false", "off", "No"])
def test_a_box_that_says_no_is_not_ticked(value: str) -> None:
    assert from_form({"enabled": value})["enabled"] is False


def test_empty_fields_reset_what_can_be_reset() -> None:
    sent = from_form(
        {
            "timezone": " ",
            "timeout": "",
            "description": "",
            "tags": "",
            "metric_name": "",
            "metric_labels": "",
        }
    )
    edited = check_edit(FULL, sent, RULES)
    assert isinstance(edited, Draft)
    assert (edited.timezone, edited.timeout, edited.description, edited.tags) == (None, None, "", ())
    assert edited.monitor_metric_config is None


def test_the_empty_choice_of_a_source_is_no_choice() -> None:
    assert "data_source" not in from_form({"data_source": ""})
    assert from_form({"data_source": "sales"})["data_source"] == "sales"


def test_a_time_limit_is_read_as_a_number_if_it_is_one() -> None:
    assert from_form({"timeout": " 60 "})["timeout"] == 60
    assert from_form({"timeout": "1.5"})["timeout"] == "1.5"
    assert from_form({"timeout": "９"})["timeout"] == "９"
    assert from_form({"timeout": "9" * 5_000})["timeout"] == "9" * 5_000


def test_line_breaks_of_browsers_become_plain_ones() -> None:
    assert from_form({"query": "SELECT 1\r\nFROM t\r\n"})["query"] == "SELECT 1\nFROM t\n"


def test_labels_are_one_a_line() -> None:
    sent = from_form({"metric_name": " orders ", "metric_labels": "region=eu\r\n\r\n query = a=b \nempty"})
    assert sent["monitor_metric_config"] == {
        "metric_name": "orders",
        "labels": {"region": "eu", "query": "a=b", "empty": ""},
    }


def test_labels_without_a_name_are_not_lost() -> None:
    assert from_form({"metric_name": "", "metric_labels": "a=b"})["monitor_metric_config"] == {
        "metric_name": "",
        "labels": {"a": "b"},
    }


def test_a_metric_may_be_sent_as_json() -> None:
    sent = from_form({**SPECIFIED, "monitor_metric_config": '{"metric_name": "orders"}'})
    draft = check_new(sent, RULES)
    assert isinstance(draft, Draft)
    assert draft.monitor_metric_config == MetricConfig("orders")


def test_fields_of_the_page_itself_are_left_out() -> None:
    assert set(from_form({"csrf_token": "x", "version": "3", "id": "7", "name": "n"})) == {"name", "enabled"}


def test_a_definition_goes_into_a_form_and_comes_back() -> None:
    assert check_new(from_form(as_form(FULL)), RULES) == FULL
    bare = Draft(name="n", query="SELECT 1", cron_schedule="@daily", enabled=False, data_source="sales")
    assert check_new(from_form(as_form(bare)), RULES) == bare


def test_a_form_shows_every_field_as_text() -> None:
    assert as_form(FULL) == {
        "name": "Orders",
        "query": "SELECT 1\nFROM t",
        "cron_schedule": "@daily",
        "enabled": "on",
        "render_type": "metric",
        "chart": '{"kind": "bar", "x": "region", "y": ["n"]}',
        "data_source": "sales",
        "timezone": "Europe/Berlin",
        "timeout": "60",
        "description": "All.\nOrders.",
        "tags": "shop, daily",
        "metric_name": "orders",
        "metric_labels": "region=eu\nquery=a=b, c",
        "metric_label_columns": "",
        "metric_value_column": "",
        "metric_type": "",
        "metric_help": "",
        "metric_on_failure": "",
    }
