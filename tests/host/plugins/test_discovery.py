from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from plugbay.errors import PluginRefused
from plugbay.plugins.discovery import (
    PluginSource,
    find_in_folder,
    find_installed,
    import_plugin,
    is_valid_name,
    unimport_plugin,
)

CODE = "from plugbay import BaseModule\nclass {name}(BaseModule):\n    def on_load(self): pass\n"


def write(folder: Path, name: str, code: str) -> PluginSource:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(code)
    return PluginSource(folder.name, "plugin", folder=folder)


def test_a_folder_that_does_not_exist_has_no_plugins(tmp_path: Path):
    assert find_in_folder(tmp_path / "nothing", "plugin") == []


def test_a_plugin_is_a_folder_with_plugin_py_or_init_py(tmp_path: Path):
    write(tmp_path / "one", "plugin.py", "")
    write(tmp_path / "two", "__init__.py", "")
    write(tmp_path / "notes", "readme.txt", "")
    write(tmp_path / ".hidden", "plugin.py", "")
    write(tmp_path / "__pycache__", "plugin.py", "")
    (tmp_path / "file.py").write_text("")
    assert [source.name for source in find_in_folder(tmp_path, "plugin")] == ["one", "two"]


def test_a_symlinked_folder_is_a_plugin_too(tmp_path: Path):
    write(tmp_path / "elsewhere/real", "plugin.py", "")
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins/linked").symlink_to(tmp_path / "elsewhere/real")
    assert [source.name for source in find_in_folder(tmp_path / "plugins", "plugin")] == ["linked"]


@pytest.mark.parametrize("name", ["a" * 41, "..", "../x", "a/b", "Upper", "1st", "a-b", "", "ä", "a\n"])
def test_names_that_could_mean_something_else_are_not_valid(name: str):
    assert not is_valid_name(name)


def test_a_plugin_may_consist_of_several_files_that_import_each_other(tmp_path: Path):
    write(tmp_path / "many", "__init__.py", "shared = 7\n")
    write(tmp_path / "many", "numbers.py", "from . import shared\nanswer = shared * 6\n")
    source = write(tmp_path / "many", "plugin.py", "from .numbers import answer\n" + CODE.format(name="Many"))
    assert import_plugin(source).__name__ == "Many"


def test_un_importing_makes_the_next_import_read_the_code_anew(tmp_path: Path):
    source = write(tmp_path / "changing", "plugin.py", CODE.format(name="Before"))
    first = import_plugin(source)
    unimport_plugin(source)
    write(tmp_path / "changing", "plugin.py", CODE.format(name="AfterAll"))
    assert (first.__name__, import_plugin(source).__name__) == ("Before", "AfterAll")


def test_a_failed_import_leaves_nothing_behind(tmp_path: Path):
    source = write(tmp_path / "broken", "plugin.py", "import json\nraise ValueError('no')")
    with pytest.raises(ValueError, match="no"):
        import_plugin(source)
    write(tmp_path / "broken", "plugin.py", CODE.format(name="Mended"))
    assert import_plugin(source).__name__ == "Mended"


def test_two_classes_are_one_too_many(tmp_path: Path):
    source = write(tmp_path / "twins", "plugin.py", CODE.format(name="One") + CODE.format(name="Two"))
    with pytest.raises(PluginRefused, match=r"exactly one subclass of .*; found: One, Two"):
        import_plugin(source)


def test_a_private_base_class_of_ones_own_is_fine(tmp_path: Path):
    source = write(tmp_path / "family", "plugin.py", CODE.format(name="_Base") + "class Child(_Base): pass\n")
    assert import_plugin(source).__name__ == "Child"


def test_an_imported_base_class_does_not_count(tmp_path: Path):
    write(tmp_path / "heir", "base.py", CODE.format(name="Base"))
    source = write(tmp_path / "heir", "plugin.py", "from .base import Base\nclass Heir(Base): pass\n")
    assert import_plugin(source).__name__ == "Heir"


def test_a_class_without_on_load_is_refused_and_told_so(tmp_path: Path):
    code = "from plugbay import BaseModule\nclass Lazy(BaseModule): pass\n"
    with pytest.raises(PluginRefused, match=r"the class Lazy does not implement on_load\(\)"):
        import_plugin(write(tmp_path / "lazy", "plugin.py", code))


def test_an_entry_point_that_leads_elsewhere_is_refused():
    source = PluginSource("odd", "package", entry_point=EntryPoint("odd", "json:loads", "plugbay.plugins"))
    with pytest.raises(PluginRefused, match="does not lead to a subclass"):
        import_plugin(source)


def test_installed_packages_are_found_by_their_entry_points():
    found = {source.name: source.distribution for source in find_installed()}
    assert found["task_worker"] == "plugbay-task-worker"


def test_a_folder_that_cannot_be_looked_into_keeps_no_others_from_being_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    deep = tmp_path
    while len(str(deep)) < 3900:  # a path may have 4,095 bytes: in the long folder below there is no room
        deep = deep / ("d" * min(200, 3999 - len(str(deep))))
    write(deep / "fine", "plugin.py", CODE.format(name="Fine"))
    (deep / ("a" * (4090 - len(str(deep)) - 1))).mkdir()
    assert [source.name for source in find_in_folder(deep, "plugin")] == ["fine"]
    assert "folder_unreadable" in caplog.text


def test_a_file_in_the_place_of_the_folder_holds_no_plugin(tmp_path: Path):
    (tmp_path / "plugins").write_text("")
    assert find_in_folder(tmp_path / "plugins", "plugin") == []
