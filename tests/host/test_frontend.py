"""What the built front end promises to the pages."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DIST = ROOT / "packages/plugbay/src/plugbay/static/dist"
ICONS = set((ROOT / "packages/plugbay/frontend/src/icons.txt").read_text().split())
OURS = [*ROOT.glob("packages/*/src/**/*.j2"), *ROOT.glob("packages/*/src/**/*.py")]
PAGE_BUDGET = 150_000  # bytes that a first visit fetches, compressed as over plain http


def manifest(package: str) -> dict[str, Path]:
    dist = next((ROOT / "packages" / package / "src").glob("*/static/dist"))
    return {name: dist / built for name, built in json.loads((dist / "manifest.json").read_text()).items()}


def sent_size(path: Path) -> int:
    packed = path.with_name(f"{path.name}.gz")
    return (packed if packed.exists() else path).stat().st_size


def test_our_own_pages_show_only_icons_of_the_small_font():
    used = {
        (name, path.name) for path in OURS for name in re.findall(r"\bfa-([a-z][a-z0-9-]+)", path.read_text())
    }
    unknown = sorted((name, file) for name, file in used if name not in ICONS | {"spin", "solid"})
    assert unknown == [], "add them to packages/plugbay/frontend/src/icons.txt"


def test_a_first_visit_stays_within_its_budget():
    host, tools = manifest("plugbay"), manifest("ui_tools")
    fonts = [host[f"{name}.woff2"] for name in ("inter", "icons", "jetbrains-mono")]
    code = [
        host["app.css"],
        host["app.js"],
        host["theme.js"],
        host["favicon.svg"],
        tools["ui.css"],
        tools["ui.js"],
    ]
    assert sum(map(sent_size, fonts + code)) < PAGE_BUDGET


@pytest.mark.parametrize("package", ["plugbay", "ui_tools"])
def test_every_built_file_carries_the_hash_of_its_content(package: str):
    for plain, path in manifest(package).items():
        stem, ending = plain.rsplit(".", 1)
        assert re.fullmatch(rf"{re.escape(stem)}-[A-Z0-9]{{8}}\.{ending}", path.name)
        assert path.is_file()


@pytest.mark.parametrize(
    ("package", "names"),
    [
        (
            "plugbay",
            ["@tabler/core", "htmx.org", "swagger-ui-dist", "@fortawesome/fontawesome-free", "inter"],
        ),
        ("ui_tools", ["uplot", "@codemirror/view", "sql-formatter"]),
    ],
)
def test_the_licences_of_what_is_bundled_travel_with_it(package: str, names: list[str]):
    text = next(
        (ROOT / "packages" / package / "src").glob("*/static/dist/THIRD_PARTY_LICENSES.txt")
    ).read_text()
    for name in names:
        assert name in text


@pytest.mark.parametrize("package", ["plugbay", "ui_tools"])
def test_nothing_is_loaded_from_elsewhere(package: str):
    for path in manifest(package).values():
        if path.suffix == ".css":
            assert not re.search(r"url\(\s*[\"']?(https?:)?//", path.read_text())


@pytest.mark.parametrize("lock", sorted(ROOT.glob("packages/*/frontend/package-lock.json")), ids=str)
def test_a_lock_names_hashes_and_no_address(lock: Path):
    packages = json.loads(lock.read_text())["packages"]
    assert all("resolved" not in entry for entry in packages.values())
    assert all(entry.get("integrity", "").startswith("sha512-") for name, entry in packages.items() if name)


def test_the_style_sheet_kept_what_pages_use_of_tabler():
    css = manifest("plugbay")["app.css"].read_text()
    for name in (
        ".btn-primary",
        ".card-header",
        ".form-select",
        ".table-vcenter",
        ".pagination",
        ".badge",
        ".alert",
    ):
        assert name in css, name
    for name in (".carousel", ".offcanvas", "-facebook"):
        assert name not in css, name
