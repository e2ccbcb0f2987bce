"""Versioning: rules 1 to 4."""

from importlib.metadata import version

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from plugbay import BaseModule
from specification.asking import details, history


def test_rule_1_the_service_is_at_version_0_1_48(service):
    assert service.host.get_module("scheduled_query").module_version == "0.1.48"
    assert version("plugbay-scheduled-query") == "0.1.48"
    assert "0.1.48" in service.admin.get("/admin/base_module/scheduled_query/overview").text


def test_rule_2_plugin_metadata_carries_module_version_with_its_default():
    assert BaseModule.module_version == "0.0.0"


@pytest.mark.parametrize("name", ["scheduled_query", "task_worker", "ui_tools"])
def test_rule_2_depends_on_maps_plugin_names_to_version_constraints(service, name):
    module = service.host.get_module(name)
    assert Version(module.module_version)
    for needed, constraint in module.depends_on.items():
        assert service.host.get_module(needed).module_version in SpecifierSet(constraint)


@pytest.mark.parametrize(
    ("name", "constraint"),
    [("task_worker", ">=0.3.0"), ("ui_tools", ">=0.0.4")],
    ids=["task_worker", "ui_tools"],
)
def test_rule_3_requirement_on_another_plugin_is_versioned(service, name, constraint):
    assert service.host.get_module("scheduled_query").depends_on[name] == constraint


def test_rule_4_a_client_that_knows_the_specified_fields_alone_still_gets_along(service):
    """Fields were added beside the specified ones: none of them is needed, and none takes another's place."""
    known = {"name": "Old", "query": "SELECT 1 AS one", "cron_schedule": "0 0 1 1 *", "enabled": True}
    metric = {"monitor_metric_config": {"metric_name": "versioning_old", "labels": {}}}
    made = service.editor.post("/api/scheduled-queries", json={**known, **metric}).json()
    service.editor.get(f"/api/run-now/{made['id']}")
    read = details(service, made["id"])
    assert {field: read[field] for field in known} == known
    (item,) = history(service, made["id"])
    assert (item["result"], item["result_key"], item["status"]) == ("[[1]]", ["one"], "success")
