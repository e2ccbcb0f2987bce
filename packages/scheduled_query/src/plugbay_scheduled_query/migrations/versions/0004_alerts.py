"""Alerts, the channels that they are told through, their events, and what is yet to be sent."""

import sqlalchemy as sa
from alembic import op
from plugbay import UTCDateTime

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column(
        "scheduled_query_states", sa.Column("alert_count", sa.Integer, nullable=False, server_default="0")
    )
    op.create_table(
        "scheduled_query_channels",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(100), nullable=False, unique=True),
        sa.Column("secret_url", sa.Text, nullable=False),
        sa.Column("masked_url", sa.Text, nullable=False),
        sa.Column("is_default", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("claimed_by", sa.String(40)),
        sa.Column("claimed_until", UTCDateTime),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("updated_at", UTCDateTime, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "scheduled_query_alerts",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("query_id", sa.Integer, nullable=False, index=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("severity", sa.String(10), nullable=False),
        sa.Column("condition", sa.Text, nullable=False),
        sa.Column("for_runs", sa.Integer, nullable=False),
        sa.Column("recover_runs", sa.Integer, nullable=False),
        sa.Column("repeat_minutes", sa.Integer),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("with_rows", sa.Boolean, nullable=False),
        sa.Column("version", sa.Integer, nullable=False, server_default="1"),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("muted_until", UTCDateTime),
        sa.Column("state", sa.String(10), nullable=False, index=True),
        sa.Column("state_since", UTCDateTime),
        sa.Column("trues", sa.Integer, nullable=False, server_default="0"),
        sa.Column("falses", sa.Integer, nullable=False, server_default="0"),
        sa.Column("memory", sa.Text),
        sa.Column("counts_from", UTCDateTime),
        sa.Column("last_value", sa.Text),
        sa.Column("last_evaluated", UTCDateTime),
        sa.Column("last_notified", UTCDateTime),
        sa.Column("problem", sa.Text),
        sa.Column("fired_event_id", sa.Integer),
        sa.Column("told_at", UTCDateTime),
        sa.Column("look_at", UTCDateTime, index=True),
        sa.Column("changed_at", UTCDateTime, nullable=False, index=True),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "scheduled_query_alert_channels",
        sa.Column("alert_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("channel_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Index("ix_scheduled_query_alert_channels_of_channel", "channel_id"),
    )
    op.create_table(
        "scheduled_query_alert_events",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("alert_id", sa.Integer, nullable=False),
        sa.Column("query_id", sa.Integer, nullable=False),
        sa.Column("alert_name", sa.String(200), nullable=False),
        sa.Column("query_name", sa.String(200), nullable=False),
        sa.Column("severity", sa.String(10), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("at", UTCDateTime, nullable=False, index=True),
        sa.Column("started_at", UTCDateTime, nullable=False),
        sa.Column("value", sa.Text),
        sa.Column("execution_id", sa.Integer),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("rows", sa.Text),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Index("ix_scheduled_query_alert_events_of_alert", "alert_id", "id"),
        sa.Index("ix_scheduled_query_alert_events_of_query", "query_id", "id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "scheduled_query_alert_deliveries",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("event_id", sa.Integer, nullable=False, index=True),
        sa.Column("alert_id", sa.Integer, nullable=False),
        sa.Column("channel_id", sa.Integer, nullable=False),
        sa.Column("channel_name", sa.String(100), nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("error", sa.Text),
        sa.Column("made_at", UTCDateTime, nullable=False),
        sa.Column("next_at", UTCDateTime),
        sa.Index("ix_scheduled_query_alert_deliveries_due", "next_at"),
        sa.Index("ix_scheduled_query_alert_deliveries_of_channel", "channel_id", "next_at"),
        sqlite_autoincrement=True,
    )
