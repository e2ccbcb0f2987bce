"""What goes wrong, in FastAPI's own shape: a sentence, or a list of what is wrong with which field."""

from collections.abc import Mapping
from typing import Any

from fastapi import HTTPException

from plugbay_scheduled_query.core.draft import Refused

SECRET_FIELDS = ("url",)  # what was sent there is not sent back


def refused(refusal: Refused, given: Mapping[str, Any]) -> HTTPException:
    """422 with a sentence for each field of the body that is to blame."""
    problems = [
        problem(["body", name], message, None if name in SECRET_FIELDS else given.get(name))
        for name, message in refusal.errors.items()
    ]
    return HTTPException(422, problems)


def bad_query_parameter(name: str, message: str, given: Any) -> HTTPException:
    """422 for a parameter that only we can judge."""
    return HTTPException(422, [problem(["query", name], f"Input {message}", given)])


def problem(loc: list[str], message: str, given: Any) -> dict[str, Any]:
    return {"type": "value_error", "loc": loc, "msg": message, "input": given}


def no_such_query() -> HTTPException:
    return HTTPException(404, "There is no such query.")


def no_such_source() -> HTTPException:
    return HTTPException(404, "There is no such data source.")


def no_such_execution() -> HTTPException:
    return HTTPException(404, "There is no such execution.")


def conflict(reason: str) -> HTTPException:
    return HTTPException(409, reason)
