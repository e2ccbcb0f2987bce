"""Where sources are: resolved at use, edits seen at once, the product's own store refused."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from cryptography.fernet import Fernet
from plugbay import Secrets, Store
from plugbay.store import open_store
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.catalogue import LOOK_S, SCHEMA_S, Catalogue
from plugbay_scheduled_query.catalogue.targets import SAMPLE_FILE, own_store_of
from plugbay_scheduled_query.core.errors import SourceProblem, SourceUnavailableError
from plugbay_scheduled_query.core.source import Source
from plugbay_scheduled_query.dialects.contract import Report, Table
from plugbay_scheduled_query.repository.sources import Origin, SourceRepository


class Looking:
    """Looks at nothing, and counts how often."""

    def __init__(self):
        self.count = 0
        self.is_down = False

    def tables(self, target):
        self.count += 1
        if self.is_down:
            raise SourceUnavailableError("no connection within 10 s")
        return [Table("", f"table_{self.count}", [("id", "INTEGER")])]

    def self_test(self, target):
        return Report("a server")


@pytest.fixture
def store(tmp_path) -> Store:
    opened = open_store("", tmp_path / "data")
    opened.migrate("scheduled_query", Path(tables.__file__).parent / "migrations")
    yield opened
    opened.close()


@pytest.fixture
def sources(store, clock):
    return SourceRepository(store, Secrets([Fernet.generate_key()]), clock)


@pytest.fixture
def looking():
    return Looking()


@pytest.fixture
def make_book(store, clock, sources, looking, tmp_path):
    host = SimpleNamespace(store=store, clock=clock, data_dir=tmp_path / "data")
    return lambda: Catalogue(sources, looking, host)


@pytest.fixture
def catalogue(make_book):
    return make_book()


@pytest.fixture
def shop(sources, tmp_path):
    return sources.add(Source("shop", f"sqlite:///{tmp_path / 'shop.db'}"), "sqlite")


def test_a_source_becomes_what_a_runner_needs(catalogue, shop, tmp_path):
    target = catalogue.target(shop.id)
    assert (target.dialect, target.params) == ("sqlite", {"path": str(tmp_path / "shop.db")})


def test_many_runs_at_once_read_the_row_once(catalogue, shop, sources, monkeypatch):
    read = []
    get = SourceRepository.get
    monkeypatch.setattr(SourceRepository, "get", lambda self, key: read.append(key) or get(self, key))
    for _ in range(100):
        catalogue.target(shop.id)
    assert read == [shop.id]


def test_an_edit_by_another_process_counts_at_once(catalogue, make_book, sources, shop, clock, tmp_path):
    assert catalogue.target(shop.id).params["path"].endswith("shop.db")
    sources.update(shop.id, Source("shop", f"sqlite:///{tmp_path / 'other.db'}"), "sqlite", Origin.ADMIN)
    clock.advance(2 * LOOK_S)
    assert catalogue.target(shop.id).params["path"].endswith("other.db")


def test_an_edit_in_this_process_counts_with_the_next_call(catalogue, sources, shop, tmp_path):
    catalogue.target(shop.id)
    sources.update(shop.id, Source("shop", f"sqlite:///{tmp_path / 'other.db'}"), "sqlite", Origin.ADMIN)
    catalogue.forget(shop.id)
    assert catalogue.target(shop.id).params["path"].endswith("other.db")


def test_a_source_that_is_gone_is_a_problem_in_a_sentence(catalogue, sources, shop, clock):
    catalogue.target(shop.id)
    sources.delete(shop.id)
    clock.advance(2 * LOOK_S)
    with pytest.raises(SourceProblem, match="does not exist any more"):
        catalogue.target(shop.id)


def test_references_are_looked_up_at_use(catalogue, sources, clock, monkeypatch, tmp_path):
    secret = tmp_path / "password"
    secret.write_text("from-file\n")
    monkeypatch.setenv("SCHEDULED_QUERY_SECRET_FOLDERS", str(tmp_path))
    monkeypatch.setenv("DB_PASSWORD", "from-env")
    one = sources.add(Source("one", "postgresql://u:env%3ADB_PASSWORD@h/d"), "postgresql")
    two = sources.add(Source("two", f"postgresql://u@h/d?password=file:{secret}"), "postgresql")
    assert catalogue.target(one.id).params["connect"]["password"] == "from-env"
    assert catalogue.target(two.id).params["connect"]["password"] == "from-file"
    monkeypatch.setenv("DB_PASSWORD", "rotated")
    secret.write_text("rotated too")
    clock.advance(2 * LOOK_S)
    assert catalogue.target(one.id).params["connect"]["password"] == "rotated"
    assert catalogue.target(two.id).params["connect"]["password"] == "rotated too"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("env:NOBODY_EVER_SET_THIS_URL", "the environment variable NOBODY_EVER_SET_THIS_URL is not set"),
        ("env:PLUGBAY_ENCRYPTION_KEY", "is a secret of Plugbay itself"),
        ("oracle://u:p@h/d", "no proven guard for oracle"),
    ],
)
def test_what_cannot_be_used_is_a_problem_that_names_the_source(catalogue, sources, url, reason):
    source = sources.add(Source("odd", url), "?")
    with pytest.raises(SourceProblem, match="the data source “odd” cannot be used: ") as problem:
        catalogue.target(source.id)
    assert reason in str(problem.value)
    [view] = catalogue.views()
    assert reason in view.problem


def test_an_accepted_database_without_a_guard_can_be_asked(catalogue, sources):
    source = sources.add(Source("odd", "oracle+oracledb://u:p@h/d", accepts_unguarded=True), "oracle")
    target = catalogue.target(source.id)
    assert (target.dialect, target.language) == ("unguarded", "oracle")


def test_the_own_store_and_its_folder_are_refused_except_for_the_sample(catalogue, sources, tmp_path):
    data = tmp_path / "data"
    (tmp_path / "link.db").symlink_to(data / "plugbay.db")
    os.link(data / "plugbay.db", tmp_path / "hard.db")
    with closing(sqlite3.connect(data / SAMPLE_FILE)) as connection, connection:
        connection.execute("CREATE TABLE t (n)")
    for path in (data / "plugbay.db", data / "anything.db", tmp_path / "link.db", tmp_path / "hard.db"):
        source = sources.add(Source(f"own {path.parent.name} {path.name}", f"sqlite:///{path}"), "sqlite")
        with pytest.raises(SourceProblem, match="Plugbay's"):
            catalogue.target(source.id)
    sample = sources.add(Source("sample", f"sqlite:///{data / SAMPLE_FILE}"), "sqlite", Origin.SAMPLE)
    assert catalogue.target(sample.id).dialect == "sqlite"


def test_a_store_on_postgresql_is_known_by_its_identity_and_its_tables(postgres_url, tmp_path, clock):
    opened = open_store(postgres_url, tmp_path / "data")
    try:
        own = own_store_of(SimpleNamespace(store=opened, clock=clock, data_dir=tmp_path / "data"))
    finally:
        opened.close()
    assert own.identity is not None
    assert "/" in own.identity.identity
    assert {"users", "sessions", "api_tokens", "scheduled_query_sources"} <= set(own.identity.tables)


def test_views_mask_passwords_and_count_queries(catalogue, sources, store, shop):
    sources.add(Source("pg", "postgresql://u:s3cret@h/d?sslpassword=hush"), "postgresql")
    first, second = catalogue.views()
    assert (first.stored.name, first.masked_url) == ("pg", "postgresql://u:***@h/d?sslpassword=***")
    assert (second.problem, second.query_count) == (None, 0)
    assert catalogue.view(shop.id) == second
    assert catalogue.view(99) is None


def test_a_secret_that_cannot_be_read_is_to_be_entered_again(store, clock, make_book, catalogue, shop):
    with store.begin() as connection:
        connection.execute(sa.update(tables.data_sources).values(secret_url="not ours"))
    with pytest.raises(SourceProblem, match="secret unreadable, enter it again"):
        catalogue.target(shop.id)
    view = catalogue.view(shop.id)
    assert (view.masked_url, view.problem) == (None, "secret unreadable, enter it again")


def test_the_dialect_of_a_reference_is_that_of_what_it_leads_to(catalogue, monkeypatch):
    monkeypatch.setenv("SHOP_URL", "mariadb://u:p@h/d")
    assert catalogue.dialect_of(Source("a", "env:SHOP_URL")) == "mysql"
    assert catalogue.dialect_of(Source("a", "env:NOBODY_EVER_SET_THIS_URL")) == "unknown"
    assert catalogue.dialect_of(Source("a", "duckdb:////x.duckdb")) == "duckdb"


def test_adopting_the_setting_makes_its_sources_usable(catalogue, sources, tmp_path):
    catalogue.adopt([Source("set", f"sqlite:///{tmp_path / 'set.db'}")])
    stored = sources.by_name("set")
    assert (stored.dialect, stored.is_locked) == ("sqlite", True)
    assert catalogue.target(stored.id).params["path"].endswith("set.db")


# schema


def test_tables_are_remembered_and_read_anew_when_asked_or_old(catalogue, shop, looking, clock):
    assert [table.name for table in catalogue.schema(shop.id).tables] == ["table_1"]
    assert [table.name for table in catalogue.schema(shop.id).tables] == ["table_1"]
    assert [table.name for table in catalogue.schema(shop.id, is_fresh=True).tables] == ["table_2"]
    clock.advance(SCHEMA_S)
    found = catalogue.schema(shop.id)
    assert [table.name for table in found.tables] == ["table_3"]
    assert found.read_at == clock.now()


def test_another_place_has_other_tables(catalogue, sources, shop, looking, clock, tmp_path):
    catalogue.schema(shop.id)
    sources.update(shop.id, Source("shop", f"sqlite:///{tmp_path / 'other.db'}"), "sqlite", Origin.ADMIN)
    catalogue.forget(shop.id)
    assert [table.name for table in catalogue.schema(shop.id).tables] == ["table_2"]


def test_old_tables_do_not_pile_up(catalogue, sources, shop, clock, tmp_path):
    for number in range(5):
        sources.update(shop.id, Source("shop", f"sqlite:///{tmp_path / str(number)}"), "sqlite", Origin.ADMIN)
        catalogue.forget(shop.id)
        catalogue.schema(shop.id)
        clock.advance(SCHEMA_S)
    assert len(catalogue._schemas) == 1


def test_tables_that_cannot_be_read_are_a_problem(catalogue, shop, looking):
    looking.is_down = True
    with pytest.raises(SourceProblem, match="no connection within 10 s"):
        catalogue.schema(shop.id)
