"""The same work by hand on the bare SQLite driver: what the service is measured against."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

GROUP = 128  # as many runs as the service records in one transaction


def claim(path: Path, now: str, most: int) -> float:
    """Milliseconds to read, move on and note down `most` due queries; the cron times are not worked out."""
    with closing(sqlite3.connect(path)) as connection:
        started = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        due = connection.execute(
            "SELECT id, name, query, source_id, timeout, metric_config, cron_schedule, timezone, next_run_at"
            " FROM scheduled_queries q WHERE next_run_at <= ?"
            " AND (last_due_at IS NULL OR next_run_at > last_due_at)"
            " AND NOT EXISTS (SELECT 1 FROM scheduled_query_runs r WHERE r.query_id = q.id)"
            " ORDER BY next_run_at, id LIMIT ?",
            (now, most),
        ).fetchall()
        connection.executemany(
            "UPDATE scheduled_queries SET last_due_at = next_run_at, next_run_at = ? WHERE id = ?",
            [(now, row[0]) for row in due],
        )
        connection.executemany(
            "INSERT INTO scheduled_query_runs (query_id, source_id, trigger, due_at, node, claimed_at)"
            " VALUES (?, ?, 'schedule', ?, 'raw', ?)",
            [(row[0], row[3], row[8], now) for row in due],
        )
        connection.commit()
        return (time.perf_counter() - started) * 1000


def record(path: Path, now: str, ids: range) -> float:
    """Milliseconds to write result, history row and state of each query once, in groups."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = NORMAL")
        started = time.perf_counter()
        for low in range(ids.start, ids.stop, GROUP):
            _record_group(connection, now, range(low, min(low + GROUP, ids.stop)))
        return (time.perf_counter() - started) * 1000


def _record_group(connection: sqlite3.Connection, now: str, ids: range) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for query in ids:
        result = connection.execute(
            "INSERT INTO scheduled_query_results (query_id, columns, row_count, text)"
            """ VALUES (?, '["1"]', 1, '[[1]]')""",
            (query,),
        ).lastrowid
        connection.execute(
            "INSERT INTO scheduled_query_history (query_id, number, status_number, executed_at, duration_ms,"
            " status, result_id, due_at, trigger)"
            " VALUES (?, 1000000, 1000000, ?, 1, 'success', ?, ?, 'schedule')",
            (query, now, result, now),
        )
        connection.execute(
            "UPDATE scheduled_query_states SET last_executed = ?, last_status = 'success',"
            " last_duration_ms = 1, last_result_id = ?, last_number = last_number + 1, changed_at = ?"
            " WHERE query_id = ?",
            (now, result, now, query),
        )
        connection.execute("DELETE FROM scheduled_query_runs WHERE query_id = ?", (query,))
    connection.commit()


def page(connection: sqlite3.Connection, lowest: int, highest: int) -> None:
    """A page of the history of the first query, with its results and the total."""
    connection.execute(
        "SELECT first_number, last_number FROM scheduled_query_states WHERE query_id = 1"
    ).fetchone()
    connection.execute(
        "SELECT h.*, r.text, r.columns FROM scheduled_query_history h"
        " LEFT JOIN scheduled_query_results r ON r.id = h.result_id"
        " WHERE h.query_id = 1 AND h.number BETWEEN ? AND ? ORDER BY h.number DESC",
        (lowest, highest),
    ).fetchall()
