"""What a plugin's requirements.txt declares and this Python lacks, and the installer with its output."""

import importlib
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from plugbay.errors import PlugbayError
from plugbay.logs import get_logger
from plugbay.private_files import file_lock
from plugbay.web import FlashMessage

TIMEOUT_S = (
    600  # large wheels over a slow line take minutes; a hung registry must not hold the start for ever
)
OUTPUT_LIMIT = 100_000  # characters kept of the installer's output
MAX_LINES = 5_000  # an installer that says more than this says nothing new

Install = Callable[[Callable[[str], None]], FlashMessage]

log = get_logger(__name__)
_one_at_a_time = threading.Lock()


class RequirementRefused(PlugbayError):
    """The requirement {line!r} is refused: {reason}."""


class InstallFailed(PlugbayError):
    """Installing {names} failed: {reason}."""


def declared(folder: Path) -> list[Requirement]:
    """The requirements of the plugin in this folder; option lines, URLs and VCS references are refused."""
    file = folder / "requirements.txt"
    if not file.is_file():
        return []
    text = file.read_text(encoding="utf-8-sig", errors="replace").replace("\\\n", " ")
    lines = (re.sub(r"(^|\s)#.*$", "", line).strip() for line in text.splitlines())
    return [_parse(line) for line in lines if line]


def missing(requirements: Iterable[Requirement]) -> list[Requirement]:
    """Those that are not installed in a version that satisfies them."""
    return [need for need in requirements if _applies(need) and not _is_installed(need)]


def install(requirements: list[Requirement], on_line: Callable[[str], None] | None = None) -> str:
    """Installs them, one plugin at a time; returns the output, passing on each line as it comes."""
    names = ", ".join(map(str, requirements))
    with _one_at_a_time, file_lock(Path(sys.prefix)):  # the servers of this Python take turns
        log.info("installing_requirements", requirements=names)
        process = subprocess.Popen(
            _pip_command([str(need) for need in requirements]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        watchdog = threading.Timer(TIMEOUT_S, process.kill)
        watchdog.start()
        try:
            output = _read_lines(process, on_line or (lambda line: None))
            status = process.wait()
        finally:
            watchdog.cancel()
            importlib.invalidate_caches()
    if status:
        reason = f"it took more than {TIMEOUT_S} s" if status < 0 else _last_line(output)
        raise InstallFailed(names=names, reason=reason, output=output)
    return output


def _parse(line: str) -> Requirement:
    if line.startswith("-"):
        raise RequirementRefused(line=line, reason="options for the installer are not allowed")
    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        reason = "it is not a name with an optional version constraint (PEP 508)"
        raise RequirementRefused(line=line, reason=reason) from None
    if requirement.url:
        raise RequirementRefused(line=line, reason="addresses and VCS references are not allowed")
    return requirement


def _applies(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate()


def _is_installed(requirement: Requirement) -> bool:
    try:
        return requirement.specifier.contains(version(requirement.name), prereleases=True)
    except PackageNotFoundError:
        return False


def _pip_command(requirements: list[str]) -> list[str]:
    """Of pip or, in an environment without it, as uv makes them, of uv."""
    if find_spec("pip"):
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        return [*pip, "--", *requirements]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable, "--", *requirements]
    reason = f"this Python has no pip, and there is no uv: run {sys.executable} -m ensurepip"
    raise InstallFailed(names=", ".join(requirements), reason=reason)


def _read_lines(process: "subprocess.Popen[str]", on_line: Callable[[str], None]) -> str:
    assert process.stdout
    lines: list[str] = []
    with process.stdout as stream:
        for line in stream:
            lines.append(line)
            on_line(line)
    return "".join(lines)[-OUTPUT_LIMIT:]


def _last_line(output: str) -> str:
    errors = [line for line in output.splitlines() if line.startswith("ERROR")]
    return (errors or output.splitlines() or ["the installer said nothing"])[-1].removeprefix("ERROR: ")


class Installation:
    """Runs `install` in a thread of its own and keeps what it says."""

    def __init__(self, install: Install) -> None:
        self._install = install
        self._lines: list[str] = []
        self._news = threading.Condition()
        self.result: FlashMessage | None = None
        """How it ended; None while it runs."""

    def start(self) -> "Installation":
        threading.Thread(target=self._run, name="plugbay-install", daemon=True).start()
        return self

    def output(self) -> Iterator[str]:
        """The lines from the first on, each as soon as it is there, until the end."""
        seen = 0
        while True:
            with self._news:
                self._news.wait_for(partial(self._is_beyond, seen))
                fresh, is_over = self._lines[seen:], self.result is not None
            yield from fresh
            seen += len(fresh)
            if is_over:
                return

    def _is_beyond(self, seen: int) -> bool:
        return len(self._lines) > seen or self.result is not None

    def _run(self) -> None:
        try:
            result = self._install(self._add_line)
        except Exception as error:
            log.exception("install_failed")
            result = FlashMessage(f"The installer could not be run: {error}", "error")
        with self._news:
            self.result = result
            self._news.notify_all()

    def _add_line(self, line: str) -> None:
        with self._news:
            if len(self._lines) < MAX_LINES:
                self._lines.append(line)
                self._news.notify_all()


class Installations:
    """The latest installation of each plugin; a plugin has one at a time."""

    def __init__(self) -> None:
        self._latest: dict[str, Installation] = {}
        self._lock = threading.Lock()

    def start(self, plugin_name: str, install: Install) -> None:
        """Starts one, unless one is under way."""
        with self._lock:
            latest = self._latest.get(plugin_name)
            if latest is None or latest.result is not None:
                self._latest[plugin_name] = Installation(install).start()

    def latest(self, plugin_name: str) -> Installation | None:
        return self._latest.get(plugin_name)
