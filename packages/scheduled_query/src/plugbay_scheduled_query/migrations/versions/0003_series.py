"""Metrics from rows: a list of metrics for each query, who publishes which name, and the samples of rows."""

import json
from hashlib import blake2b

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

queries = sa.table("scheduled_queries", sa.column("id"), sa.column("metric_config"), sa.column("deleted_at"))


def upgrade() -> None:
    op.execute(
        sa.update(queries)
        .where(queries.c.metric_config.is_not(None))
        .values(metric_config=sa.literal("[") + queries.c.metric_config + sa.literal("]"))
    )
    op.add_column("scheduled_query_states", sa.Column("metric_problem", sa.Text))
    op.add_column("scheduled_query_states", sa.Column("changed_by", sa.String(40)))
    op.drop_index("ix_scheduled_query_states_changed_at", "scheduled_query_states")
    op.create_index(
        "ix_scheduled_query_states_changed", "scheduled_query_states", ["changed_at", "changed_by"]
    )
    names = op.create_table(
        "scheduled_query_metric_names",
        sa.Column("query_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("metric_name", sa.String(200), nullable=False),
        sa.Column("type", sa.String(10), nullable=False),
        sa.Column("first_label", sa.String(200), nullable=False),
        sa.Column("first_value", sa.String(16), nullable=False),
    )
    op.create_index(
        "ix_scheduled_query_metric_names",
        "scheduled_query_metric_names",
        ["metric_name", "type", "first_label", "first_value"],
    )
    op.create_table(
        "scheduled_query_series",
        sa.Column("query_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("metric_key", sa.String(16), primary_key=True),
        sa.Column("digest", sa.String(16), primary_key=True),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("text", sa.LargeBinary, nullable=False),
    )
    rows = _names()
    if rows:
        op.bulk_insert(names, rows)


def _names() -> list[dict[str, object]]:
    """The names that queries publish already."""
    live = queries.c.metric_config.is_not(None) & queries.c.deleted_at.is_(None)
    found = op.get_bind().execute(sa.select(queries.c.id, queries.c.metric_config).where(live)).all()
    return [_name(query_id, json.loads(text)[0]) for query_id, text in found]


def _name(query_id: int, metric: dict[str, object]) -> dict[str, object]:
    labels = metric.get("labels")
    assert isinstance(labels, dict)
    label = min(labels, default="")
    return {
        "query_id": query_id,
        "position": 0,
        "metric_name": metric["metric_name"],
        "type": "gauge",
        "first_label": label,
        "first_value": blake2b(labels.get(label, "").encode(), digest_size=8).hexdigest(),
    }
