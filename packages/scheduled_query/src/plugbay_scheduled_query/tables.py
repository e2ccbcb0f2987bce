"""The service's tables. A definition and what its executions leave behind are rows of two tables, so that
an edit and a run that finishes at the same time never overwrite each other."""

import sqlalchemy as sa
from plugbay import UTCDateTime, new_metadata

metadata = new_metadata()

data_sources = sa.Table(
    "scheduled_query_sources",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(100), nullable=False, unique=True),
    sa.Column("dialect", sa.String(50), nullable=False),
    sa.Column("secret_url", sa.Text, nullable=False),  # encrypted by the host
    sa.Column("is_unproven_accepted", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("origin", sa.String(10), nullable=False),  # settings, admin or sample
    sa.Column("pace_s", sa.Integer),  # null: the setting interval
    sa.Column("max_parallel", sa.Integer),  # null: the setting
    sa.Column("last_test", sa.Text),  # JSON: when it was tested, and what came of it
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("updated_at", UTCDateTime, nullable=False),
    sqlite_autoincrement=True,
)

lanes = sa.Table(
    "scheduled_query_lanes",
    metadata,
    sa.Column("source_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("run_id", sa.Integer),  # who runs there now
    sa.Column("ended_at", UTCDateTime),  # when the last one ended: the next waits from then on
)

# sessions that a server did not end when it was told to: while a source has one, nothing starts there
pauses = sa.Table(
    "scheduled_query_pauses",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("source_id", sa.Integer, nullable=False),
    sa.Column("mark", sa.String(100), nullable=False),  # what the server knows the session by
    sa.Column("title", sa.String(200), nullable=False),  # what the session was about
    sa.Column("since", UTCDateTime, nullable=False),
    sa.UniqueConstraint("source_id", "mark"),
)

# times in which the schedule started nothing: why a run is missing can be told long afterwards
standstills = sa.Table(
    "scheduled_query_standstills",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("kind", sa.String(10), nullable=False),  # down, all or source
    sa.Column("source_id", sa.Integer),  # of the kind source
    sa.Column("since", UTCDateTime, nullable=False),
    sa.Column("until", UTCDateTime),  # null while it lasts
    sa.Column("by", sa.String(150)),  # who paused; null where nobody wanted it
    sa.Column("ended_by", sa.String(150)),
    sa.Index("ix_scheduled_query_standstills", "kind", "until"),
)

# each time that a query was enabled or disabled
switches = sa.Table(
    "scheduled_query_switches",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("query_id", sa.Integer, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
    sa.Column("enabled", sa.Boolean, nullable=False),
    sa.Column("by", sa.String(150)),
    sa.Index("ix_scheduled_query_switches", "query_id", "at"),
)

queries = sa.Table(
    "scheduled_queries",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("cron_schedule", sa.String(128), nullable=False),
    sa.Column("timezone", sa.String(64)),
    sa.Column("enabled", sa.Boolean, nullable=False),
    sa.Column("render_type", sa.String(10), nullable=False),
    sa.Column("metric_config", sa.Text),  # JSON: the list of its metrics; null without any
    # hash of the first metric's name and labels: the wall behind the check against two of a kind
    sa.Column("series_key", sa.String(64), unique=True),
    sa.Column("chart", sa.Text),  # JSON; null: a table is drawn as one
    sa.Column("source_id", sa.Integer, nullable=False, index=True),
    sa.Column("timeout", sa.Integer),
    sa.Column("description", sa.Text, nullable=False, server_default=""),
    sa.Column("tags", sa.Text, nullable=False, server_default="[]"),  # JSON
    sa.Column("search_text", sa.Text, nullable=False),  # all that a search looks into, folded
    sa.Column("version", sa.Integer, nullable=False, server_default="1"),
    sa.Column("created_by", sa.String(150)),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("updated_by", sa.String(150)),
    sa.Column("updated_at", UTCDateTime, nullable=False),
    sa.Column("deleted_at", UTCDateTime),  # hidden at once, its rows go in small steps
    sa.Column("next_run_at", UTCDateTime),  # null: never by itself (disabled or deleted)
    sa.Column("last_due_at", UTCDateTime),  # the last time that was claimed: none is claimed twice
    # what is due in a source, oldest first: a cycle costs what is due, not what exists
    sa.Index("ix_scheduled_queries_due", "source_id", "next_run_at", "id"),
    sa.Index("ix_scheduled_queries_next", "next_run_at"),
    sa.Index("ix_scheduled_queries_deleted", "deleted_at"),
    sqlite_autoincrement=True,  # the id of a deleted query never comes back
)

# what definitions were: a save keeps what it writes over, and the newest version is the definition itself
versions = sa.Table(
    "scheduled_query_versions",
    metadata,
    sa.Column("query_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", UTCDateTime, nullable=False),
    sa.Column("by", sa.String(150)),
    sa.Column("source_id", sa.Integer, nullable=False),  # its name may be another by now
    sa.Column("definition", sa.Text, nullable=False),  # JSON: the fields as the API takes them
)

states = sa.Table(
    "scheduled_query_states",
    metadata,
    sa.Column("query_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("last_executed", UTCDateTime),
    sa.Column("last_status", sa.String(10)),
    sa.Column("last_error", sa.Text),
    sa.Column("last_duration_ms", sa.Integer),
    sa.Column("last_result_id", sa.Integer),  # of the last success
    sa.Column("last_success_at", UTCDateTime),
    sa.Column("metric_value", sa.Float),  # of metrics without columns, kept over restarts
    sa.Column("metric_problem", sa.Text),  # what the latest result did not give its metrics
    sa.Column("recent", sa.Text, nullable=False, server_default="[[],[]]"),  # JSON: last values and durations
    # the dense numbers of the live history rows, of all and of each status: totals need no count
    sa.Column("first_number", sa.Integer, nullable=False, server_default="1"),
    sa.Column("last_number", sa.Integer, nullable=False, server_default="0"),
    sa.Column("first_success", sa.Integer, nullable=False, server_default="1"),
    sa.Column("last_success", sa.Integer, nullable=False, server_default="0"),
    sa.Column("first_failed", sa.Integer, nullable=False, server_default="1"),
    sa.Column("last_failed", sa.Integer, nullable=False, server_default="0"),
    sa.Column("first_timeout", sa.Integer, nullable=False, server_default="1"),
    sa.Column("last_timeout", sa.Integer, nullable=False, server_default="0"),
    sa.Column("changed_at", UTCDateTime, nullable=False),
    sa.Column("changed_by", sa.String(40)),  # the node that recorded; null for edits, which all must read
    sa.Column(
        "kept_bytes", sa.BigInteger, nullable=False, server_default="0"
    ),  # of the results in the history
    sa.Column("cut_at", UTCDateTime),  # when the quota of bytes last took executions away; null: not lately
    sa.Column("alert_count", sa.Integer, nullable=False, server_default="0"),  # none: nothing is looked up
    sa.Index("ix_scheduled_query_states_changed", "changed_at", "changed_by"),  # what others have yet to see
)

metric_names = sa.Table(
    "scheduled_query_metric_names",
    metadata,
    sa.Column("query_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("metric_name", sa.String(200), nullable=False),
    sa.Column("type", sa.String(10), nullable=False),
    # its first fixed label and a hash of the value: who has another value there need not be looked at
    sa.Column("first_label", sa.String(200), nullable=False),
    sa.Column("first_value", sa.String(16), nullable=False),
    sa.Index("ix_scheduled_query_metric_names", "metric_name", "type", "first_label", "first_value"),
)

series = sa.Table(
    "scheduled_query_series",
    metadata,
    sa.Column("query_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("metric_key", sa.String(16), primary_key=True),  # which of its metrics: a hash of what it is
    sa.Column("digest", sa.String(16), primary_key=True),  # of the text: a part is only ever replaced
    sa.Column("size", sa.Integer, nullable=False),  # samples
    sa.Column("text", sa.LargeBinary, nullable=False),  # the lines of /metrics, in UTF-8
)

runs = sa.Table(
    "scheduled_query_runs",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    # a query never overlaps itself, and Run Now joins what is running
    sa.Column("query_id", sa.Integer, nullable=False, unique=True),
    sa.Column("source_id", sa.Integer, nullable=False, index=True),
    sa.Column("trigger", sa.String(10), nullable=False),
    sa.Column("triggered_by", sa.String(150)),
    sa.Column("due_at", UTCDateTime),
    sa.Column("missed", sa.Integer, nullable=False, server_default="0"),
    sa.Column("attempt", sa.Integer, nullable=False, server_default="1"),
    sa.Column("node", sa.String(40), nullable=False, index=True),
    sa.Column("claimed_at", UTCDateTime, nullable=False),
    sa.Column("lease_until", UTCDateTime),  # on PostgreSQL; on SQLite the node's lock file speaks
    sa.Column("cancelled_by", sa.String(150)),  # somebody wants it to stop, perhaps on another node
    sqlite_autoincrement=True,
)

results = sa.Table(
    "scheduled_query_results",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("query_id", sa.Integer, nullable=False, index=True),
    sa.Column("columns", sa.Text, nullable=False),  # JSON
    sa.Column("row_count", sa.Integer, nullable=False),
    sa.Column("preview", sa.Text),  # JSON: the first rows; null when they are all there is
    # JSON: the rows; last, because SQLite would read ten megabytes to reach what stands behind them
    sa.Column("text", sa.Text, nullable=False),
    sqlite_autoincrement=True,
)

history = sa.Table(
    "scheduled_query_history",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("query_id", sa.Integer, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),  # dense within the query
    sa.Column("status_number", sa.Integer, nullable=False),  # dense within the query and status
    sa.Column("executed_at", UTCDateTime, nullable=False),
    sa.Column("duration_ms", sa.Integer, nullable=False),
    sa.Column("status", sa.String(10), nullable=False),
    sa.Column("error_message", sa.Text),
    sa.Column("result_id", sa.Integer, index=True),
    sa.Column("metric_value", sa.Float),
    sa.Column("snapshot", sa.Text),  # JSON: the gauge of this execution
    sa.Column("due_at", UTCDateTime),
    sa.Column("missed", sa.Integer, nullable=False, server_default="0"),
    sa.Column("attempt", sa.Integer, nullable=False, server_default="1"),
    sa.Column("trigger", sa.String(10), nullable=False),
    sa.Column("triggered_by", sa.String(150)),
    sa.Column("truncated", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("result_bytes", sa.Integer, nullable=False, server_default="0"),
    sa.UniqueConstraint("query_id", "number"),
    sa.UniqueConstraint("query_id", "status", "status_number"),
    sa.UniqueConstraint("query_id", "due_at"),  # one execution for each due time, whatever crashes
    sa.Index("ix_scheduled_query_history_when", "query_id", "executed_at", "number"),
    sa.Index("ix_scheduled_query_history_how", "query_id", "status", "executed_at", "status_number"),
    sa.Index("ix_scheduled_query_history_all", "executed_at", "id"),
    sa.Index("ix_scheduled_query_history_all_by_status", "status", "executed_at", "id"),
    sqlite_autoincrement=True,
)

marks = sa.Table(
    "scheduled_query_marks",
    metadata,
    sa.Column("name", sa.String(50), primary_key=True),  # what was done once: samples made
    sa.Column("at", UTCDateTime, nullable=False),
)

channels = sa.Table(
    "scheduled_query_channels",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(100), nullable=False, unique=True),
    sa.Column("secret_url", sa.Text, nullable=False),  # encrypted by the host
    sa.Column("masked_url", sa.Text, nullable=False),  # what people see of it, also without the key
    sa.Column("is_default", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("claimed_by", sa.String(40)),  # who sends through it now: one at a time in the cluster
    sa.Column("claimed_until", UTCDateTime),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("updated_at", UTCDateTime, nullable=False),
    sqlite_autoincrement=True,
)

alerts = sa.Table(
    "scheduled_query_alerts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("query_id", sa.Integer, nullable=False, index=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("enabled", sa.Boolean, nullable=False),
    sa.Column("severity", sa.String(10), nullable=False),
    sa.Column("condition", sa.Text, nullable=False),  # JSON
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
    sa.Column("memory", sa.Text),  # what the next judgement needs of the last one
    sa.Column("counts_from", UTCDateTime),  # the last success, else the making: what stale counts from
    sa.Column("last_value", sa.Text),  # a number by its digits
    sa.Column("last_evaluated", UTCDateTime),
    sa.Column("last_notified", UTCDateTime),
    sa.Column("problem", sa.Text),
    sa.Column("fired_event_id", sa.Integer),  # while it fires
    sa.Column("told_at", UTCDateTime),  # the last event that was to be sent: repeats count from it
    sa.Column("look_at", UTCDateTime, index=True),  # when time alone may change something; mostly null
    sa.Column("changed_at", UTCDateTime, nullable=False, index=True),  # of the state or the definition
    sqlite_autoincrement=True,
)

alert_channels = sa.Table(
    "scheduled_query_alert_channels",
    metadata,
    sa.Column("alert_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("channel_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Index("ix_scheduled_query_alert_channels_of_channel", "channel_id"),
)

alert_events = sa.Table(
    "scheduled_query_alert_events",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("alert_id", sa.Integer, nullable=False),
    sa.Column("query_id", sa.Integer, nullable=False),
    # as they were then: a message that is sent late tells of what happened
    sa.Column("alert_name", sa.String(200), nullable=False),
    sa.Column("query_name", sa.String(200), nullable=False),
    sa.Column("severity", sa.String(10), nullable=False),
    sa.Column("kind", sa.String(10), nullable=False),
    sa.Column("at", UTCDateTime, nullable=False, index=True),
    sa.Column("started_at", UTCDateTime, nullable=False),  # since when it fires
    sa.Column("value", sa.Text),
    sa.Column("execution_id", sa.Integer),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("rows", sa.Text),
    sa.Column("labels", sa.Text, nullable=False),  # JSON
    sa.Index("ix_scheduled_query_alert_events_of_alert", "alert_id", "id"),
    sa.Index("ix_scheduled_query_alert_events_of_query", "query_id", "id"),
    sqlite_autoincrement=True,
)

alert_deliveries = sa.Table(
    "scheduled_query_alert_deliveries",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("event_id", sa.Integer, nullable=False, index=True),
    sa.Column("alert_id", sa.Integer, nullable=False),
    sa.Column("channel_id", sa.Integer, nullable=False),
    sa.Column("channel_name", sa.String(100), nullable=False),
    sa.Column("status", sa.String(10), nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("error", sa.Text),
    sa.Column("made_at", UTCDateTime, nullable=False),
    sa.Column("next_at", UTCDateTime),  # null: it is over
    sa.Index("ix_scheduled_query_alert_deliveries_due", "next_at"),
    sa.Index("ix_scheduled_query_alert_deliveries_of_channel", "channel_id", "next_at"),
    sqlite_autoincrement=True,
)

boards = sa.Table(
    "scheduled_query_boards",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False, unique=True),
    sa.Column("span", sa.String(3), nullable=False),
    # JSON, in their order; those of deleted queries are left out when it is read, and go with the next edit
    sa.Column("cards", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False, server_default="1"),
    sa.Column("created_by", sa.String(150)),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("updated_by", sa.String(150)),
    sa.Column("updated_at", UTCDateTime, nullable=False),
    sqlite_autoincrement=True,
)
