"""Plugin management routes: method, path, role and purpose of each."""

import shutil
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from plugbay import Plugbay
from scheduled_query.pages.reading import read

LIST = "/admin/plugins"
ROUTES = [
    ("GET", "/admin/plugins"),
    ("GET", "/admin/base_module/{plugin_name}/overview"),
    ("GET", "/admin/base_module/{plugin_name}/settings"),
    ("POST", "/admin/plugins/{plugin_name}/toggle"),
    ("POST", "/admin/base_module/{plugin_name}/install-requirements"),
    ("POST", "/admin/base_module/{plugin_name}/remove"),
    ("POST", "/admin/reload"),
    ("POST", "/admin/restart"),
    ("POST", "/admin/restart/force"),
]
each_route = pytest.mark.parametrize(
    ("method", "path"), ROUTES, ids=[f"{method}_{path.split('/', 2)[2]}" for method, path in ROUTES]
)
SAMPLES = Path(__file__).parents[1] / "plugins/good"


@pytest.fixture(scope="module")
def service(run_service, tmp_path_factory):
    """A host with two plugins in its folder beside the installed ones; polite needs greeter."""
    folder = tmp_path_factory.mktemp("service")
    shutil.copytree(SAMPLES, folder / "plugins")
    with run_service(folder) as running:
        yield running


@pytest.fixture(scope="module")
def elsewhere(quiet: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugbay]:
    """A host whose admin pages stand elsewhere."""
    host = Plugbay(FastAPI(), tmp_path_factory.mktemp("else"), config={"admin_base_url": "/back/stage"})
    yield host
    host.modules.unload_all()
    host.store.close()


def served(host: Plugbay) -> set[tuple[str, str]]:
    """Method and path of each route of the host itself."""
    return {(method, route.path) for route in host.modules.routes_of("plugbay") for method in route.methods}


def states(service) -> dict[str, str]:
    """What the list says about each plugin."""
    rows = read(service.admin.get(LIST).text).first("tbody").all("tr")
    return {row.first("a").text: row.all("td")[2].text for row in rows}


@each_route
def test_route_exists_with_its_method(service, method, path):
    assert (method, path) in served(service.host)


@each_route
@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_route_requires_the_admin_role(service, method, path, role):
    answer = getattr(service, role).request(method, path.format(plugin_name="polite"))
    assert answer.status_code == 403
    assert service.host.modules.is_module_loaded("polite")


@each_route
def test_route_requires_authentication(service, method, path):
    answer = service.client().request(method, path.format(plugin_name="polite"))
    assert answer.status_code == (303 if method == "GET" else 401)


@each_route
def test_prefix_follows_admin_base_url(elsewhere, method, path):
    assert (method, path.replace("/admin", "/back/stage")) in served(elsewhere)
    assert (method, path) not in served(elsewhere)


@each_route
def test_route_is_html_and_not_part_of_the_json_api(service, method, path):
    assert path not in service.host.app.openapi()["paths"]


def test_there_is_no_admin_api(service):
    assert not [path for _, path in served(service.host) if path.startswith("/admin/api")]
    for path in ("/admin/api", "/admin/api/plugins"):
        assert service.admin.get(path).status_code == 404


# what each is for


def test_get_plugins_lists_plugins_with_action_buttons(service):
    page = read(service.admin.get(LIST).text)
    assert set(states(service)) == {"greeter", "polite", "scheduled_query", "task_worker", "ui_tools"}
    for name in states(service):
        assert page.first("form", action=f"/admin/plugins/{name}/toggle").all("button")
        assert page.first("form", action=f"/admin/base_module/{name}/install-requirements").all("button")
        assert page.first("a", href=f"/admin/base_module/{name}/overview?confirm=remove#remove")
    for action in ("/admin/reload", "/admin/restart", "/admin/restart/force"):
        assert page.first("form", action=action).all("button")


def test_get_overview_is_the_detail_page_of_one_plugin(service):
    page = read(service.admin.get("/admin/base_module/scheduled_query/overview").text)
    assert "scheduled_query" in page.first("h1").text
    for words in ("0.1.48", "task_worker", ">=0.3.0", "ui_tools", ">=0.0.4", "/scheduled_query/dashboard"):
        assert words in page.text


def test_get_settings_is_the_settings_form_of_one_plugin(service):
    page = read(service.admin.get("/admin/base_module/greeter/settings").text)
    assert {"greeting": "Hello", "times": "1"}.items() <= page.first("form", method="post").fields().items()


def test_post_toggle_disables_and_enables_a_plugin(service):
    seen = []
    for _ in range(2):
        answer = service.admin.post("/admin/plugins/polite/toggle")
        assert (answer.status_code, answer.headers["location"]) == (303, LIST)
        seen.append((states(service)["polite"], service.host.modules.is_module_loaded("polite")))
    assert seen == [("disabled", False), ("loaded", True)]


@pytest.fixture
def needs_a_package(service, tmp_path, monkeypatch) -> Iterator[Path]:
    """Makes polite require a package that only a folder of ours has; what pip installs comes to the path."""
    info = "spec_needed-2.0.dist-info"
    with zipfile.ZipFile(tmp_path / "spec_needed-2.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("spec_needed.py", "")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: spec_needed\nVersion: 2.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": tmp_path, "TARGET": tmp_path / "installed"}.items():
        monkeypatch.setenv(f"PIP_{name}", str(value))
    declared = service.host.path_plugins / "polite/requirements.txt"
    declared.write_text("spec_needed>=2\n")
    yield tmp_path / "installed"
    declared.unlink()


def test_post_install_requirements_installs_the_plugins_requirements(service, needs_a_package):
    path = "/admin/base_module/polite/install-requirements"
    answer = service.admin.post(path)
    assert (answer.status_code, answer.headers["location"]) == (303, path)
    assert "Installed for polite: spec_needed&gt;=2." in service.admin.get(path).text
    assert (needs_a_package / "spec_needed.py").is_file()


def test_post_remove_disables_and_deletes_a_plugin(service):
    folder = service.host.path_plugins
    shutil.copytree(folder / "polite", folder / "doomed")
    service.admin.post("/admin/reload")
    assert states(service)["doomed"] == "loaded"
    answer = service.admin.post("/admin/base_module/doomed/remove")
    assert (answer.status_code, answer.headers["location"]) == (303, LIST)
    assert not (folder / "doomed").exists()
    assert not service.host.modules.is_module_loaded("doomed")
    assert "doomed" not in states(service)


def test_post_reload_reloads_the_framework(service):
    before = service.host.get_module("polite")
    answer = service.admin.post("/admin/reload")
    assert (answer.status_code, answer.headers["location"]) == (303, LIST)
    assert service.host.get_module("polite") is not before
    assert set(states(service).values()) == {"loaded"}


@pytest.mark.parametrize(("path", "force"), [("/admin/restart", False), ("/admin/restart/force", True)])
def test_post_restart_restarts_the_application(service, path, force):
    stopped, restarter = threading.Event(), service.host.restarter
    restarter.after_stop, restarter.is_requested, restarter.is_forced = lambda: None, False, False
    restarter.stop_server = lambda forced: stopped.set()
    answer = service.admin.post(path)
    assert (answer.status_code, answer.headers["location"]) == (303, LIST)
    assert stopped.wait(60)
    assert (restarter.is_requested, restarter.is_forced) == (True, force)
