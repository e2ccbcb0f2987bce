import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.errors import SourceError
from plugbay_scheduled_query.core.source import (
    SourceUrl,
    is_secret,
    keep_secrets,
    mask_url,
    parse_url,
    reference_of,
)
from plugbay_scheduled_query.dialects.unguarded import URL_OPTIONS, URL_SECRETS


def test_a_url_is_taken_apart_and_its_parts_are_decoded():
    url = (
        "postgresql+psycopg://ann%40x:p%40ss%2Fw%3Aord@db.example:5433/my%20db?sslmode=require&options=-c%20a"
    )
    assert parse_url(url) == SourceUrl(
        "postgresql+psycopg",
        "ann@x",
        "p@ss/w:ord",
        "db.example",
        5433,
        "my db",
        (("sslmode", "require"), ("options", "-c a")),
    )


def test_what_a_url_leaves_out_is_none():
    assert parse_url("mysql://localhost") == SourceUrl("mysql", None, None, "localhost", None, "", ())
    assert parse_url("postgresql:///shop") == SourceUrl("postgresql", None, None, None, None, "shop", ())


def test_a_file_has_three_slashes_and_its_path():
    assert parse_url("sqlite:////srv/shop.db").database == "/srv/shop.db"
    assert parse_url("sqlite:///shop.db").database == "shop.db"


def test_an_ipv6_host_stands_in_brackets():
    parts = parse_url("postgresql://ann@[::1]:5432/shop")
    assert (parts.host, parts.port) == ("::1", 5432)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "shop.db",
        "://x",
        "postgresql://a:p@ss@host/db",
        "postgresql://host:port/db",
        "1://x",
        "postgresql://reader:p@ss/w:rd@host",
        "postgresql://a:p/ss@host/db",
    ],
)
def test_what_is_no_url_is_refused_without_repeating_it(url: str):
    with pytest.raises(SourceError) as refusal:
        parse_url(url)
    assert "ss@host" not in str(refusal.value)


@pytest.mark.parametrize("port", ["0", "65536", "99999999"])
def test_a_port_is_a_port_number(port: str):
    with pytest.raises(SourceError, match="port"):
        parse_url(f"mysql://host:{port}/db")


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("env:DB_PASSWORD", ("env", "DB_PASSWORD")),
        ("file:/run/secrets/db", ("file", "/run/secrets/db")),
        ("file:secret.txt", ("file", "secret.txt")),
        ("environment", None),
        ("env:", None),
        ("file:///x", None),
        ("postgresql://env:x@host", None),
    ],
)
def test_a_reference_is_env_or_file_and_nothing_around_it(text: str, reference: tuple[str, str] | None):
    assert reference_of(text) == reference


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("postgresql://ann:secret@db/shop", "postgresql://ann:***@db/shop"),
        ("postgresql://ann:a%2Fb:c%2Fd@db/shop", "postgresql://ann:***@db/shop"),
        ("postgresql://ann:a/b@db/shop", "***"),
        ("postgresql://reader:p@ss/w:rd@host/shop", "***"),
        ("postgresql://reader/pw:x@host/shop", "***"),
        ("postgresql:///reader:pw@host/shop", "***"),
        ("mssql+pyodbc:///?odbc_connect=Pwd%3Dx", "mssql+pyodbc:///?odbc_connect=***"),
        (
            "bigquery://p/d?credentials_base64=eyJ9&location=EU",
            "bigquery://p/d?credentials_base64=***&location=EU",
        ),
        ("snowflake://u@acme/d?private_key=MII&role=r", "snowflake://u@acme/d?private_key=***&role=r"),
        ("sqlite:////srv/a@b.db", "sqlite:////srv/a@b.db"),
        ("postgresql://ann@db/shop", "postgresql://ann@db/shop"),
        ("postgresql://ann:@db/shop", "postgresql://ann:@db/shop"),
        ("postgresql://:secret@db/shop", "postgresql://:***@db/shop"),
        ("postgresql:///shop?host=db&password=secret&x=1", "postgresql:///shop?host=db&password=***&x=1"),
        ("mysql://a:b@c/d?ssl_key_password=e&ssl_ca=f", "mysql://a:***@c/d?ssl_key_password=***&ssl_ca=f"),
        ("mssql://a:b@c/d?api_key=x&access_token=y", "mssql://a:***@c/d?api_key=***&access_token=***"),
        ("sqlite:////srv/shop.db", "sqlite:////srv/shop.db"),
        ("postgresql://ann:env:DB_PASSWORD@db/shop", "postgresql://ann:env:DB_PASSWORD@db/shop"),
        ("postgresql://ann:file:/run/secrets/db@db/shop", "postgresql://ann:file:/run/secrets/db@db/shop"),
        ("env:SHOP_URL", "env:SHOP_URL"),
    ],
)
def test_a_masked_url_shows_all_but_the_secrets(url: str, masked: str):
    assert mask_url(url) == masked


@given(st.text(st.characters(exclude_characters="@/", exclude_categories=["Cs"]), min_size=1))
def test_no_password_is_seen_in_a_masked_url(password: str):
    url = f"postgresql://ann:{password}@db/shop"
    if reference_of(password) is None:
        assert mask_url(url) == "postgresql://ann:***@db/shop"


