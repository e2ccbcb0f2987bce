"""A new dialect is one folder, imported and listed: nothing else has to know of it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import plugbay_scheduled_query
import pytest

TESTS = Path(__file__).parents[2]
USES_IT = """
import json, sys
from pathlib import Path
import plugbay_scheduled_query
from scheduled_query.api.conftest import running_service

with running_service(Path(sys.argv[1])) as service:
    empty = service.admin.get("/scheduled_query/sources/add").text
    given = {"name": "teahouse", "url": f"chai:///{service.shop}"}
    added = service.admin.post("/api/data-sources", json=given).json()
    tested = service.admin.post(f"/api/data-sources/{added['id']}/test").json()
    query = service.create("SELECT sum(total) FROM orders", data_source="teahouse")
    bad = {"name": "bad", "query": "PRAGMA user_version(3)", "cron_schedule": "@daily"}
    refused = service.editor.post("/api/scheduled-queries", json={**bad, "data_source": "teahouse"})
    print(json.dumps({
        "package": plugbay_scheduled_query.__file__,
        "form": empty,
        "added": added,
        "tested": tested,
        "ran": service.run(query["id"]),
        "refused": refused.status_code,
        "editor": service.editor.get(f"/scheduled_query/edit/{query['id']}").text,
    }))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What a service shows whose package has one more folder among its dialects."""
    place = tmp_path_factory.mktemp("package")
    package = place / "plugbay_scheduled_query"
    shutil.copytree(Path(plugbay_scheduled_query.__file__).parent, package)
    shutil.copytree(Path(__file__).parent / "tea", package / "dialects/tea")
    _list_it(package / "dialects/__init__.py")
    path = os.pathsep.join(map(str, (place, TESTS)))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PLUGBAY_")}
    answer = subprocess.run(
        [sys.executable, "-c", USES_IT, str(place / "service")],
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    assert Path(found["package"]).parent == package
    return found


def _list_it(file: Path) -> None:
    text = file.read_text()
    listed = text.replace(
        "from plugbay_scheduled_query.dialects.sqlite import SQLITE\n",
        "from plugbay_scheduled_query.dialects.sqlite import SQLITE\n"
        "from plugbay_scheduled_query.dialects.tea import TEA\n",
    ).replace("    DUCKDB,\n)", "    DUCKDB,\n    TEA,\n)")
    assert listed.count("TEA") == 2
    file.write_text(listed)


def test_its_urls_make_sources_of_it(seen: Mapping[str, Any]):
    assert seen["added"]["dialect"] == "tea"
    assert seen["tested"]["server"] == "Tea 1.0, opened read-only"


def test_a_query_runs_on_it_from_end_to_end(seen: Mapping[str, Any]):
    assert seen["ran"]["status"] == "success", seen["ran"]
    assert seen["ran"]["execution"]["result"] == "[[8.25]]"


def test_its_guard_stands_before_it(seen: Mapping[str, Any]):
    assert seen["refused"] == 422


def test_the_editor_on_the_page_is_told_what_to_call_its_sql(seen: Mapping[str, Any]):
    [option] = [line for line in seen["editor"].split("<option") if ">teahouse (tea)" in line]
    assert 'data-dialect="mssql"' in option


def test_the_form_of_a_source_shows_how_its_urls_look(seen: Mapping[str, Any]):
    assert "<code>tea:////srv/shop.tea</code>" in seen["form"]
