"""The refusals: raised by dependencies, right also under an application's own exception handlers."""

from fastapi import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Scope

from plugbay.auth.marks import ANSWER, claim
from plugbay.web.paths import is_machine_path

BEARER = 'Bearer realm="Plugbay"'
BASIC = 'Basic realm="Plugbay", charset="UTF-8"'


def unauthorized(request: HTTPConnection) -> HTTPException:
    # offered to a page's form or script, Basic would make the browser ask for a password in a box of its own
    by_script = request.headers.get("sec-fetch-mode", "navigate") != "navigate"
    is_for_programs = is_machine_path(request.scope) and not by_script
    offered = f"{BEARER}, {BASIC}" if is_for_programs else BEARER
    return HTTPException(401, "Authentication is required.", {"WWW-Authenticate": offered})


def signed_out_part() -> HTTPException:
    """For a part that htmx loads into a page: the whole page loads anew, and lands on the login."""
    headers = {"WWW-Authenticate": BEARER, "HX-Refresh": "true"}
    return HTTPException(401, "Authentication is required.", headers)


def missing_role(role: str) -> HTTPException:
    return HTTPException(403, f"This needs the role {role}.")


def bad_csrf_token() -> HTTPException:
    return HTTPException(403, "This form is not from this login. Load its page again and send it once more.")


def too_many_attempts(message: str, retry_after: int) -> HTTPException:
    return HTTPException(429, message, {"Retry-After": str(retry_after)})


def whole_response(scope: Scope, response: Response) -> HTTPException:
    """A response for a dependency to raise; our middleware puts the whole of it in place again."""
    claim(scope)[ANSWER] = response
    kept = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
    return HTTPException(response.status_code, headers=kept)
