"""A definition that a person wrote as the columns of its row."""

import hashlib
import json
from datetime import datetime
from typing import Any

from plugbay_scheduled_query.core.draft import Draft
from plugbay_scheduled_query.core.exposition import key_of
from plugbay_scheduled_query.core.metric import Series, series_of
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.core.paging import search_text
from plugbay_scheduled_query.core.schedule import next_run
from plugbay_scheduled_query.repository.rows import chart_text, metrics_text


def series_key(series: Series) -> str:
    """A short text that two series share only if they are the same."""
    name, labels = series
    return hashlib.sha256(json.dumps([name, sorted(labels)]).encode()).hexdigest()


def new_values(draft: Draft, source_id: int, by: str | None, timezone: str, now: datetime) -> dict[str, Any]:
    due = next_run(draft.cron_schedule, draft.timezone or timezone, now) if draft.enabled else None
    made = {"created_by": by, "created_at": now, "updated_by": by, "updated_at": now}
    return values_of(draft, source_id) | made | {"next_run_at": due}


def after_metrics_changed(current: Query, draft: Draft) -> dict[str, object]:
    """Another metric waits for a value of its own; one that stayed keeps it."""
    before, after = (
        {key_of(one) for one in metrics if one.is_plain} for metrics in (current.metrics, draft.metrics)
    )
    return dict.fromkeys(["metric_problem"] if before & after else ["metric_problem", "metric_value"])


def values_of(draft: Draft, source_id: int) -> dict[str, Any]:
    first = draft.metrics[0] if draft.metrics else None
    return {
        "name": draft.name,
        "query": draft.query,
        "cron_schedule": draft.cron_schedule,
        "timezone": draft.timezone,
        "enabled": draft.enabled,
        "render_type": draft.render_type.value,
        "metric_config": metrics_text(draft.metrics),
        "chart": chart_text(draft.chart),
        "series_key": series_key(series_of(first)) if first else None,
        "source_id": source_id,
        "timeout": draft.timeout,
        "description": draft.description,
        "tags": json.dumps(draft.tags, ensure_ascii=False),
        "search_text": search_text(draft),
    }
