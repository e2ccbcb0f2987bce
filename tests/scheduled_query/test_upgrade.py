"""A store of the first version with a history in it, brought up to date: what is kept is measured."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import plugbay_scheduled_query
import pytest
import sqlalchemy as sa
from plugbay import Store
from plugbay.store import open_store

SCRIPTS = Path(plugbay_scheduled_query.__file__).parent / "migrations"
ROWS = """
INSERT INTO scheduled_query_states (query_id, changed_at)
  VALUES (1, '2026-11-15 12:00:00'), (2, '2026-11-15 12:00:00');
INSERT INTO scheduled_query_results (id, query_id, columns, row_count, text) VALUES
  (1, 1, '[]', 1, '[[1]]'), (2, 1, '[]', 1, '[["abc"]]');
INSERT INTO scheduled_query_history
  (id, query_id, number, status_number, executed_at, duration_ms, status, result_id, trigger) VALUES
  (1, 1, 1, 1, '2026-11-15 12:00:00', 5, 'success', 1, 'manual'),
  (2, 1, 2, 2, '2026-11-15 12:01:00', 5, 'success', 2, 'manual'),
  (3, 1, 3, 1, '2026-11-15 12:02:00', 5, 'failed', NULL, 'manual'),
  (4, 1, 4, 3, '2026-11-15 12:03:00', 5, 'success', 99, 'manual')
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def old_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store as the first version left it."""
    first = tmp_path / "first/versions"
    first.mkdir(parents=True)
    shutil.copy(SCRIPTS / "versions/0001_first_schema.py", first)
    url = "" if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))
    with closing(open_store(url, tmp_path / "data")) as store:
        store.migrate("scheduled_query", first.parent)
        with store.begin() as connection:
            for statement in ROWS.split(";"):
                connection.exec_driver_sql(statement)
        yield store


def test_what_a_history_takes_is_measured_once(old_store: Store):
    old_store.migrate("scheduled_query", SCRIPTS)
    with old_store.connect() as connection:
        sizes = sa.text("SELECT result_bytes FROM scheduled_query_history ORDER BY id")
        assert connection.scalars(sizes).all() == [5, 9, 0, 0]
        kept = sa.text("SELECT kept_bytes FROM scheduled_query_states ORDER BY query_id")
        assert connection.scalars(kept).all() == [14, 0]
        assert connection.scalars(sa.text("SELECT id FROM scheduled_query_pauses")).all() == []
