import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from plugbay_scheduled_query.catalogue.targets import (
    SECRET_FOLDERS,
    SECRET_VARIABLES,
    dialect_of_url,
    resolve,
)
from plugbay_scheduled_query.core.errors import SourceError, SourceRefusedError
from plugbay_scheduled_query.core.source import OwnStore, Source, StoreIdentity, Target


@pytest.fixture
def own(tmp_path: Path) -> OwnStore:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("plugbay.db", "sample.db", "encryption.key"):
        (data / name).write_bytes(b"x")
    return OwnStore(data, data / "plugbay.db", sample=data / "sample.db")


def resolved(url: str, own: OwnStore, environment: Mapping[str, str] | None = None, **fields: Any) -> Target:
    return resolve(Source("shop", url, **fields), own, environment or {})


@pytest.mark.parametrize(
    ("url", "dialect"),
    [
        ("sqlite:////srv/shop.db", "sqlite"),
        ("sqlite+pysqlite:////srv/shop.db", "sqlite"),
        ("postgresql://db/shop", "postgresql"),
        ("postgres://db/shop", "postgresql"),
        ("postgresql+psycopg2://db/shop", "postgresql"),
        ("POSTGRESQL://db/shop", "postgresql"),
        ("mysql+pymysql://db/shop", "mysql"),
        ("mariadb://db/shop", "mysql"),
        ("duckdb:////srv/shop.duckdb", "duckdb"),
        ("mssql+pyodbc://db/shop", "unguarded"),
        ("env:SHOP_URL", None),
    ],
)
def test_the_scheme_names_the_dialect(url: str, dialect: str | None):
    assert dialect_of_url(url) == dialect


def test_a_postgresql_source_is_told_to_libpq_by_keyword(own: OwnStore):
    place = resolved("postgresql://ann:p%40ss@db:5433/shop?sslmode=require&connect_timeout=99", own)
    assert place.params == {
        "connect": {
            "host": "db",
            "port": 5433,
            "user": "ann",
            "password": "p@ss",
            "dbname": "shop",
            "sslmode": "require",
        }
    }
    assert place.secrets == ("p@ss",)


def test_a_mariadb_source_is_told_to_its_driver_by_keyword(own: OwnStore):
    place = resolved("mysql://ann@db/shop?unix_socket=/run/my&charset=latin1&ssl_verify_cert=true", own)
    assert place.params == {
        "connect": {
            "host": "db",
            "user": "ann",
            "database": "shop",
            "unix_socket": "/run/my",
            "ssl_verify_cert": True,
        }
    }


@pytest.mark.parametrize(
    "url",
    [
        "mysql://db/shop?local_infile=1",
        "mysql://db/shop?init_command=DROP",
        "mysql://db/shop?client_flag=65536",
        "mysql://db/shop?read_default_file=/etc/my.cnf",
        "postgresql://db/shop?autocommit=1",
        "postgresql://db/shop?conninfo=x",
        "postgresql://db/shop?passfile=/x",
        "sqlite:////srv/shop.db?mode=rwc",
        "sqlite://host/shop.db",
        "duckdb:////srv/shop.duckdb?access_mode=read_write",
    ],
)
def test_an_option_that_could_undo_a_guard_is_refused(url: str, own: OwnStore):
    with pytest.raises(SourceError):
        resolved(url, own)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "duckdb:///", "duckdb:///:memory:"])
def test_a_source_in_memory_is_no_source(url: str, own: OwnStore):
    with pytest.raises(SourceError, match="no file"):
        resolved(url, own)


