"""What a handler is given: the parts of the service that it works for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from plugbay import Clock, Plugbay
from plugbay.web import host_of

from plugbay_scheduled_query.alerts.backtest import Backtest
from plugbay_scheduled_query.alerts.delivery import Delivery
from plugbay_scheduled_query.alerts.editing import AlertEditing, ChannelEditing
from plugbay_scheduled_query.boards import BoardEditing
from plugbay_scheduled_query.catalogue import Catalogue
from plugbay_scheduled_query.catalogue.editing import SourceEditing
from plugbay_scheduled_query.executor import Executor
from plugbay_scheduled_query.metrics.gauges import GaugeKeeper
from plugbay_scheduled_query.queries.capacity import Capacities
from plugbay_scheduled_query.queries.editing import QueryEditing
from plugbay_scheduled_query.queries.reasons import Reasons
from plugbay_scheduled_query.queries.trying import Trying
from plugbay_scheduled_query.queries.versions import QueryVersions
from plugbay_scheduled_query.repository.alert_events import AlertEvents
from plugbay_scheduled_query.repository.alert_states import AlertStates
from plugbay_scheduled_query.repository.alerts import Alerts
from plugbay_scheduled_query.repository.boards import Boards
from plugbay_scheduled_query.repository.channels import Channels
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.history import Histories
from plugbay_scheduled_query.repository.overview import Activity, Overview
from plugbay_scheduled_query.repository.sources import SourceRepository
from plugbay_scheduled_query.repository.standouts import Standouts
from plugbay_scheduled_query.repository.standstills import Standstills
from plugbay_scheduled_query.repository.trends import Trends
from plugbay_scheduled_query.runs.claiming import OWNER
from plugbay_scheduled_query.runs.disk import DiskRoom
from plugbay_scheduled_query.runs.service import Ran, Service
from plugbay_scheduled_query.runs.stuck import StuckSessions
from plugbay_scheduled_query.settings import Settings
from plugbay_scheduled_query.web.doors import Doors


@dataclass(frozen=True, kw_only=True)
class AlertParts:
    """What has to do with alerts and the channels that they are told through."""

    alerts: Alerts
    states: AlertStates
    events: AlertEvents
    channels: Channels
    editing: AlertEditing
    channel_editing: ChannelEditing
    backtest: Backtest
    delivery: Delivery


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The service at work, put together when the server starts; handlers reach everything through it."""

    host: Plugbay
    clock: Clock
    settings: Callable[[], Settings]
    describe_cron: Callable[[str], str]
    definitions: Definitions
    histories: Histories
    overview: Overview
    activity: Activity
    standouts: Standouts
    capacities: Capacities
    reasons: Reasons
    standstills: Standstills
    sources: SourceRepository
    catalogue: Catalogue
    source_editing: SourceEditing
    executor: Executor
    service: Service
    sessions: StuckSessions
    disk: DiskRoom
    gauges: GaugeKeeper
    editing: QueryEditing
    versions: QueryVersions
    trying: Trying
    doors: Doors
    alerts: AlertParts
    boards: Boards
    board_editing: BoardEditing
    trends: Trends

    def pause_all(self, by: str) -> bool:
        """From now on the schedule starts nothing; False when that is so already."""
        return self.standstills.pause_all(by)

    def resume_all(self, by: str) -> bool:
        """The schedule goes on, and what was due meanwhile starts; False when it was not paused."""
        is_resumed = self.standstills.resume_all(by)
        self.service.refill()
        return is_resumed

    async def run_by_hand(self, query_id: int, by: str, wait_s: float) -> Ran | None:
        """Run Now, through its door; None: there is no such query."""
        door, ran = self.doors.runs_by_hand, None
        await door.enter(by, query_id)
        try:
            ran = await self.service.run_now(query_id, by, wait_s)
            return ran
        finally:
            door.leave(by, query_id, has_ended=ran is None or ran.status != "running")


async def parts_of(request: Request) -> Parts:
    """The parts behind the host that answers: handlers are shared by all hosts of a process."""
    parts: Parts = host_of(request).get_module(OWNER).parts
    return parts


ServiceParts = Annotated[Parts, Depends(parts_of)]
