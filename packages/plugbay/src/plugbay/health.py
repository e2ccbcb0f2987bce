"""GET /healthz says that the process is alive, GET /readyz that it can do its work."""

import threading
from collections.abc import Callable
from typing import Annotated

from fastapi.responses import JSONResponse

from plugbay.logs import get_logger
from plugbay.web import from_host
from plugbay.web.routers import QuickRouter

log = get_logger(__name__)
router = QuickRouter(tags=["Health"])

Check = Callable[[], str | None]


class HealthRegistry:
    """Asks each owner whether it is ready; a check returns None, or what is wrong in a sentence."""

    def __init__(self) -> None:
        self._checks: tuple[tuple[str, Check], ...] = ()
        self._warnings: tuple[tuple[str, Check], ...] = ()
        self._lock = threading.Lock()

    def add(self, owner: str, check: Check) -> None:
        with self._lock:
            self._checks = (*self._checks, (owner, check))

    def add_warning(self, owner: str, check: Check) -> None:
        """The same for what an operator should know though work goes on: it leaves the answer at 200."""
        with self._lock:
            self._warnings = (*self._warnings, (owner, check))

    def remove_owner(self, owner: str) -> None:
        with self._lock:
            self._checks = tuple(item for item in self._checks if item[0] != owner)
            self._warnings = tuple(item for item in self._warnings if item[0] != owner)

    def problems(self) -> dict[str, str]:
        """What is not ready, by owner."""
        return self._found(self._checks)

    def warnings(self) -> dict[str, str]:
        """What is ready and needs somebody's attention, by owner."""
        return self._found(self._warnings)

    def _found(self, checks: tuple[tuple[str, Check], ...]) -> dict[str, str]:
        found: dict[str, str] = {}
        for owner, check in checks:
            if problem := self._ask(owner, check):
                found[owner] = f"{found[owner]}; {problem}" if owner in found else problem
        return found

    def _ask(self, owner: str, check: Check) -> str | None:
        try:
            problem = check()
            return str(problem).encode(errors="replace").decode() if problem else None
        except (Exception, SystemExit):
            log.exception("health_check_failed", owner=owner)
            return "its health check failed; the log says why"


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", summary="Whether the process is alive")
async def healthz() -> dict[str, str]:
    return {"status": "alive"}


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", summary="Whether the store is reachable and the scheduler ticks")
def readyz(registry: Annotated[HealthRegistry, from_host("health")]) -> JSONResponse:
    problems = registry.problems()
    if problems:
        return JSONResponse({"status": "not ready", "problems": problems}, status_code=503)
    warnings = registry.warnings()
    return JSONResponse({"status": "ready", **({"warnings": warnings} if warnings else {})})
