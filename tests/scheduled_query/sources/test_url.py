import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.errors import SourceError
from plugbay_scheduled_query.core.source import SourceUrl, keep_secrets, mask_url, parse_url, reference_of


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
    "url", ["", "shop.db", "://x", "postgresql://a:p@ss@host/db", "postgresql://host:port/db", "1://x"]
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
        ("postgresql://ann:a%2Fb:c/d@db/shop", "postgresql://ann:***@db/shop"),
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


@given(st.text(st.characters(exclude_characters="@", exclude_categories=["Cs"]), min_size=1))
def test_no_password_is_seen_in_a_masked_url(password: str):
    url = f"postgresql://ann:{password}@db/shop"
    if reference_of(password) is None:
        assert mask_url(url) == "postgresql://ann:***@db/shop"


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
