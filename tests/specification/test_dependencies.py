"""Dependencies: the plugins that the service needs, and what it stands on."""

import logging
from importlib.metadata import requires, version

import pytest
from fastapi import FastAPI
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from plugbay import Store
from prometheus_client.parser import text_string_to_metric_families

PLUGINS = [
    pytest.param("task_worker", "plugbay-task-worker", "0.3.0", "0.2.99", id="task_worker"),
    pytest.param("ui_tools", "plugbay-ui-tools", "0.0.4", "0.0.3", id="ui_tools"),
]


@pytest.mark.parametrize(("name", "distribution", "oldest", "too_old"), PLUGINS)
def test_the_service_depends_on_the_plugin_of_at_least_this_version(
    service, name, distribution, oldest, too_old
):
    wanted = SpecifierSet(service.host.get_module("scheduled_query").depends_on[name])
    assert (oldest in wanted, too_old in wanted) == (True, False)
    assert service.host.get_module(name).module_version in wanted


@pytest.mark.parametrize(("name", "distribution", "oldest", "too_old"), PLUGINS)
def test_its_distribution_asks_for_the_same(name, distribution, oldest, too_old):
    needs = {need.name: need.specifier for need in map(Requirement, requires("plugbay-scheduled-query"))}
    assert (oldest in needs[distribution], too_old in needs[distribution]) == (True, False)
    assert version(distribution) in needs[distribution]


def test_there_is_no_other_plugin_that_it_depends_on(service):
    assert set(service.host.get_module("scheduled_query").depends_on) == {"task_worker", "ui_tools"}


def test_a_logging_library_takes_its_lines(service, caplog):
    with caplog.at_level(logging.INFO):
        service.run(service.create(name="Logged")["id"])
    assert "executed query=Logged" in caplog.text


def test_a_metrics_library_reads_its_exposition(service):
    config = {"metric_name": "dependencies_gauge", "labels": {"a": 'quote " and \\ and\nline'}}
    service.run(service.create("SELECT 2.5", monitor_metric_config=config)["id"])
    families = {
        each.name: each for each in text_string_to_metric_families(service.viewer.get("/metrics").text)
    }
    (sample,) = families["dependencies_gauge"].samples
    assert (sample.labels, sample.value) == (config["labels"], 2.5)


def test_a_database_toolkit_keeps_its_records(service):
    assert isinstance(service.host.store, Store)
    assert "sqlalchemy" in {Requirement(line).name for line in requires("plugbay")}


def test_a_web_framework_serves_it(service):
    assert isinstance(service.host.app, FastAPI)
    assert "fastapi" in {Requirement(line).name for line in requires("plugbay")}
