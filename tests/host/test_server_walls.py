"""What `plugbay serve` believes of strangers, and what it tells to whom: on a real process."""

import stat
from pathlib import Path

import httpx2
import pytest
from plugbay.errors import InvalidConfig
from plugbay.server import trusted_proxies
from servers import PASSWORD, PLUGBAY, START_S, get, plugbay, serving

FORGED = {
    "X-Forwarded-For": "203.0.113.9",
    "X-Forwarded-Proto": "https",
    "Forwarded": "for=203.0.113.9;proto=https",
}
# as systemd does it: the variable names the stream that the service writes to
AS_A_SERVICE = (
    "sh",
    "-c",
    f'JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec {PLUGBAY} serve "$@"',
    "sh",
)


def log_in(url: str) -> httpx2.Response:
    fields = {"username": "admin", "password": PASSWORD}
    return httpx2.post(f"{url}/login", data=fields, headers=FORGED, timeout=START_S, verify=False)


@pytest.mark.parametrize("named", ["", "10.0.0.0/8,::1"])
def test_nobody_says_where_they_come_from_unless_the_operator_named_them(tmp_path: Path, named: str):
    """Everybody on the machine was believed: a forged address escapes the limit on wrong passwords."""
    variables = {"FORWARDED_ALLOW_IPS": named} if named else {}
    with serving(tmp_path, **variables) as server:
        cookie = log_in(server.url).headers["set-cookie"]
        server.wait_for("signed_in user=admin address=127.0.0.1")
    assert "203.0.113.9" not in server.text
    assert cookie.startswith("plugbay_session=")
    assert "secure" not in cookie.lower()


def test_a_proxy_that_the_operator_named_is_believed(tmp_path: Path):
    with serving(tmp_path, FORWARDED_ALLOW_IPS="127.0.0.0/8, ::1") as server:
        cookie = log_in(server.url).headers["set-cookie"]
        server.wait_for("signed_in user=admin address=203.0.113.9")
    assert cookie.startswith("__Host-plugbay_session=")


@pytest.mark.parametrize("named", ["localhost", "10.0.0.1/8", "127.0.0.1,", "127.0.0.1,*", "proxy.example"])
def test_what_names_no_address_stops_the_start(named: str):
    with pytest.raises(InvalidConfig, match="FORWARDED_ALLOW_IPS"):
        trusted_proxies({"FORWARDED_ALLOW_IPS": named})


def test_the_operator_reads_why(tmp_path: Path):
    done = plugbay(tmp_path, "serve", "--port", "0", FORWARDED_ALLOW_IPS="localhost")
    assert done.returncode == 2
    assert "FORWARDED_ALLOW_IPS has the value 'localhost'" in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_service_does_not_write_the_first_password_into_its_journal(tmp_path: Path):
    """The journal is kept, copied and read by many: the password of the admin stood in it for good."""
    with serving(tmp_path, program=AS_A_SERVICE, PLUGBAY_ADMIN_PASSWORD="") as server:
        url, path = server.url, tmp_path / "data/first-admin-password"
        password = path.read_text().strip()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert f"The user admin was made with the password in {path}" in server.text
        assert get(f"{url}/metrics", auth=("admin", password)).status_code == 200
        assert password not in server.text


def test_a_variable_that_names_another_stream_changes_nothing(tmp_path: Path):
    """A shell that was started by a service has the variable too, and a terminal of its own."""
    with serving(tmp_path, JOURNAL_STREAM="8:1", PLUGBAY_ADMIN_PASSWORD="") as server:
        url = server.url
        password = server.text.split("with the password ")[1].split(" ")[0]
        assert get(f"{url}/metrics", auth=("admin", password)).status_code == 200
    assert not (tmp_path / "data/first-admin-password").exists()
