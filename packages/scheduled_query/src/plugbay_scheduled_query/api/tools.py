"""Help with writing a query: what its schedule means, and what it brings."""

from collections.abc import Callable, Iterator
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from plugbay_scheduled_query.api.documenting import JsonBody, answers, documented_as
from plugbay_scheduled_query.api.errors import bad_query_parameter, refused
from plugbay_scheduled_query.api.parameters import PREFIX, plain
from plugbay_scheduled_query.api.schemas import CronAnswer, TryAnswer, TryRequest
from plugbay_scheduled_query.api.slow import SlowCalls
from plugbay_scheduled_query.api.writing import NO_ROWS, json_response, json_stream, object_pieces
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.schedule import BadCron, parse
from plugbay_scheduled_query.core.times import format_utc
from plugbay_scheduled_query.core.timezones import UnknownTimezone, zone
from plugbay_scheduled_query.parts import Parts
from plugbay_scheduled_query.sources.executor import Outcome

TryBody = Annotated[JsonBody, documented_as(TryRequest)]
Expression = Annotated[
    str, Query(description="Five fields, or @daily and the like.", examples=["*/5 * * * *"])
]
Timezone = Annotated[str | None, Query(description="A name such as Europe/Berlin.")]
Count = Annotated[int, Field(ge=1, le=100), plain, Query(description="How many times to tell.")]
USUAL_COUNT = 5


def tools_router(parts: Callable[[], Parts]) -> APIRouter:
    """Explain a schedule, try a query."""
    router = APIRouter(prefix=PREFIX, tags=["Tools"])
    slow = SlowCalls()

    @router.get("/cron", summary="Explain a schedule", response_model=CronAnswer, responses=answers())
    def explain_cron(
        expression: Expression, timezone: Timezone = None, count: Count = USUAL_COUNT
    ) -> Response:
        """The schedule in words, and its next times."""
        name = timezone or parts().settings().timezone
        try:
            schedule, place = parse(expression), zone(name)
            times = schedule.next_times(parts().clock.now(), place, count)
        except BadCron as error:
            raise bad_query_parameter("expression", f"is not valid: {error}", expression) from None
        except UnknownTimezone as error:
            raise bad_query_parameter("timezone", f"is not valid: {error}", timezone) from None
        return json_response(
            {
                "expression": schedule.expression,
                "timezone": name,
                "words": parts().describe_cron(schedule.expression),
                "next_times": [format_utc(moment) for moment in times],
            }
        )

    @router.post("/try", summary="Try a query", response_model=TryAnswer, responses=answers())
    async def try_query(body: TryBody) -> Response:
        """Runs it once with the same guard and limits as an execution; nothing is stored."""
        outcome = await slow.run(parts().trying.run, body)
        if isinstance(outcome, Refused):
            raise refused(outcome, body)
        return json_stream(_try_pieces(outcome))

    return router


def _try_pieces(outcome: Outcome) -> Iterator[str]:
    status = outcome.status if outcome.status in ("success", "timeout") else "failed"
    after = {
        "result_key": outcome.columns,
        "row_count": outcome.row_count,
        "truncated": outcome.truncated,
        "error_message": outcome.error,
    }
    before = {"status": status, "duration_ms": outcome.duration_ms}
    return object_pieces(before, "result", outcome.result_json or NO_ROWS, after)
