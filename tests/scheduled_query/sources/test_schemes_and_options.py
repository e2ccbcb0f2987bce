"""A URL is judged by where SQLAlchemy would lead it, and a driver is told nothing that reads our files."""

import itertools
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.catalogue.targets import resolve
from plugbay_scheduled_query.core.errors import SourceError, SourceRefusedError
from plugbay_scheduled_query.core.source import OwnStore, Source, Target
from plugbay_scheduled_query.dialects import DIALECTS, dialect_of
from plugbay_scheduled_query.dialects.unguarded import UNGUARDED, URL_OPTIONS, URL_SECRETS
from runner_kit import Asker

KEY = "3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
DRIVERS = {
    "sqlite": ("pysqlite", "aiosqlite", "pysqlcipher"),
    "mysql": ("pymysql", "mysqldb", "mysqlconnector", "asyncmy", "aiomysql", "mariadbconnector", "pyodbc"),
    "mariadb": ("pymysql", "mysqldb", "mariadbconnector", "asyncmy"),
    "postgresql": ("psycopg", "psycopg2", "asyncpg", "pg8000", "psycopg2cffi"),
}


@pytest.fixture
def own(tmp_path: Path) -> OwnStore:
    data = tmp_path / "data"
    data.mkdir()
    (data / "encryption.key").write_text(KEY)
    with sqlite3.connect(data / "plugbay.db") as connection:
        connection.execute("CREATE TABLE secrets AS SELECT 'of-the-store' AS word")
    connection.close()
    return OwnStore(data, data / "plugbay.db")


def resolved(url: str, own: OwnStore) -> Target:
    return resolve(Source("odd", url, accepts_unguarded=True), own, {})


def spellings(dialect: str, driver: str) -> set[str]:
    cases = (str.lower, str.upper, str.title)
    return {
        f"{one(dialect)}{mark}{other(driver)}"
        for one, mark, other in itertools.product(cases, ("+", "."), cases)
    }


@pytest.mark.parametrize(("name", "driver"), [(name, one) for name, many in DRIVERS.items() for one in many])
def test_no_spelling_of_a_scheme_avoids_the_guarded_drivers(name: str, driver: str):
    guarded = {scheme: dialect for dialect in DIALECTS for scheme in dialect.schemes}
    for scheme in spellings(name, driver):
        assert dialect_of(scheme.lower()) is guarded[name], scheme


def test_a_dotted_scheme_reads_our_store_through_sqlalchemy_but_is_no_source(own: OwnStore):
    url = f"sqlite.pysqlite:///{own.data_dir}/plugbay.db"
    engine = sa.create_engine(sa.URL.create("sqlite.pysqlite", database=f"{own.data_dir}/plugbay.db"))
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT word FROM secrets").scalar_one() == "of-the-store"
    engine.dispose()
    with pytest.raises(SourceRefusedError, match="own store"):
        resolved(url, own)


def test_a_file_of_options_is_quoted_by_its_driver_but_cannot_be_named(own: OwnStore):
    options = {"read_default_file": f"{own.data_dir}/encryption.key"}
    engine = sa.create_engine(sa.URL.create("mysql.pymysql", "u", host="h", database="d", query=options))
    with pytest.raises(Exception, match=KEY[:20]):
        engine.connect()
    for file in (f"{own.data_dir}/encryption.key", "/etc/passwd"):
        with pytest.raises(SourceError):
            resolved(f"mysql.pymysql://u@h/d?read_default_file={file}", own)


@pytest.mark.parametrize("scheme", ["mysql", "mysql.pymysql", "MariaDB.PyMySQL", "mssql", "oracle"])
@pytest.mark.parametrize(
    "option",
    [
        "local_infile=1", "init_command=x", "read_default_group=x", "plugin=x", "creator=x", "uri=true",
        "odbc_connect=Driver%3Dx", "dsn=x", "server=stranger", "unix_socket_dir=x", "passfile=x",
        "token_file=x",
        "private_key_path=x", "wallet_location=x", "config_dir=x", "service=x", "options_file=x", "proxy=x",
    ],
)  # fmt: skip
def test_an_option_that_names_files_code_or_other_servers_is_refused(scheme: str, option: str, own: OwnStore):
    with pytest.raises(SourceError, match="not allowed"):
        resolved(f"{scheme}://u@h/d?{option}", own)


