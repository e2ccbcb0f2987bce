"""The four distributions, built as an installer builds them, hold all that they need to run."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
IMPORTED_AS = {
    "plugbay": "plugbay",
    "task_worker": "plugbay_task_worker",
    "ui_tools": "plugbay_ui_tools",
    "scheduled_query": "plugbay_scheduled_query",
}
OURS = pytest.mark.parametrize("name", list(IMPORTED_AS))

Look = Callable[[str], "Wheel"]


class Wheel:
    """A built distribution, and the files it was built from."""

    def __init__(self, name: str, path: Path, source: Path) -> None:
        self.package = IMPORTED_AS[name]
        with ZipFile(path) as archive:
            self.files = {item: archive.read(item) for item in archive.namelist()}
        self.source = {file.relative_to(source).as_posix() for file in source.rglob("*") if file.is_file()}

    def info(self, name: str) -> str:
        (content,) = [data for path, data in self.files.items() if path.endswith(f".dist-info/{name}")]
        return content.decode()

    def assets(self) -> Path:
        return Path(self.package, "static", "dist")


def copy_of_packages(to: Path) -> Path:
    """A tree to build in, so that nothing is written into the one that is worked in."""
    passed_over = shutil.ignore_patterns("node_modules", "__pycache__", ".*_cache")
    shutil.copytree(ROOT / "packages", to / "packages", symlinks=True, ignore=passed_over)
    shutil.copy(ROOT / ".gitignore", to)  # what it names stays out of a wheel, unless it is an artifact
    return to / "packages"


def build(package: Path, to: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(to)]
    return subprocess.run(command, cwd=package, capture_output=True, text=True)


@pytest.fixture(scope="module")
def look(tmp_path_factory: pytest.TempPathFactory) -> Look:
    """Builds a wheel when it is first asked for."""
    packages = copy_of_packages(tmp_path_factory.mktemp("tree"))
    built: dict[str, Wheel] = {}

    def open_wheel(name: str) -> Wheel:
        if name not in built:
            target = tmp_path_factory.mktemp(name)
            done = build(packages / name, target)
            assert done.returncode == 0, done.stderr
            (path,) = target.glob("*.whl")
            built[name] = Wheel(name, path, packages / name / "src")
        return built[name]

    return open_wheel


@OURS
def test_a_wheel_holds_every_file_of_its_package_and_nothing_else(look: Look, name: str):
    wheel = look(name)
    assert {path for path in wheel.files if ".dist-info/" not in path} == wheel.source


@OURS
def test_a_wheel_says_that_it_is_typed(look: Look, name: str):
    assert f"{IMPORTED_AS[name]}/py.typed" in look(name).files


@OURS
def test_a_wheel_carries_our_licence_and_says_what_it_is(look: Look, name: str):
    wheel = look(name)
    assert wheel.info("licenses/LICENSE") == (ROOT / "LICENSE").read_text()
    metadata = wheel.info("METADATA")
    assert "License-Expression: MIT" in metadata
    assert (ROOT / "packages" / name / "README.md").read_text() in metadata


@OURS
def test_a_wheel_brings_its_templates(look: Look, name: str):
    folder = f"{IMPORTED_AS[name]}/templates/{name}/"
    assert [path for path in look(name).files if path.startswith(folder) and path.endswith(".j2")]


@pytest.mark.parametrize(
    ("name", "folder"),
    [("plugbay", "store/migrations"), ("task_worker", "migrations"), ("scheduled_query", "migrations")],
)
def test_a_wheel_brings_the_migrations_of_its_tables(look: Look, name: str, folder: str):
    versions = f"{IMPORTED_AS[name]}/{folder}/versions/"
    assert [path for path in look(name).files if path.startswith(versions)]


@pytest.mark.parametrize("name", ["plugbay", "ui_tools"])
def test_a_wheel_brings_the_built_assets_that_its_manifest_names_and_their_licences(look: Look, name: str):
    wheel = look(name)
    manifest = json.loads(wheel.files[(wheel.assets() / "manifest.json").as_posix()])
    assert manifest
    for file in [*manifest.values(), "THIRD_PARTY_LICENSES.txt"]:
        assert wheel.files[(wheel.assets() / file).as_posix()]


def test_scheduled_query_brings_its_scripts(look: Look):
    static = [path for path in look("scheduled_query").files if "/static/" in path]
    assert [path for path in static if path.endswith(".js")]


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("plugbay", ["plugbay = plugbay.cli:main"]),
        ("task_worker", ["task_worker = plugbay_task_worker.plugin:TaskWorker", "worker ="]),
        ("ui_tools", ["ui_tools = plugbay_ui_tools.plugin:UiTools"]),
        ("scheduled_query", ["scheduled_query = plugbay_scheduled_query.plugin:", "cron =", "queries ="]),
    ],
)
def test_a_wheel_announces_its_plugin_and_commands(look: Look, name: str, entries: list[str]):
    announced = look(name).info("entry_points.txt")
    assert [entry for entry in entries if entry not in announced] == []


def test_ui_tools_away_from_the_host_is_built_with_the_assets_it_has(tmp_path: Path):
    alone = copy_of_packages(tmp_path) / "ui_tools"
    shutil.rmtree(alone.parent / "plugbay")
    assert build(alone, tmp_path / "with").returncode == 0

    shutil.rmtree(alone / "src/plugbay_ui_tools/static/dist")
    done = build(alone, tmp_path / "without")
    assert done.returncode == 1
    assert "The browser assets are not built" in done.stderr
    assert not list(tmp_path.glob("without/*.whl"))
