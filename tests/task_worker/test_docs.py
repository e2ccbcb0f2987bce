"""docs/task-worker.md keeps its promises: its examples run, and it names all there is."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes import FakeClock
from fastapi.testclient import TestClient
from plugbay import Plugbay
from plugbay_task_worker.engine import EngineStats
from plugbay_task_worker.metrics import metrics_text
from plugbay_task_worker.plugin import TaskWorkerSettings
from servers import environment
from task_worker.world import PATIENCE_S

PAGE = (Path(__file__).parents[2] / "docs/task-worker.md").read_text()
SHOP, PARCELS, TEST = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def documented(tmp_path: Path, make_host: Callable[..., Plugbay]) -> Plugbay:
    """A host with the two plugins of the page."""
    for name, code in (("shop", SHOP), ("parcels", PARCELS)):
        folder = tmp_path / "plugins" / name
        folder.mkdir(parents=True)
        (folder / "plugin.py").write_text(code)
    return make_host()


def test_the_page_shows_how_to_test_a_task_that_ticks(tmp_path: Path) -> None:
    folder = tmp_path / "plugins/shop"
    folder.mkdir(parents=True)
    (folder / "plugin.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    variables = environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert "1 passed" in done.stdout, done.stdout


def test_the_jobs_of_the_page_are_done(documented: Plugbay, clock: FakeClock) -> None:
    parcels, engine = documented.get_module("parcels"), documented.get_module("task_worker").engine
    with TestClient(documented.app):
        parcels.send_all([1, 2, 3])
        assert engine.wait_idle(PATIENCE_S)
        parcels.send_later(4, 30)
        clock.advance(30)
        engine.run_due()
        assert engine.wait_idle(PATIENCE_S)
        engine.stop(0)
        parcels.send_now(5)

    assert sorted(parcels.sent) == [1, 2, 3, 4]
    assert parcels.handed_back == [5]


def test_a_disabled_plugin_takes_its_task_along(documented: Plugbay) -> None:
    engine = documented.get_module("task_worker").engine
    assert [task.name for task in engine.stats().tasks] == ["count_stock"]
    documented.modules.disable("shop")
    assert engine.stats().tasks == ()


@pytest.mark.parametrize("field", TaskWorkerSettings.model_fields)
def test_every_setting_is_documented_with_its_default_and_variable(field: str) -> None:
    default = TaskWorkerSettings.model_fields[field].default
    assert f"| `{field}` | `TASK_WORKER_{field.upper()}` | {default} |" in PAGE


def test_every_metric_is_documented(stats: EngineStats) -> None:
    families = re.findall(r"^# TYPE (\S+)", metrics_text(stats), re.MULTILINE)
    assert set(families) == set(re.findall(r"^\| `(plugbay_\w+)`", PAGE, re.MULTILINE))