@given(
    st.sampled_from(["postgresql", "mysql+pymysql", "mssql.pymssql", "sqlite", "odd"]),
    st.sampled_from(["{}:{}@db/shop", "{}:{}@db", "{}:{}@[::1]:5432/shop?x=1", "/{}:{}@db/shop"]),
    st.sampled_from(["ann", "", "a%40b", "ann:", "ann/x"]),
    st.text(st.sampled_from("@/:?#&=%[]\\;,+ ."), max_size=4),
    st.text(st.sampled_from("@/:?#&=%[]\\;,+ ."), max_size=4),
)
def test_no_spelling_of_a_password_is_shown_in_part(scheme: str, form: str, user: str, left: str, right: str):
    password = f"XQZ{left}JKV{right}WYP"
    shown = mask_url(f"{scheme}://" + form.format(user, password))
    assert not any(piece in shown for piece in ("XQZ", "JKV", "WYP")), shown


@pytest.mark.parametrize(
    "name",
    [
        "password", "PWD", "passwd", "odbc_connect", "credentials_base64", "credentials_info", "private_key",
        "private_key_passphrase", "access_token", "oauth_client_secret", "api_key", "apikey", "jwt", "key",
        "account_key", "SharedAccessKey", "sslpassword", "ssl_key_password", "auth", "connection_string",
        "dsn",
    ],
)  # fmt: skip
def test_options_that_hold_secrets_are_masked(name: str):
    assert "hunter2" not in mask_url(f"odd://ann@db/shop?a=b&{name}=hunter2&c=d")


def test_every_secret_that_an_unguarded_driver_is_told_is_masked():
    assert all(map(is_secret, URL_SECRETS))
    assert not any(map(is_secret, URL_OPTIONS))


@pytest.mark.parametrize(
    ("stored", "lowered"),
    [
        ("postgresql://a:p@db/d?sslmode=verify-full", "postgresql://a:***@db/d"),
        ("postgresql://a:p@db/d?sslmode=verify-full", "postgresql://a:***@db/d?sslmode=require"),
        (
            "postgresql://a:p@db/d?sslmode=verify-ca",
            "postgresql://a:***@db/d?sslmode=verify-ca&sslmode=disable",
        ),
        ("postgresql://a:p@db/d?sslmode=require", "postgresql://a:***@db/d?sslmode=prefer"),
        (
            "postgresql://a:p@db/d?sslmode=verify-ca&sslrootcert=/a",
            "postgresql://a:***@db/d?sslmode=verify-ca&sslrootcert=/b",
        ),
        ("postgresql://a:p@db/d?channel_binding=require", "postgresql://a:***@db/d"),
        ("postgresql://a:p@db/d?require_auth=scram-sha-256", "postgresql://a:***@db/d?require_auth=password"),
        ("mysql://a:p@db/d?ssl_ca=/a", "mysql://a:***@db/d?ssl_disabled=true"),
        ("mysql://a:p@db/d?ssl_ca=/a&ssl_verify_identity=true", "mysql://a:***@db/d?ssl_ca=/a"),
        ("mssql://a:p@db/d?Encrypt=yes", "mssql://a:***@db/d?Encrypt=no"),
        ("mssql://a:p@db/d?Encrypt=yes", "mssql://a:***@db/d?Encrypt=yes&TrustServerCertificate=yes"),
    ],
)
def test_a_kept_password_does_not_survive_less_protection(stored: str, lowered: str):
    with pytest.raises(SourceError, match="protected otherwise"):
        keep_secrets(lowered, stored)


def test_a_kept_password_survives_more_protection():
    assert keep_secrets(
        "postgresql://a:***@db/d?sslmode=verify-full", "postgresql://a:p@db/d?sslmode=require"
    ) == ("postgresql://a:p@db/d?sslmode=verify-full")


def test_a_masked_url_sent_back_keeps_the_stored_secret():
    stored = "postgresql://ann:p%40ss@db/shop?sslpassword=key&sslmode=require"
    assert keep_secrets(mask_url(stored), stored) == stored


def test_the_rest_of_a_masked_url_may_change():
    kept = keep_secrets(
        "postgresql://ann:***@db/other?sslmode=disable", "postgresql+psycopg://ann:secret@db/shop"
    )
    assert kept == "postgresql://ann:secret@db/other?sslmode=disable"


def test_a_new_secret_takes_the_place_of_the_stored_one():
    assert keep_secrets("mysql://ann:new@db/shop", "mysql://ann:old@db/shop") == "mysql://ann:new@db/shop"
    assert keep_secrets("mysql://ann@db/shop", "mysql://ann:old@db/shop") == "mysql://ann@db/shop"
    assert keep_secrets("env:SHOP_URL", "mysql://ann:old@db/shop") == "env:SHOP_URL"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:***@evil/shop",
        "postgresql://ann:***@db:5433/shop",
        "postgresql://eve:***@db/shop",
        "mysql://ann:***@db/shop",
    ],
)
def test_a_stored_secret_is_never_sent_to_another_server(url: str):
    with pytest.raises(SourceError, match="enter the password again"):
        keep_secrets(url, "postgresql://ann:secret@db/shop")


def test_there_must_be_a_secret_to_keep():
    with pytest.raises(SourceError, match="no stored password"):
        keep_secrets("postgresql://ann:***@db/shop", "postgresql://ann@db/shop")
    with pytest.raises(SourceError, match="enter the password again"):
        keep_secrets("postgresql://ann:***@db/shop", "env:SHOP_URL")


def test_a_password_that_is_a_reference_is_kept_as_it_is_shown():
    url = "postgresql://ann:env:DB_PASSWORD@db/shop"
    assert keep_secrets(url, url) == url
