"""Builds the browser assets as the host's package does; an archive of the sources holds them built."""

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HOSTS_HOOK = Path(__file__).resolve().parent.parent / "plugbay" / "hatch_build.py"
MANIFEST = Path("src", "plugbay_ui_tools", "static", "dist", "manifest.json")


class BuiltBefore(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not Path(self.root, MANIFEST).is_file():
            self.app.abort(
                f"The browser assets are not built ({MANIFEST} is missing), and without the host's package "
                "beside this one they cannot be: build in a whole checkout or from a source archive."
            )


def get_build_hook() -> type[BuildHookInterface]:  # type: ignore[type-arg]
    if not HOSTS_HOOK.is_file():
        return BuiltBefore
    spec = importlib.util.spec_from_file_location("plugbay_hatch_build", HOSTS_HOOK)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    hook: type[BuildHookInterface] = module.FrontendHook  # type: ignore[type-arg]
    return hook