@given(st.from_regex(r"[a-z][a-z_]{2,20}", fullmatch=True))
def test_an_option_that_is_on_no_list_is_refused(name: str):
    plain = name.replace("_", "")
    if plain not in URL_OPTIONS | URL_SECRETS:
        with pytest.raises(SourceError, match="not allowed"):
            resolved(f"mssql+pymssql://u@h/d?{name}=x", OwnStore(Path("/nonexistent")))


@pytest.mark.parametrize("value", ["/etc/passwd", "a;Server=stranger", "{x}", "..%5Cx", "a=b", "%2Fx.so"])
def test_an_option_holds_one_word_and_no_path(value: str, own: OwnStore):
    with pytest.raises(SourceError, match="a character that is not allowed"):
        resolved(f"mssql+pyodbc://u@h/d?driver={value}", own)


def test_what_people_tell_their_drivers_is_allowed(own: OwnStore):
    url = "mssql+pyodbc://u:p@h:1433/d?driver=ODBC+Driver+18+for+SQL+Server&TrustServerCertificate=yes&Encrypt=no"
    assert resolved(url, own).params["options"]["driver"] == "ODBC Driver 18 for SQL Server"
    assert resolved("oracle+oracledb://u:p@h:1521/?service_name=shop", own).language == "oracle"
    assert resolved("oracle.oracledb://u:p@h:1521/?service_name=shop", own).language == "oracle"
    assert resolved("snowflake://u:p@acme/shop/public?warehouse=small&role=reader", own)
    assert resolved("bigquery://acme/shop?location=EU&credentials_base64=eyJ9/%2B==", own)


@pytest.mark.parametrize("way", ["{data}/plugbay.db", "file:{data}/plugbay.db", "{data}/../data/plugbay.db"])
def test_no_other_database_opens_a_file_of_ours(way: str, own: OwnStore):
    assert dialect_of("firebird") is UNGUARDED
    for slashes in ("/", ""):  # a runner works in the root directory: there, a relative path leads to it, too
        place = way.format(data=str(own.data_dir).removeprefix("/") if not slashes else own.data_dir)
        with pytest.raises(SourceRefusedError):
            resolved(f"firebird:///{place}", own)


@pytest.mark.parametrize("option", ["sslrootcert", "sslcert", "sslkey", "sslcrl"])
def test_no_file_of_ours_is_a_certificate(option: str, own: OwnStore, tmp_path: Path):
    (tmp_path / "link").symlink_to(own.data_dir / "encryption.key")
    for file in (own.data_dir / "encryption.key", tmp_path / "link", "/proc/self/environ"):
        with pytest.raises(SourceRefusedError):
            resolved(f"postgresql://u@h/d?{option}={file}", own)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u@127.0.0.1:1/d?sslmode=verify-full&sslrootcert={file}",
        "postgresql://u@127.0.0.1:1/d?sslmode=require&sslcert={file}&sslkey={file}",
        "mysql://u@127.0.0.1:1/d?ssl_ca={file}",
        "mysql://u@127.0.0.1:1/d?ssl_cert={file}&ssl_key={file}",
    ],
)
def test_an_error_of_a_driver_quotes_no_file(url: str, asker: Asker, tmp_path: Path):
    (tmp_path / "words").write_text("a-line-that-nobody-may-see\n")
    outcome = asker.ask(url.format(file=tmp_path / "words"), "SELECT 1")
    assert outcome.error
    assert "nobody-may-see" not in outcome.error


@pytest.mark.parametrize("scheme", ["a.b.c", "sqlite.dialect", "sqlite..pysqlite", "mysql.."])
def test_a_scheme_that_leads_nowhere_is_no_source(scheme: str, own: OwnStore):
    with pytest.raises(SourceError):
        resolved(f"{scheme}://u@h/d", own)


def test_a_hidden_end_of_a_path_is_refused(own: OwnStore):
    with pytest.raises(SourceError, match="NUL"):
        resolved(f"firebird:///{own.data_dir}/plugbay.db%00.fdb", own)
