"""Installing requirements: the output is there for all who look, as it comes."""

import sys
import threading
import zipfile
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from plugbay import FlashMessage, Plugbay
from plugbay.plugins import requirements
from plugbay.plugins.requirements import Installation, Installations

PAGE = "/admin/base_module/needy/install-requirements"


@pytest.fixture
def needy(make_host, tmp_path: Path) -> Plugbay:
    folder = tmp_path / "plugins/needy"
    folder.mkdir(parents=True)
    (folder / "requirements.txt").write_text("no-such-package-xyz>=2\n")
    (folder / "plugin.py").write_text("import no_such_package_xyz\n")
    return make_host(config={"install_module_requirement_at_start": False})


@pytest.fixture
def client(needy: Plugbay, client_of) -> TestClient:
    return client_of(needy)


def installer(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Puts a program of ours in the place of pip."""
    monkeypatch.setattr(requirements, "_pip_command", lambda needs: [sys.executable, "-c", code, *needs])


def test_nothing_to_install_is_said_so_on_the_page_before(make_host, client_of):
    client = client_of(make_host("good"))
    headers = {"referer": "http://testserver/admin/base_module/greeter/overview"}
    response = client.post("/admin/base_module/greeter/install-requirements", headers=headers)
    assert (response.status_code, response.headers["location"]) == (
        303,
        "/admin/base_module/greeter/overview",
    )
    assert "greeter has all that it needs." in client.get("/admin/plugins").text


def test_a_refused_requirement_is_said_so_on_the_page_before(
    needy: Plugbay, client: TestClient, tmp_path: Path
):
    (tmp_path / "plugins/needy/requirements.txt").write_text("--index-url=<elsewhere>\n")
    response = client.post(PAGE)
    assert (response.status_code, response.headers["location"]) == (303, "/admin/plugins")
    page = client.get("/admin/plugins").text
    assert "is refused: options for the installer are not allowed." in page
    assert "&lt;elsewhere&gt;" in page


def test_the_page_shows_output_and_end(client: TestClient, monkeypatch: pytest.MonkeyPatch):
    installer(monkeypatch, "import sys; print('looking for <b>', sys.argv[1])")
    response = client.post(PAGE)
    assert (response.status_code, response.headers["location"]) == (303, PAGE)
    page = client.get(PAGE).text
    assert "looking for &lt;b&gt; no-such-package-xyz&gt;=2" in page
    assert "Installed for needy: no-such-package-xyz&gt;=2. Reload to use it." in page
    assert page.rstrip().endswith("</html>")


def test_a_failed_installation_says_why(client: TestClient, monkeypatch: pytest.MonkeyPatch):
    installer(monkeypatch, "print('ERROR: no <such> thing'); raise SystemExit(1)")
    client.post(PAGE)
    page = client.get(PAGE).text
    assert "Installing no-such-package-xyz&gt;=2 failed: no &lt;such&gt; thing." in page
    assert "text-danger" in page


def test_the_real_installer_installs_what_a_plugin_needs(
    needy: Plugbay, client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    wheels, target = tmp_path / "wheels", tmp_path / "site"
    write_wheel(wheels, "no_such_package_xyz", "2.1")
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": wheels, "TARGET": target}.items():
        monkeypatch.setenv(f"PIP_{name}", str(value))
    client.post(PAGE)
    page = client.get(PAGE).text
    assert "Successfully installed no-such-package-xyz-2.1" in page
    assert "Installed for needy" in page
    assert (target / "no_such_package_xyz.py").is_file()


def test_without_an_installation_the_page_says_so(client: TestClient):
    assert "Nothing was installed since the server started" in client.get(PAGE).text


def test_the_output_is_sent_as_it_comes(needy: Plugbay):
    go_on = threading.Event()

    def install(on_line) -> FlashMessage:
        on_line("first\n")
        assert go_on.wait(60)
        on_line("second\n")
        return FlashMessage("done")

    installation = Installation(install).start()
    template = needy.templates.env.from_string(
        "<pre>{% for line in i.output() %}{{ line }}{% endfor %}</pre>{{ i.result.text }}"
    )
    parts = template.generate(i=installation)
    assert [next(parts), next(parts)] == ["<pre>", "first\n"]
    assert installation.result is None
    go_on.set()
    assert "".join(parts) == "second\n</pre>done"


def test_a_late_visitor_sees_all_of_it():
    installation = Installation(lambda on_line: (on_line("one\n"), FlashMessage("done"))[1]).start()
    assert list(installation.output()) == ["one\n"]
    assert list(installation.output()) == ["one\n"]


def test_an_installer_that_cannot_be_run_ends_with_a_message():
    def broken(on_line) -> FlashMessage:
        raise OSError("no such program")

    installation = Installation(broken).start()
    assert list(installation.output()) == []
    assert installation.result == FlashMessage("The installer could not be run: no such program", "error")


def test_endless_output_is_cut():
    def chatty(on_line) -> FlashMessage:
        for _ in range(6_000):
            on_line("x\n")
        return FlashMessage("done")

    assert len(list(Installation(chatty).start().output())) == 5_000


def test_a_plugin_has_one_installation_at_a_time_and_then_another():
    go_on, started = threading.Event(), []

    def install(on_line) -> FlashMessage:
        started.append(1)
        assert go_on.wait(60)
        return FlashMessage("done")

    installations = Installations()
    installations.start("needy", install)
    first = installations.latest("needy")
    installations.start("needy", install)
    assert installations.latest("needy") is first
    go_on.set()
    assert list(first.output()) == []
    installations.start("needy", install)
    assert list(installations.latest("needy").output()) == []
    assert len(started) == 2


def write_wheel(folder: Path, name: str, version: str) -> None:
    """A wheel with one empty module in it."""
    folder.mkdir()
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