def test_a_relative_path_is_made_absolute(own: OwnStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    assert resolved("sqlite:///shop.db", own).params == {"path": str(tmp_path / "shop.db")}


def test_a_password_may_be_kept_in_the_environment(own: OwnStore):
    place = resolved("mysql://ann:env:DB_PASSWORD@db/shop", own, {"DB_PASSWORD": "hunter2"})
    assert place.params["connect"]["password"] == "hunter2"
    assert place.mask("hunter2") == "***"


def test_a_password_may_be_kept_in_a_file(own: OwnStore, tmp_path: Path):
    (tmp_path / "secret").write_text("hunter2\n")
    place = resolved(f"postgresql://ann:file:{tmp_path}/secret@db/shop", own, {SECRET_FOLDERS: str(tmp_path)})
    assert place.params["connect"]["password"] == "hunter2"
    assert place.mask("hunter2") == "***"


def test_an_option_may_be_a_reference(own: OwnStore):
    place = resolved("postgresql://db/shop?sslpassword=env:KEY_PASSWORD", own, {"KEY_PASSWORD": "hunter2"})
    assert place.params["connect"]["sslpassword"] == "hunter2"
    assert place.mask("hunter2") == "***"


def test_the_whole_url_may_be_a_reference(own: OwnStore):
    place = resolved("env:SHOP_URL", own, {"SHOP_URL": "postgresql://ann:hunter2@db/shop"})
    assert (place.dialect, place.params["connect"]["user"]) == ("postgresql", "ann")
    assert place.mask("hunter2") == "***"


def test_a_reference_inside_a_reference_is_followed_once(own: OwnStore):
    environment = {"A_URL": "mysql://ann:env:A_PASSWORD@db/shop", "A_PASSWORD": "env:OTHER"}
    assert resolved("env:A_URL", own, environment).params["connect"]["password"] == "env:OTHER"


def test_a_reference_to_nothing_says_what_is_missing(own: OwnStore, tmp_path: Path):
    with pytest.raises(SourceError, match="environment variable SHOP_URL is not set"):
        resolved("env:SHOP_URL", own)
    with pytest.raises(SourceError, match=r"cannot read the file .*missing: No such file"):
        resolved(f"mysql://ann:file:{tmp_path}/missing@db/shop", own, {SECRET_FOLDERS: str(tmp_path)})
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(SourceError, match="not text"):
        resolved(f"mysql://ann:file:{tmp_path}/binary@db/shop", own, {SECRET_FOLDERS: str(tmp_path)})
    os.mkfifo(tmp_path / "pipe")
    for odd in (tmp_path / "pipe", tmp_path):
        with pytest.raises(SourceError, match="it is not a file"):
            resolved(f"mysql://ann:file:{odd}@db/shop", own, {SECRET_FOLDERS: str(tmp_path)})


@pytest.mark.parametrize(
    "name",
    [
        "SCHEDULED_QUERY_SOURCES", "scheduled_query_sources", "TASK_WORKER_URL", "AWS_SECRET_ACCESS_KEY",
        "HOME",
        "PLUGBAY_ADMIN_PASSWORD", "plugbay_store_url", "PASSWORD", "SHOP_PASSWORD_FILE", "SHOP_URL ", "PATH",
    ],
)  # fmt: skip
def test_only_what_is_meant_as_a_secret_is_taken_from_the_environment(name: str, own: OwnStore):
    with pytest.raises(SourceError):
        resolved(f"mysql://ann:env:{name}@db/shop", own, {name: "hunter2"})


def test_the_operator_says_which_variables_are_secrets_of_sources(own: OwnStore):
    environment = {SECRET_VARIABLES: "SHOP_*, KEY", "SHOP_WORD": "hunter2", "KEY": "k", "X_PASSWORD": "x"}
    for name in ("SHOP_WORD", "KEY"):
        place = resolved(f"mysql://ann:env:{name}@db/shop", own, environment)
        assert place.params["connect"]["password"] == environment[name]
    with pytest.raises(SourceRefusedError, match="X_PASSWORD is not among the variables"):
        resolved("mysql://ann:env:X_PASSWORD@db/shop", own, environment)
    with pytest.raises(SourceRefusedError, match="secret of Plugbay itself"):
        resolved("mysql://ann:env:PLUGBAY_X@db/shop", own, {SECRET_VARIABLES: "*", "PLUGBAY_X": "x"})


def test_only_files_of_the_folders_for_secrets_are_read(own: OwnStore, tmp_path: Path):
    folder, outside = tmp_path / "secrets", tmp_path / "outside"
    (folder / "kubernetes.io").mkdir(parents=True)
    for file in (outside, folder / "shop", folder / "kubernetes.io/token"):
        file.write_text("hunter2")
    (folder / "link").symlink_to(outside)
    rules = {SECRET_FOLDERS: f"/run/secrets, {folder}"}
    assert (
        resolved(f"mysql://ann:file:{folder}/shop@db/d", own, rules).params["connect"]["password"]
        == "hunter2"
    )
    refused = (outside, folder / "link", folder / "../outside", folder / "kubernetes.io/token", "/etc/passwd")
    for file in refused:
        with pytest.raises(SourceRefusedError):
            resolved(f"mysql://ann:file:{file}@db/d", own, rules)
        with pytest.raises(SourceRefusedError):
            resolved(f"mysql://ann:file:{file}@db/d", own)


def test_the_usual_folder_needs_no_setting(own: OwnStore):
    with pytest.raises(SourceError, match="cannot read the file /run/secrets/nobody-has-this"):
        resolved("mysql://ann:file:/run/secrets/nobody-has-this@db/shop", own)


def test_the_products_own_secrets_cannot_be_sent_to_a_server(own: OwnStore, tmp_path: Path):
    link, environment = tmp_path / "innocent", tmp_path / "harmless"
    link.symlink_to(own.data_dir / "encryption.key")
    environment.symlink_to("/proc/self/environ")
    files = (own.data_dir / "encryption.key", link, "/proc/self/environ", "/proc/1/environ", environment)
    for reference in ("env:PLUGBAY_ENCRYPTION_KEY", *(f"file:{file}" for file in files)):
        with pytest.raises(SourceRefusedError):
            resolved(f"mysql://ann:{reference}@db/shop", own, {"PLUGBAY_ENCRYPTION_KEY": "key"})


def test_the_store_is_no_source(own: OwnStore):
    for dialect in ("sqlite", "duckdb"):
        with pytest.raises(SourceRefusedError, match="own store"):
            resolved(f"{dialect}:///{own.data_dir}/plugbay.db", own)


def test_the_store_is_no_source_by_any_other_name(own: OwnStore, tmp_path: Path):
    store = own.data_dir / "plugbay.db"
    (tmp_path / "soft.db").symlink_to(store)
    os.link(store, tmp_path / "hard.db")
    (tmp_path / "there").symlink_to(own.data_dir)
    names = ("soft.db", "hard.db", "there/plugbay.db", "data/../data/plugbay.db")
    for name in names:
        with pytest.raises(SourceRefusedError):
            resolved(f"sqlite:///{tmp_path}/{name}", own)


def test_a_store_outside_the_data_directory_is_no_source_either(own: OwnStore, tmp_path: Path):
    (tmp_path / "store.db").write_bytes(b"x")
    own = replace(own, file=tmp_path / "store.db")
    with pytest.raises(SourceRefusedError, match="own store"):
        resolved(f"sqlite:///{tmp_path}/store.db", own)


def test_no_file_of_the_data_directory_is_a_source_but_the_sample(own: OwnStore, tmp_path: Path):
    assert resolved(f"sqlite:///{own.data_dir}/sample.db", own).params["path"].endswith("sample.db")
    for name in ("other.db", "deep/other.db", "encryption.key"):
        with pytest.raises(SourceRefusedError, match="data directory"):
            resolved(f"sqlite:///{own.data_dir}/{name}", own)
    assert resolved(f"sqlite:///{tmp_path}/other.db", own)


def test_a_postgresql_source_is_told_which_tables_are_private(own: OwnStore):
    own = replace(own, identity=StoreIdentity("1/2", ["plugbay_users"]))
    assert resolved("postgresql://db/shop", own).params["store"] == {
        "identity": "1/2",
        "tables": ["plugbay_users"],
    }


def test_another_database_is_asked_only_when_an_admin_accepts_that_it_has_no_guard(own: OwnStore):
    url = "mssql+pyodbc://ann:hunter2@db:1433/shop?driver=x"
    with pytest.raises(SourceRefusedError, match="no proven guard"):
        resolved(url, own)
    place = resolved(url, own, accepts_unguarded=True)
    assert place.dialect == "unguarded"
    assert place.params["options"] == {"driver": "x"}
    assert place.mask("hunter2") == "***"


def test_a_source_never_shows_its_url():
    source = Source("shop", "mysql://ann:hunter2@db/shop")
    assert "hunter2" not in repr(source)
    assert source.masked_url == "mysql://ann:***@db/shop"
