"""The parts of the service, put together once; API and pages reach everything through them."""

from collections.abc import Callable
from dataclasses import dataclass

from plugbay import Clock, EventBus, Plugbay

from plugbay_scheduled_query.capacities import Capacities
from plugbay_scheduled_query.execution import Executing
from plugbay_scheduled_query.gauge_keeper import GaugeKeeper
from plugbay_scheduled_query.reports import Reports
from plugbay_scheduled_query.repository.activity import Activity
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.glances import Glances
from plugbay_scheduled_query.repository.histories import Histories
from plugbay_scheduled_query.repository.history_rows import HistoryReader
from plugbay_scheduled_query.repository.overview import Overview
from plugbay_scheduled_query.repository.sources import SourceRepository
from plugbay_scheduled_query.running import Running
from plugbay_scheduled_query.service import Service
from plugbay_scheduled_query.settings import Settings
from plugbay_scheduled_query.source_book import SourceBook
from plugbay_scheduled_query.source_desk import SourceDesk
from plugbay_scheduled_query.sources.executor import Executor
from plugbay_scheduled_query.trying import Trying
from plugbay_scheduled_query.workbench import Workbench


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
    history_reader: HistoryReader
    overview: Overview
    activity: Activity
    glances: Glances
    capacities: Capacities
    sources: SourceRepository
    book: SourceBook
    desk: SourceDesk
    executor: Executor
    executing: Executing
    service: Service
    gauges: GaugeKeeper
    reports: Reports
    workbench: Workbench
    trying: Trying
    running: Running
