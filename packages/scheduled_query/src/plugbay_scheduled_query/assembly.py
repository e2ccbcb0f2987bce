"""Puts the service together when the server starts, and takes it apart when it stops."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plugbay import Plugbay, PlugbayError
from sqlalchemy.exc import SQLAlchemyError

from plugbay_scheduled_query.alerts.backtest import Backtest
from plugbay_scheduled_query.alerts.delivery import Delivery
from plugbay_scheduled_query.alerts.editing import AlertEditing, ChannelEditing
from plugbay_scheduled_query.alerts.telling import AlertTelling
from plugbay_scheduled_query.boards import BoardEditing
from plugbay_scheduled_query.catalogue import Catalogue
from plugbay_scheduled_query.catalogue.editing import SourceEditing
from plugbay_scheduled_query.core.model import Execution, Outcome, Run
from plugbay_scheduled_query.executor import Executor
from plugbay_scheduled_query.metrics.alerting import AlertMetrics
from plugbay_scheduled_query.metrics.gauges import GaugeKeeper
from plugbay_scheduled_query.metrics.health import HealthMetrics, Slots
from plugbay_scheduled_query.queries.capacity import Capacities
from plugbay_scheduled_query.queries.editing import QueryEditing
from plugbay_scheduled_query.queries.reasons import Reasons
from plugbay_scheduled_query.queries.trying import Trying
from plugbay_scheduled_query.queries.versions import QueryVersions
from plugbay_scheduled_query.repository.alert_events import AlertEvents
from plugbay_scheduled_query.repository.alert_judging import AlertLooks
from plugbay_scheduled_query.repository.alert_states import AlertStates
from plugbay_scheduled_query.repository.alerts import Alerts
from plugbay_scheduled_query.repository.boards import Boards
from plugbay_scheduled_query.repository.channels import Channels
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.evidence import Evidence
from plugbay_scheduled_query.repository.gauges import StoredGauges
from plugbay_scheduled_query.repository.history import Histories
from plugbay_scheduled_query.repository.outbox import Outbox
from plugbay_scheduled_query.repository.overview import Activity, Overview
from plugbay_scheduled_query.repository.past import Past
from plugbay_scheduled_query.repository.pauses import Pauses
from plugbay_scheduled_query.repository.pruning import Housekeeping
from plugbay_scheduled_query.repository.retiming import Retiming
from plugbay_scheduled_query.repository.sources import SourceRepository, StoredSource
from plugbay_scheduled_query.repository.standouts import Standouts
from plugbay_scheduled_query.repository.standstills import Standstills
from plugbay_scheduled_query.repository.trends import Trends
from plugbay_scheduled_query.repository.versions import Versions
from plugbay_scheduled_query.runs.claiming import OWNER, PERIOD_S
from plugbay_scheduled_query.runs.cluster import RUN_NOW, ClusterService
from plugbay_scheduled_query.runs.disk import DiskRoom, free_bytes_at
from plugbay_scheduled_query.runs.executing import Executing
from plugbay_scheduled_query.runs.node import Node
from plugbay_scheduled_query.runs.places import most_by_hand, places, workers_of_schedule
from plugbay_scheduled_query.runs.service import JOB, TASK, Service
from plugbay_scheduled_query.runs.stuck import StuckSessions
from plugbay_scheduled_query.runs.telling import Notifications, Reports
from plugbay_scheduled_query.settings import Settings
from plugbay_scheduled_query.web.dependencies import AlertParts, Parts
from plugbay_scheduled_query.web.doors import LOOKS, TRIES, Doors

QUERY_PAGE = "/scheduled_query/query"
NOTIFY = "notify"
DELIVER = "deliver_alerts"
WATCH = "watch_alerts"
RECOVER = "recover_runs"
RECOVER_S = 15  # a node that is silent for 30 s is dead: what it had is seen to within a minute
BEHIND = -10  # the priority of messages: after every run
ASIDES = TRIES.at_once + LOOKS.at_once  # runners for what people look at, beside those of runs
SENDING_GRACE_S = 2.0  # that a message on its way gets when the server stops
AWAY = (PlugbayError, SQLAlchemyError)  # what a store that is away raises
PURGE_STEPS = 20  # of what deleted queries left behind and of surplus history, per minute


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """The parts, and what only the plugin has to do with."""

    parts: Parts
    engine: Any
    housekeeping: Housekeeping
    retiming: Retiming
    notifications: Notifications
    health: HealthMetrics
    alert_metrics: AlertMetrics
    looks: AlertLooks
    alert_telling: AlertTelling

    def enter_engine(self) -> None:
        """Says what the engine shall call, and when."""
        service = self.parts.service
        with contextlib.suppress(*AWAY):  # which is found out by the first tick
            self.parts.standstills.note_alive(is_start=True)
        if isinstance(service, ClusterService):
            self._enter_cluster(service)
        else:
            self.engine.handle(owner=OWNER, name=JOB, call=service.execute, returned=service.returned)
        if self.parts.host.store.dialect != "sqlite":  # there a tick is soon enough: locks say who is dead
            self.engine.every(owner=OWNER, name=RECOVER, seconds=RECOVER_S, call=service.recover)
        sender_left = self.notifications.sender_left
        self.engine.handle(
            owner=OWNER, name=NOTIFY, call=self._send_messages, returned=lambda job: sender_left(), here=True
        )
        self.engine.every(owner=OWNER, name=TASK, seconds=PERIOD_S, call=self.cycle, at_start=True)
        delivery = self.parts.alerts.delivery
        self.engine.handle(
            owner=OWNER,
            name=DELIVER,
            call=delivery.run,
            returned=lambda job: delivery.not_called(),
            here=True,
        )
        self.engine.every(owner=OWNER, name=WATCH, seconds=PERIOD_S, call=self.watch_alerts, at_start=True)
        self.engine.at(owner=OWNER, name="warm_gauges", when=self.parts.clock.now(), call=self._warm_gauges)
        service.start()

    def subjects_of(self, payloads: Sequence[Mapping[str, Any]]) -> list[list[tuple[str, str]]]:
        """Which queries each job runs, with the paths of their pages; those that are gone are left out."""
        ids = [payload.get("queries", []) for payload in payloads]
        names = self.parts.definitions.names_of({one for found in ids for one in found})
        return [[(names[one], f"{QUERY_PAGE}/{one}") for one in found if one in names] for found in ids]

    def _enter_cluster(self, service: ClusterService) -> None:
        call, returned = service.execute, service.returned
        self.engine.handle(owner=OWNER, name=RUN_NOW, call=call, returned=returned)
        self.engine.handle(owner=OWNER, name=JOB, call=call, returned=returned, lanes=service.lanes)

    def follow(self, settings: Settings) -> None:
        """Puts into effect what is not looked up each time it is needed."""
        self.parts.executor.resize(_runners(self.engine))
        self.retiming.follow(settings.timezone)
        self.retiming.mend(settings.timezone)
        self.parts.catalogue.adopt(settings.named_sources())  # last: it may fail

    def cycle(self, job: object = None) -> None:
        """The task that the specification names: starts what is due, then tidies up a little."""
        self.retiming.mend_after_set_back(self.parts.settings().timezone)
        self.parts.sessions.revisit()
        with contextlib.suppress(*AWAY):
            self.parts.standstills.note_alive()
        self.parts.service.tick()
        for _ in range(PURGE_STEPS):
            if not self._tidy():
                return

    def watch_alerts(self, job: object = None) -> None:
        """Each minute: what time alone changes about alerts, and what is to be sent again."""
        try:
            self.alert_telling.tell(self.looks.look())
        finally:
            self.parts.alerts.delivery.refresh()
            self.parts.alerts.delivery.run()
        self.parts.alerts.events.forget_step()

    def _send_messages(self, job: Any) -> None:
        self.notifications.send_waiting(lambda: not job.cancelled)

    def _tidy(self) -> bool:
        house = self.housekeeping
        return house.purge_step() or house.prune_step(self.parts.settings().keeping)

    def _warm_gauges(self, job: object) -> None:
        """The first text reads all of them: no scrape need wait for that."""
        self.gauges_text()

    def gauges_text(self) -> bytes:
        return self.parts.gauges.text() if self.parts.settings().metrics_enabled else b""

    def own_text(self) -> str:
        return self.alert_metrics.text() + self.health.text()

    def close(self, grace_s: float) -> None:
        """Ends everything that was started; what is not recorded is recovered at the next start."""
        self.parts.sessions.close()
        with contextlib.suppress(*AWAY):
            self.parts.standstills.note_stop()
        self.parts.service.retire()
        self.engine.remove_owner(OWNER, grace_s)
        self.parts.alerts.delivery.close(max(grace_s, SENDING_GRACE_S))
        self.parts.service.close()
        self.parts.executor.close()


def _runners(engine: Any) -> int:
    """As many as may be wanted at once: the schedule, people and those who look have theirs each."""
    return workers_of_schedule(engine.workers) + most_by_hand(engine.workers) + ASIDES


def slots_of(engine: Any, settings: Settings, sources: Iterable[StoredSource] = ()) -> Slots:
    """What of the engine's workers runs have, and may have."""
    runs = (OWNER, JOB), (OWNER, RUN_NOW)
    busy = sum((job.owner, job.name) in runs for job in engine.stats().running)
    nodes = engine.working_nodes if engine.is_shared else 1
    own = {source.id: (source.pace_s, source.max_parallel) for source in sources}
    return Slots(busy, nodes * places(engine.workers, settings.pace, own).total)


