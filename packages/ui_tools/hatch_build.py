"""Builds the browser assets as the host's package does; an archive of the sources holds them built."""

import importlib.util
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HOSTS_HOOK = Path(__file__).resolve().parent.parent / "plugbay" / "hatch_build.py"


def get_build_hook() -> type[BuildHookInterface]:  # type: ignore[type-arg]
    if not HOSTS_HOOK.is_file():
        return BuildHookInterface
    spec = importlib.util.spec_from_file_location("plugbay_hatch_build", HOSTS_HOOK)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    hook: type[BuildHookInterface] = module.FrontendHook  # type: ignore[type-arg]
    return hook
