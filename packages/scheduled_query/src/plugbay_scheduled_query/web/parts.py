"""The parts of the service, put together once; API and pages reach everything through them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fastapi import APIRouter
from plugbay import Clock, EventBus, Plugbay
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from plugbay_scheduled_query.catalogue.editing import SourceEditing
from plugbay_scheduled_query.catalogue.sources import Catalogue
from plugbay_scheduled_query.executor.executor import Executor
from plugbay_scheduled_query.metrics.gauges import GaugeKeeper
from plugbay_scheduled_query.queries.capacity import Capacities
from plugbay_scheduled_query.queries.editing import QueryEditing, Trying
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.history import Histories
from plugbay_scheduled_query.repository.overview import Activity, Overview
from plugbay_scheduled_query.repository.sources import SourceRepository
from plugbay_scheduled_query.runs.executing import Executing
from plugbay_scheduled_query.runs.service import Service
from plugbay_scheduled_query.runs.telling import Reports
from plugbay_scheduled_query.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What there is, each under the name that the others call it by."""

    host: Plugbay
    clock: Clock
    events: EventBus
    settings: Callable[[], Settings]
    describe_cron: Callable[[str], str]
    definitions: Definitions
    histories: Histories
    overview: Overview
    activity: Activity
    capacities: Capacities
    sources: SourceRepository
    catalogue: Catalogue
    source_editing: SourceEditing
    executor: Executor
    executing: Executing
    service: Service
    gauges: GaugeKeeper
    reports: Reports
    editing: QueryEditing
    trying: Trying


class RoutesBelow(APIRouter):
    """Says no to a request for another path at once, instead of asking each of its routes."""

    def __init__(
        self, path: str, routes: Iterable[BaseRoute] = (), *, include_in_schema: bool = True
    ) -> None:
        super().__init__(include_in_schema=include_in_schema)
        self._path = path
        self.routes.extend(routes)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        # anywhere in the path: whoever mounts us may put something before it
        return super().matches(scope) if self._path in scope["path"] else (Match.NONE, {})
