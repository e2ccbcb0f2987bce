from pathlib import Path

import pytest
from plugbay import HostConfig, InvalidConfig
from plugbay.settings import load_config

SPECIFIED = {
    "app_name": "Plugbay",
    "admin_enabled": True,
    "admin_base_url": "/admin",
    "include_in_schema": True,
    "show_empty_menu_entries": True,
    "install_module_requirement_at_start": True,
}


def test_the_session_secret_is_a_placeholder_until_it_is_set():
    assert "<SESSION_SECRET>" in load_config(None, {}).session_secret_key
    assert load_config(None, {}).explicit_session_secret is None
    assert load_config(None, {"PLUGBAY_SESSION_SECRET_KEY": "x"}).explicit_session_secret == "x"


def test_a_keyword_wins_over_the_environment_which_wins_over_the_default():
    environment = {"PLUGBAY_APP_NAME": "From outside", "PLUGBAY_ADMIN_ENABLED": "false"}
    config = load_config({"app_name": "From code"}, environment)
    assert (config.app_name, config.admin_enabled, config.admin_base_url) == ("From code", False, "/admin")


def test_a_config_object_speaks_only_for_the_fields_that_were_set():
    config = load_config(HostConfig(app_name="From code"), {"PLUGBAY_ADMIN_BASE_URL": "/back/"})
    assert (config.app_name, config.admin_base_url) == ("From code", "/back")


def test_the_data_directory_comes_from_the_environment():
    assert load_config(None, {"PLUGBAY_DATA_DIR": "elsewhere"}).data_dir == Path("elsewhere")


@pytest.mark.parametrize("path", ["admin", "", "/", "/a b", "/{x}", "https://x"])
def test_a_base_url_that_is_no_path_is_refused_by_the_variables_name(path: str):
    with pytest.raises(InvalidConfig, match="PLUGBAY_ADMIN_BASE_URL has the value"):
        load_config(None, {"PLUGBAY_ADMIN_BASE_URL": path})


def test_a_bad_boolean_is_named_with_value_and_rule():
    with pytest.raises(
        InvalidConfig, match=r"PLUGBAY_ADMIN_ENABLED has the value 'perhaps', which is not valid: .*bool"
    ):
        load_config(None, {"PLUGBAY_ADMIN_ENABLED": "perhaps"})


def test_an_unknown_keyword_is_refused():
    with pytest.raises(InvalidConfig, match="config"):
        load_config({"admin_enabeld": False}, {})


def test_secrets_are_not_shown():
    config = load_config(None, {"PLUGBAY_DATABASE_URL": "postgresql://u:hunter2@h/d"})
    assert "hunter2" not in repr(config)


@pytest.mark.parametrize(("field", "default"), SPECIFIED.items())
def test_none_for_a_specified_field_is_its_default(field: str, default: object):
    assert getattr(load_config({field: None}, {}), field) == default


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, None),
        ("", None),
        ("https://plugbay.example.org/", "https://plugbay.example.org"),
        ("http://127.0.0.1:8000/sub/path", "http://127.0.0.1:8000/sub/path"),
    ],
)
def test_the_public_address_is_kept_without_its_last_slash(given: str | None, kept: str | None):
    assert load_config({"public_url": given}, {}).public_url == kept


@pytest.mark.parametrize(
    "given", ["plugbay.example.org", "ftp://x", "https://a b", "https://u:p@x", "https://x?y"]
)
def test_what_is_no_address_is_refused(given: str):
    with pytest.raises(InvalidConfig, match="PLUGBAY_PUBLIC_URL"):
        load_config({}, {"PLUGBAY_PUBLIC_URL": given})
