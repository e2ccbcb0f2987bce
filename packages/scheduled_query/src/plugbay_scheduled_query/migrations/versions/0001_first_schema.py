"""The first schema: definitions, states, runs, lanes, results, history, data sources."""

import sqlalchemy as sa
from alembic import op
from plugbay import UTCDateTime

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "scheduled_query_sources",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(100), nullable=False, unique=True),
        sa.Column("dialect", sa.String(50), nullable=False),
        sa.Column("secret_url", sa.Text, nullable=False),
        sa.Column("is_unproven_accepted", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("origin", sa.String(10), nullable=False),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("updated_at", UTCDateTime, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "scheduled_query_lanes",
        sa.Column("source_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("run_id", sa.Integer),
        sa.Column("ended_at", UTCDateTime),
    )
    op.create_table(
        "scheduled_queries",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("query", sa.Text, nullable=False),
        sa.Column("cron_schedule", sa.String(128), nullable=False),
        sa.Column("timezone", sa.String(64)),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("render_type", sa.String(10), nullable=False),
        sa.Column("metric_config", sa.Text),
        sa.Column("series_key", sa.String(64), unique=True),
        sa.Column("source_id", sa.Integer, nullable=False),
        sa.Column("timeout", sa.Integer),
        sa.Column("description", sa.Text, nullable=False, server_default=""),
        sa.Column("tags", sa.Text, nullable=False, server_default="[]"),
        sa.Column("search_text", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False, server_default="1"),
        sa.Column("created_by", sa.String(150)),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("updated_by", sa.String(150)),
        sa.Column("updated_at", UTCDateTime, nullable=False),
        sa.Column("deleted_at", UTCDateTime),
        sa.Column("next_run_at", UTCDateTime),
        sa.Column("last_due_at", UTCDateTime),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_scheduled_queries_source_id", "scheduled_queries", ["source_id"])
    op.create_index("ix_scheduled_queries_due", "scheduled_queries", ["source_id", "next_run_at", "id"])
    op.create_index("ix_scheduled_queries_next", "scheduled_queries", ["next_run_at"])
    op.create_index("ix_scheduled_queries_deleted", "scheduled_queries", ["deleted_at"])
    op.create_table(
        "scheduled_query_states",
        sa.Column("query_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("last_executed", UTCDateTime),
        sa.Column("last_status", sa.String(10)),
        sa.Column("last_error", sa.Text),
        sa.Column("last_duration_ms", sa.Integer),
        sa.Column("last_result_id", sa.Integer),
        sa.Column("last_success_at", UTCDateTime),
        sa.Column("metric_value", sa.Float),
        sa.Column("recent", sa.Text, nullable=False, server_default="[[],[]]"),
        sa.Column("first_number", sa.Integer, nullable=False, server_default="1"),
        sa.Column("last_number", sa.Integer, nullable=False, server_default="0"),
        sa.Column("first_success", sa.Integer, nullable=False, server_default="1"),
        sa.Column("last_success", sa.Integer, nullable=False, server_default="0"),
        sa.Column("first_failed", sa.Integer, nullable=False, server_default="1"),
        sa.Column("last_failed", sa.Integer, nullable=False, server_default="0"),
        sa.Column("first_timeout", sa.Integer, nullable=False, server_default="1"),
        sa.Column("last_timeout", sa.Integer, nullable=False, server_default="0"),
        sa.Column("changed_at", UTCDateTime, nullable=False),
    )
    op.create_index("ix_scheduled_query_states_changed_at", "scheduled_query_states", ["changed_at"])
    op.create_table(
        "scheduled_query_runs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("query_id", sa.Integer, nullable=False, unique=True),
        sa.Column("source_id", sa.Integer, nullable=False),
        sa.Column("trigger", sa.String(10), nullable=False),
        sa.Column("triggered_by", sa.String(150)),
        sa.Column("due_at", UTCDateTime),
        sa.Column("missed", sa.Integer, nullable=False, server_default="0"),
        sa.Column("attempt", sa.Integer, nullable=False, server_default="1"),
        sa.Column("node", sa.String(40), nullable=False),
        sa.Column("claimed_at", UTCDateTime, nullable=False),
        sa.Column("lease_until", UTCDateTime),
        sa.Column("cancelled_by", sa.String(150)),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_scheduled_query_runs_source_id", "scheduled_query_runs", ["source_id"])
    op.create_index("ix_scheduled_query_runs_node", "scheduled_query_runs", ["node"])
    op.create_table(
        "scheduled_query_results",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("query_id", sa.Integer, nullable=False),
        sa.Column("columns", sa.Text, nullable=False),
        sa.Column("row_count", sa.Integer, nullable=False),
        sa.Column("preview", sa.Text),
        sa.Column("text", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_scheduled_query_results_query_id", "scheduled_query_results", ["query_id"])
    op.create_table(
        "scheduled_query_history",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("query_id", sa.Integer, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("status_number", sa.Integer, nullable=False),
        sa.Column("executed_at", UTCDateTime, nullable=False),
        sa.Column("duration_ms", sa.Integer, nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("error_message", sa.Text),
        sa.Column("result_id", sa.Integer),
        sa.Column("metric_value", sa.Float),
        sa.Column("snapshot", sa.Text),
        sa.Column("due_at", UTCDateTime),
        sa.Column("missed", sa.Integer, nullable=False, server_default="0"),
        sa.Column("attempt", sa.Integer, nullable=False, server_default="1"),
        sa.Column("trigger", sa.String(10), nullable=False),
        sa.Column("triggered_by", sa.String(150)),
        sa.Column("truncated", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.UniqueConstraint("query_id", "number"),
        sa.UniqueConstraint("query_id", "status", "status_number"),
        sa.UniqueConstraint("query_id", "due_at"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_scheduled_query_history_result_id", "scheduled_query_history", ["result_id"])
    op.create_index(
        "ix_scheduled_query_history_when", "scheduled_query_history", ["query_id", "executed_at", "number"]
    )
    op.create_index(
        "ix_scheduled_query_history_how",
        "scheduled_query_history",
        ["query_id", "status", "executed_at", "status_number"],
    )
    op.create_index("ix_scheduled_query_history_all", "scheduled_query_history", ["executed_at", "id"])
    op.create_index(
        "ix_scheduled_query_history_all_by_status", "scheduled_query_history", ["status", "executed_at", "id"]
    )
    op.create_table(
        "scheduled_query_marks",
        sa.Column("name", sa.String(50), primary_key=True),
        sa.Column("at", UTCDateTime, nullable=False),
    )
