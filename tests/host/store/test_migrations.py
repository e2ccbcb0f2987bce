"""Migrations per module: what a plugin brings, what the host brings, and what is refused."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from migration_scripts import write_plants, write_step
from plugbay.errors import MigrationFailed, MigrationsUnclear, StoreFull, StoreNewer
from plugbay.store import HOST_MIGRATIONS, Store
from plugbay.store.migrating import read_revisions


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    return tmp_path / "migrations"


def tables(store: Store) -> set[str]:
    return set(sa.inspect(store.engine).get_table_names())


def rows(store: Store, query: str) -> list[tuple[object, ...]]:
    with store.connect() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(query)]


def test_a_module_brings_steps_and_nothing_else(store: Store, scripts: Path) -> None:
    store.migrate("garden", write_plants(scripts))
    assert {"beds", "plants", "names"} < tables(store)
    assert rows(store, "SELECT version_num FROM alembic_version_garden") == [("0003",)]
    assert rows(store, "SELECT id, name, width FROM beds ORDER BY id") == [(1, "north", 4), (2, "south", 4)]


def test_rebuilding_a_table_keeps_the_rows_that_refer_to_it(store: Store, scripts: Path) -> None:
    store.migrate("garden", write_plants(scripts))
    assert rows(store, "SELECT id, bed FROM plants ORDER BY id") == [(1, 1), (2, 1), (3, 2)]
    with store.begin() as connection:
        connection.exec_driver_sql("DELETE FROM beds WHERE id = 1")
    assert rows(store, "SELECT id, bed FROM plants ORDER BY id") == [(3, 2)]


def test_a_step_that_leaves_rows_without_what_they_refer_to_is_taken_back(
    sqlite_store: Store, scripts: Path
) -> None:
    write_plants(scripts)
    write_step(scripts, "0004", "0003", 'op.execute("DELETE FROM beds WHERE id = 1")')
    with pytest.raises(MigrationFailed, match="0004 of garden failed: rows refer to rows"):
        sqlite_store.migrate("garden", scripts)
    assert len(rows(sqlite_store, "SELECT id FROM beds")) == 2


def test_each_module_has_its_own_versions(store: Store, scripts: Path, tmp_path: Path) -> None:
    store.migrate(
        "garden", write_step(scripts, "0001", None, 'op.create_table("beds", sa.Column("id", sa.Integer))')
    )
    store.migrate(
        "zoo",
        write_step(tmp_path / "zoo", "0001", None, 'op.create_table("cages", sa.Column("id", sa.Integer))'),
    )
    assert {"beds", "cages", "alembic_version_garden", "alembic_version_zoo"} < tables(store)
    assert rows(store, "SELECT version_num FROM alembic_version_plugbay") == [("0002",)]


def test_later_steps_are_run_when_they_come(store: Store, scripts: Path) -> None:
    write_step(scripts, "0001", None, 'op.create_table("beds", sa.Column("id", sa.Integer))')
    store.migrate("garden", scripts)
    write_step(scripts, "0002", "0001", 'op.add_column("beds", sa.Column("at", UTCDateTime))')
    store.migrate("garden", scripts)
    assert [column["name"] for column in sa.inspect(store.engine).get_columns("beds")] == ["id", "at"]


def test_a_module_without_steps_has_nothing_to_do(store: Store, scripts: Path) -> None:
    store.migrate("garden", scripts)
    (scripts / "versions").mkdir(parents=True)
    store.migrate("garden", scripts)
    assert "alembic_version_garden" not in tables(store)


def test_a_step_may_leave_its_constraints_unnamed(store: Store, scripts: Path) -> None:
    line = 'op.create_table("beds", sa.Column("id", sa.Integer), sa.Column("name", sa.Text, unique=True))'
    store.migrate("garden", write_step(scripts, "0001", None, line))
    unique = sa.inspect(store.engine).get_unique_constraints("beds")
    assert [constraint["name"] for constraint in unique] == ["uq_beds_name"]


def test_two_lines_of_steps_may_join_again(store: Store, scripts: Path) -> None:
    write_step(scripts, "0001", None, 'op.create_table("a", sa.Column("id", sa.Integer))')
    write_step(scripts, "0002a", "0001", 'op.create_table("b", sa.Column("id", sa.Integer))')
    write_step(scripts, "0002b", "0001", 'op.create_table("c", sa.Column("id", sa.Integer))')
    store.migrate("garden", write_step(scripts, "0003", ("0002a", "0002b")))
    assert {"a", "b", "c"} < tables(store)
    assert rows(store, "SELECT version_num FROM alembic_version_garden") == [("0003",)]


def test_postgresql_can_leave_the_transaction_where_it_must(
    postgres_url: str, data_dir: Path, scripts: Path
) -> None:
    store = Store(postgres_url, data_dir)
    write_step(scripts, "0001", None, 'op.create_table("beds", sa.Column("name", sa.Text))')
    write_step(
        scripts,
        "0002",
        "0001",
        "with op.get_context().autocommit_block():",
        '    op.create_index("ix_beds_name", "beds", ["name"], postgresql_concurrently=True)',
    )
    store.migrate("garden", scripts)
    assert [index["name"] for index in sa.inspect(store.engine).get_indexes("beds")] == ["ix_beds_name"]
    store.close()


def test_a_failing_step_is_named_and_the_steps_before_it_stay(store: Store, scripts: Path) -> None:
    write_step(scripts, "0001", None, 'op.create_table("beds", sa.Column("id", sa.Integer))')
    line = 'op.create_table("half", sa.Column("id", sa.Integer))'
    write_step(scripts, "0002", "0001", line, 'op.execute("INSERT INTO nowhere VALUES (1)")')
    with pytest.raises(MigrationFailed, match=r"Migration 0002 of garden failed: .*nowhere") as failed:
        store.migrate("garden", scripts)
    assert "\n" not in str(failed.value)
    assert "beds" in tables(store)
    assert "half" not in tables(store)
    assert rows(store, "SELECT version_num FROM alembic_version_garden") == [("0001",)]


def test_a_mended_step_is_run_at_the_next_start(store: Store, scripts: Path) -> None:
    line = 'op.create_table("beds", sa.Column("id", sa.Integer))'
    with pytest.raises(MigrationFailed, match="on purpose"):
        store.migrate("garden", write_step(scripts, "0001", None, line, 'raise RuntimeError("on purpose")'))
    store.migrate("garden", write_step(scripts, "0001", None, line))
    assert "beds" in tables(store)


def test_a_failing_module_does_not_keep_the_others_from_writing(
    store: Store, scripts: Path, tmp_path: Path
) -> None:
    with pytest.raises(MigrationFailed):
        store.migrate("garden", write_step(scripts, "0001", None, "raise RuntimeError"))
    store.migrate("zoo", write_plants(tmp_path / "zoo"))
    with store.begin() as connection:
        connection.exec_driver_sql("INSERT INTO names VALUES ('east')")


def test_a_full_disk_in_a_step_keeps_its_name(sqlite_store: Store, scripts: Path) -> None:
    limit = 'op.execute("PRAGMA max_page_count=50")'
    write_step(scripts, "0001", None, limit, 'op.execute("CREATE TABLE big AS SELECT zeroblob(1000000)")')
    with pytest.raises(StoreFull):
        sqlite_store.migrate("garden", scripts)


def test_references_are_kept_again_after_a_migration(sqlite_store: Store, scripts: Path) -> None:
    sqlite_store.migrate("garden", write_plants(scripts))
    with pytest.raises(sa.exc.IntegrityError), sqlite_store.begin() as connection:
        connection.exec_driver_sql("INSERT INTO plants (id, bed) VALUES (9, 99)")


def test_a_store_newer_than_the_code_is_refused_with_module_and_versions(store: Store, scripts: Path) -> None:
    store.migrate("garden", write_plants(scripts))
    (scripts / "versions" / "0003_step.py").unlink()
    message = "newer than the code: garden is at version 0003, this code knows up to 0002"
    with pytest.raises(StoreNewer, match=message):
        store.migrate("garden", scripts)
    assert {"beds", "plants", "names"} < tables(store)


def test_a_module_that_lost_all_its_steps_is_refused(store: Store, scripts: Path, tmp_path: Path) -> None:
    store.migrate("garden", write_plants(scripts))
    with pytest.raises(StoreNewer, match="this code knows up to none"):
        store.migrate("garden", tmp_path / "empty")


def test_a_name_that_postgresql_would_cut_is_refused(store: Store, scripts: Path) -> None:
    with pytest.raises(MigrationsUnclear, match="longer than 43 characters"):
        store.migrate("g" * 44, write_plants(scripts))
    store.migrate("g" * 43, write_plants(scripts))


def test_each_step_is_one_line_in_the_log(
    store: Store, scripts: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "plugbay"):
        store.migrate("garden", write_plants(scripts))
        store.migrate("garden", scripts)
    assert [record.getMessage() for record in caplog.records if record.name.startswith("plugbay")] == [
        "migrated module=garden version=0001",
        "migrated module=garden version=0002",
        "migrated module=garden version=0003",
    ]


def test_a_start_with_nothing_to_do_does_not_load_alembic(store: Store, data_dir: Path) -> None:
    program = """if True:
        import sys
        from pathlib import Path
        from plugbay.store import open_store
        open_store(sys.argv[1], Path(sys.argv[2])).close()
        print("alembic" in sys.modules)
    """
    url = "" if store.dialect == "sqlite" else store.url.render_as_string(hide_password=False)
    said = subprocess.run(
        [sys.executable, "-c", program, url, str(data_dir)], capture_output=True, text=True, check=True
    )
    assert said.stdout == "False\n"


def test_the_hosts_own_steps_can_be_read(scripts: Path) -> None:
    revisions = read_revisions("plugbay", HOST_MIGRATIONS)
    assert revisions.head in revisions.known


def test_annotated_names_and_lists_are_read_too(scripts: Path) -> None:
    write_step(scripts, "0001", None)
    text = 'revision: str = "0002"\ndown_revision: list[str] | None = ["0001"]\n\n\ndef upgrade(): pass\n'
    (scripts / "versions" / "second.py").write_text(text)
    assert read_revisions("garden", scripts).head == "0002"


def test_files_that_are_no_steps_are_passed_over(scripts: Path) -> None:
    write_step(scripts, "0001", None)
    for name in ("__init__.py", "._0001_step.py", "notes.txt"):
        (scripts / "versions" / name).write_bytes(b"\x00\x05\x16\x07")
    assert read_revisions("garden", scripts).known == {"0001"}


@pytest.mark.parametrize(
    "text",
    ["", 'revision = "1"', "down_revision = None", "revision = make()\ndown_revision = None", "def :", "\0"],
)
def test_a_file_that_does_not_say_what_it_is_is_named(scripts: Path, text: str) -> None:
    write_step(scripts, "0001", None)
    (scripts / "versions" / "odd.py").write_text(text)
    message = r"migrations of garden cannot be followed: odd\.py does not state"
    with pytest.raises(MigrationsUnclear, match=message):
        read_revisions("garden", scripts)


def test_two_ends_are_refused(scripts: Path) -> None:
    write_step(scripts, "0001", None)
    write_step(scripts, "0002", "0001")
    write_step(scripts, "0003", "0001")
    with pytest.raises(MigrationsUnclear, match="one end, not 0002, 0003"):
        read_revisions("garden", scripts)


def test_a_circle_is_refused(scripts: Path) -> None:
    write_step(scripts, "0001", "0002")
    write_step(scripts, "0002", "0001")
    with pytest.raises(MigrationsUnclear, match="not a circle"):
        read_revisions("garden", scripts)


def test_a_gap_is_refused(scripts: Path) -> None:
    write_step(scripts, "0002", "0001")
    with pytest.raises(MigrationsUnclear, match="0001 is named as a down_revision but is not there"):
        read_revisions("garden", scripts)


def test_the_same_revision_twice_is_refused(scripts: Path) -> None:
    write_step(scripts, "0001", None)
    copy = scripts / "versions" / "copy.py"
    copy.write_text((scripts / "versions" / "0001_step.py").read_text())
    with pytest.raises(MigrationsUnclear, match="another has too"):
        read_revisions("garden", scripts)
