"""Alerts on /metrics: which of them fire, and what became of what was to be told."""

from collections.abc import Callable, Mapping
from threading import Lock

from plugbay import Store, UntilChanged, metric_header, metric_sample

from plugbay_scheduled_query.repository.alert_states import AlertStates, AlertView

FIRING = "plugbay_alert_firing"
DELIVERIES = "plugbay_alert_deliveries_total"
STATUSES = ("sent", "retried", "failed")

_FIRING_HEADER = metric_header(FIRING, "Whether the alert fires (1) or not (0).")
_DELIVERIES_HEADER = metric_header(
    DELIVERIES, "Alert messages of this process: sent, to be tried again, given up.", "counter"
)


class AlertMetrics:
    """Keeps the text until an alert changes: a scrape costs a look at an index, or at nothing but a stamp."""

    def __init__(self, store: Store, states: AlertStates, counts: Callable[[], Mapping[str, int]]) -> None:
        self._states = states
        self._counts = counts
        self._newest = UntilChanged(store, states.newest)
        self._lock = Lock()
        self._seen: object = None
        self._text = ""

    def text(self) -> str:
        with self._lock:
            newest = self._newest()
            if newest != self._seen:
                views = self._states.all()
                self._text = (_FIRING_HEADER if views else "") + "".join(map(_sample, views))
                self._seen = newest
            return self._text + self._deliveries()

    def _deliveries(self) -> str:
        counts = self._counts()
        lines = [metric_sample(DELIVERIES, {"status": name}, float(counts[name])) for name in STATUSES]
        return _DELIVERIES_HEADER + "".join(lines)


def _sample(view: AlertView) -> str:
    labels = {
        "alert_id": str(view.alert_id),
        "name": view.name,
        "query_id": str(view.query_id),
        "severity": view.severity,
    }
    return metric_sample(FIRING, labels, float(view.is_firing))
