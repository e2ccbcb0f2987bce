import sys
import threading
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from plugbay.plugins import requirements
from plugbay.plugins.requirements import InstallFailed, RequirementRefused, declared, install, missing
from plugbay.private_files import file_lock

UV = Path(sys.executable).with_name("uv")


def write(folder: Path, text: str) -> Path:
    (folder / "requirements.txt").write_text(text)
    return folder


def test_no_file_declares_nothing(tmp_path: Path):
    assert declared(tmp_path) == []


def test_comments_blank_lines_and_continuations_are_understood(tmp_path: Path):
    text = "# needs\n\nfastapi>=0.1  # the web\njinja2 \\\n  >=3\n"
    assert [str(need) for need in declared(write(tmp_path, text))] == ["fastapi>=0.1", "jinja2>=3"]


@pytest.mark.parametrize(
    "line",
    [
        "-r other.txt",
        "--index-url=somewhere",
        "-e .",
        "git+https://host/x",
        "pkg @ https://host/x.whl",
        "./folder",
        "/etc",
        "$(touch x)",
        "a; rm -rf b",
    ],
)
def test_options_addresses_and_worse_are_refused(tmp_path: Path, line: str):
    with pytest.raises(RequirementRefused, match="is refused"):
        declared(write(tmp_path, line))


def test_only_what_is_not_installed_is_missing():
    needs = [Requirement("fastapi"), Requirement("fastapi>999"), Requirement("no-such-package-xyz")]
    assert [str(need) for need in missing(needs)] == ["fastapi>999", "no-such-package-xyz"]


def test_what_is_for_another_system_is_not_missing():
    assert missing([Requirement("no-such-package-xyz; sys_platform == 'amiga'")]) == []


def test_the_installer_gets_an_argument_list_and_its_output_is_passed_on(monkeypatch: pytest.MonkeyPatch):
    code = "import sys; print('looking'); print(sys.argv[-1])"
    monkeypatch.setattr(requirements, "_pip_command", lambda needs: [sys.executable, "-c", code, *needs])
    lines: list[str] = []
    assert install([Requirement("left-pad>=1")], lines.append) == "looking\nleft-pad>=1\n"
    assert lines == ["looking\n", "left-pad>=1\n"]


def test_a_failing_installer_is_a_named_failure(monkeypatch: pytest.MonkeyPatch):
    code = "import sys; print('ERROR: no such thing'); sys.exit(1)"
    monkeypatch.setattr(requirements, "_pip_command", lambda needs: [sys.executable, "-c", code])
    with pytest.raises(InstallFailed, match="Installing left-pad failed: no such thing"):
        install([Requirement("left-pad")])


def write_wheel(folder: Path) -> None:
    parts = {
        "left_pad.py": "",
        "left_pad-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: left-pad\nVersion: 1\n",
        "left_pad-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "left_pad-1.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(folder / "left_pad-1-py3-none-any.whl", "w") as wheel:
        for name, text in parts.items():
            wheel.writestr(name, text)


@pytest.fixture
def without_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another environment, made without pip, as if it were ours."""
    venv.create(tmp_path / "bare", with_pip=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "bare"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare/bin/python"))
    monkeypatch.setattr(requirements, "find_spec", lambda name: None)
    return tmp_path / "bare"


@pytest.mark.skipif(not UV.exists(), reason="uv is not installed beside this Python")
def test_without_pip_uv_installs_into_this_environment(
    without_pip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_wheel(tmp_path)
    variables = {"PATH": UV.parent, "UV_OFFLINE": 1, "UV_NO_INDEX": 1, "UV_FIND_LINKS": tmp_path}
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))
    assert "left-pad==1" in install([Requirement("left-pad>=1")])
    assert list(without_pip.glob("lib/*/site-packages/left_pad.py"))


def test_without_pip_and_uv_the_way_to_pip_is_told(without_pip: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InstallFailed, match=f"has no pip.*: run {without_pip}/bin/python -m ensurepip"):
        install([Requirement("left-pad")])


def test_an_installer_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(requirements, "TIMEOUT_S", 0.2)
    forever = "import signal; signal.pause()"
    monkeypatch.setattr(requirements, "_pip_command", lambda needs: [sys.executable, "-c", forever])
    with pytest.raises(InstallFailed, match="it took more than"):
        install([Requirement("left-pad")])


def test_missing_requirements_are_installed_at_start_before_the_import(
    make_host, tmp_path: Path, monkeypatch
):
    asked: list[str] = []
    monkeypatch.setattr(requirements, "install", lambda needs: asked.extend(map(str, needs)))
    (tmp_path / "plugins/good").mkdir(parents=True)
    make_host("good")
    assert asked == []
    write(tmp_path / "plugins/polite", "no-such-package-xyz>=1\n")
    make_host()
    assert asked == ["no-such-package-xyz>=1"]


def test_with_the_setting_off_they_are_only_listed(make_host, tmp_path: Path):
    folder = tmp_path / "plugins/needy"
    folder.mkdir(parents=True)
    write(folder, "no-such-package-xyz\n")
    (folder / "plugin.py").write_text("import no_such_package_xyz\n")
    plugin = make_host(config={"install_module_requirement_at_start": False}).modules.get("needy")
    assert plugin.missing == ["no-such-package-xyz"]
    assert plugin.reason.endswith("(missing requirements: no-such-package-xyz)")


def test_a_file_with_a_byte_order_mark_is_understood_and_one_that_is_no_text_is_refused(tmp_path: Path):
    (tmp_path / "requirements.txt").write_bytes(b"\xef\xbb\xbffastapi\n")
    assert [str(need) for need in declared(tmp_path)] == ["fastapi"]
    (tmp_path / "requirements.txt").write_bytes(b"\xff\xfe\n")
    with pytest.raises(RequirementRefused):
        declared(tmp_path)


def test_servers_of_one_python_install_one_after_the_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(requirements, "_pip_command", lambda needs: [sys.executable, "-c", "print('done')"])
    installing = threading.Thread(target=install, args=([Requirement("left-pad")],))
    with file_lock(tmp_path):  # as another process would hold it
        waits = threading.Event()
        monkeypatch.setattr("plugbay.private_files.log.info", lambda *args, **facts: waits.set())
        installing.start()
        assert waits.wait(60)
        assert installing.is_alive()
    installing.join(60)
    assert not installing.is_alive()
