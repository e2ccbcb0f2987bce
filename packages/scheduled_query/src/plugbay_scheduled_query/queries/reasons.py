"""Why queries wait, were late or did not run, told from what the store keeps."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from plugbay import Clock

from plugbay_scheduled_query.core.capacity import Pace
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.core.waiting import Situation, is_due, waiting_for
from plugbay_scheduled_query.core.why import Answer, Facts, explain, is_late, lateness_of, minute_of
from plugbay_scheduled_query.repository.evidence import Evidence
from plugbay_scheduled_query.repository.pauses import Pause
from plugbay_scheduled_query.repository.standstills import Standstills
from plugbay_scheduled_query.settings import Settings

CUT = "its result was cut at a limit: ask for less, or raise max_rows, max_cell_bytes or max_result_bytes"


class Reasons:
    """Answers people who miss a run."""

    def __init__(
        self,
        evidence: Evidence,
        standstills: Standstills,
        pauses: Callable[[], Mapping[int, Pause]],
        claimed: Callable[[], Collection[int]],
        settings: Callable[[], Settings],
        words: Callable[[str], str],
        clock: Clock,
    ) -> None:
        self._evidence = evidence
        self._standstills = standstills
        self._pauses = pauses
        self._claimed = claimed  # the queries whose runs wait in this process
        self._settings = settings
        self._words = words
        self._clock = clock

    def mark(self, queries: Sequence[Query]) -> list[Query]:
        """The same, each with what it waits for; where none waits, nothing is read."""
        now, claimed = self._clock.now(), self._claimed()
        waiting = {query.data_source for query in queries if is_due(query, now) or query.id in claimed}
        if not waiting:
            return list(queries)
        situation = self._situation(waiting)
        return [self._marked(query, situation, claimed) for query in queries]

    def why(self, query: Query, at: datetime) -> Answer:
        """What came of a time."""
        return explain(self._facts(self.mark([query])[0], at))

    def about_latest(self, query: Query) -> list[str]:
        """Why its latest execution was late or its result cut, and what to change; mostly nothing."""
        execution = self._evidence.latest(query.id)
        if execution is None:
            return []
        told = [CUT] if execution.truncated else []
        if execution.due_at and is_late(execution):
            lateness = lateness_of(execution, self._facts(query, execution.due_at))
            told.insert(0, f"it began {lateness}")
        return told

    def _marked(self, query: Query, situation: Situation, claimed: Collection[int]) -> Query:
        if is_due(query, situation.now) or query.id in claimed:
            return replace(query, waiting_for=waiting_for(query.data_source, situation))
        return query

    def _situation(self, sources: Collection[str]) -> Situation:
        now, states = self._evidence.sources(list(sources), self._settings().pace)
        pauses = {pause.source: pause.reason for pause in self._pauses().values()}
        return Situation(now=now, hold=self._standstills.hold(), pauses=pauses, sources=states)

    def _facts(self, query: Query, at: datetime) -> Facts:
        found = self._evidence.around(query.id, minute_of(at))
        return Facts(
            at=at,
            now=found.now,
            query=query,
            timezone=query.timezone or self._settings().timezone,
            words=self._words(query.cron_schedule),
            pace=self._pace(query.data_source),
            due_then=found.due_then,
            begun_then=found.begun_then,
            before=found.before,
            earlier=found.earlier,
            run=found.run,
            standstills=found.standstills,
            switches=found.switches,
            waiting_for=query.waiting_for,
        )

    def _pace(self, source: str) -> Pace:
        _, states = self._evidence.sources([source], self._settings().pace)
        return states[source].pace if source in states else self._settings().pace
