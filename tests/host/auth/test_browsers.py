import pytest
from plugbay.auth.pages import browser_name

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0", "Firefox on Linux"),
        (
            f"Mozilla/5.0 (Windows NT 10.0) {WEBKIT} Chrome/156.0 Safari/537.36",
            "Chrome on Windows",
        ),
        (f"Mozilla/5.0 (Windows NT 10.0) {WEBKIT} Chrome/156.0 Safari/537.36 Edg/156.0", "Edge on Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 15_0) Version/19.0 Safari/605.1.15", "Safari on macOS"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0) CriOS/156.0 Safari/604.1",
            "Chrome on iPhone",
        ),
        (f"Mozilla/5.0 (Linux; Android 16) {WEBKIT} Chrome/156.0 Mobile Safari/537.36", "Chrome on Android"),
        ("curl/8.20.0", "curl"),
        ("python-httpx/0.30", "Python"),
        ("Netscape Navigator", "Netscape Navigator"),
        ("x" * 200, "x" * 60),
        ("", "unknown"),
        (None, "unknown"),
    ],
)
def test_a_browser_has_a_short_name(agent: str | None, name: str) -> None:
    assert browser_name(agent) == name