def assemble(host: Plugbay, engine: Any, settings: Callable[[], Settings]) -> Assembly:
    """Builds the service from the host's store, clock and events."""
    store, clock = host.store, host.clock
    executor = Executor(_runners(engine), asides=ASIDES, clock=clock)
    sources = SourceRepository(store, host.secrets, clock)
    catalogue = Catalogue(sources, executor, host)
    node = Node(host.data_dir, engine.node if engine.is_shared else None)
    gauges = GaugeKeeper(StoredGauges(store, node.id), clock)
    reports = Reports(host.events)
    notifications = Notifications(settings, lambda: engine.submit(OWNER, NOTIFY, priority=BEHIND))
    measure = (lambda: free_bytes_at(host.data_dir)) if store.dialect == "sqlite" else None
    disk = DiskRoom(clock, settings, measure)
    sessions = StuckSessions(clock, Pauses(store), executor, catalogue, host.events)
    executing = Executing(clock, catalogue, executor, settings, sessions)
    alert_parts, alert_telling = _alerts(host, engine)

    def at_once(outcome: Outcome, execution: Execution) -> None:
        if execution.feed:
            gauges.feed(execution.feed)
        reports.count(outcome, execution)

    def tell_alerts(run: Run, outcome: Outcome, execution: Execution) -> None:
        alert_telling.tell(execution.alert_events)

    service = (ClusterService if engine.is_shared else Service)(
        store=store,
        clock=clock,
        node=node,
        engine=engine,
        executing=executing,
        settings=settings,
        ears=[reports.tell, notifications.announce, tell_alerts],
        at_once=at_once,
        keeping=disk.keeping,
    )
    sessions.resumed = service.refill
    definitions, overview = Definitions(store, clock, alert_telling.tell), Overview(store)
    capacities = Capacities(definitions, catalogue, settings, clock)
    standstills, describe = Standstills(store, clock), host.get_module("ui_tools").describe_cron  # type: ignore[union-attr]
    reasons = Reasons(
        Evidence(store, clock),
        standstills,
        sessions.pauses,
        service.waiting_queries,
        settings,
        describe,
        clock,
    )
    editing = QueryEditing(definitions, catalogue, settings, host.events, capacities, service.cancel)
    boards = Boards(store, clock)
    parts = Parts(
        host=host,
        clock=clock,
        settings=settings,
        describe_cron=describe,
        definitions=definitions,
        histories=Histories(store),
        overview=overview,
        activity=Activity(store, clock),
        standouts=Standouts(store, clock),
        capacities=capacities,
        reasons=reasons,
        standstills=standstills,
        sources=sources,
        catalogue=catalogue,
        source_editing=SourceEditing(sources, catalogue, executor, clock),
        executor=executor,
        service=service,
        sessions=sessions,
        disk=disk,
        gauges=gauges,
        editing=editing,
        versions=QueryVersions(Versions(store), editing),
        trying=Trying(editing, executing),
        doors=Doors(overview.under_way),
        alerts=alert_parts,
        boards=boards,
        board_editing=BoardEditing(boards),
        trends=Trends(store),
    )

    def slots() -> Slots:
        return slots_of(engine, settings(), catalogue.all())

    return Assembly(
        parts=parts,
        engine=engine,
        housekeeping=Housekeeping(store, clock),
        retiming=Retiming(store, clock),
        notifications=notifications,
        health=HealthMetrics(
            store,
            clock,
            settings,
            reports,
            notifications,
            slots,
            disk,
        ),
        alert_metrics=AlertMetrics(store, alert_parts.states, lambda: alert_parts.delivery.counts),
        looks=AlertLooks(store, clock),
        alert_telling=alert_telling,
    )


def _alerts(host: Plugbay, engine: Any) -> tuple[AlertParts, AlertTelling]:
    """All about alerts: what people do with them, and how they are told."""
    store, clock = host.store, host.clock
    alerts, channels = Alerts(store, clock), Channels(store, host.secrets, clock)
    delivery = Delivery(
        Outbox(store, clock),
        channels,
        clock,
        lambda: host.config.public_url or "",
        lambda: engine.submit(OWNER, DELIVER, priority=BEHIND),
        lambda when: engine.at(owner=OWNER, name=DELIVER, when=when, call=delivery.run),
    )
    telling = AlertTelling(host.events, delivery.wake)
    parts = AlertParts(
        alerts=alerts,
        states=AlertStates(store),
        events=AlertEvents(store, clock),
        channels=channels,
        editing=AlertEditing(alerts, channels, telling.tell),
        channel_editing=ChannelEditing(channels, delivery.test),
        backtest=Backtest(Past(store), clock),
        delivery=delivery,
    )
    return parts, telling
