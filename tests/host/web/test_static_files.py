from pathlib import Path

import pytest


def test_files_of_host_and_plugins_are_open_to_all(make_host, client_of):
    client = client_of(make_host("good"), anonymous=True)
    assert client.get("/static/greeter/greeter.css").text.startswith(".greeting")
    assert client.get("/static/plugbay/dist/manifest.json").status_code == 200


def test_hashed_files_are_kept_for_ever_and_others_are_asked_for_anew(make_host, client_of):
    host = make_host("good")
    client = client_of(host, anonymous=True)
    assert "immutable" in client.get(host.static.asset("app.css")).headers["cache-control"]
    first = client.get("/static/greeter/greeter.css")
    assert first.headers["cache-control"] == "no-cache"
    again = client.get("/static/greeter/greeter.css", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("br, gzip", "br"),
        ("gzip, deflate", "gzip"),
        ("br;q=0, gzip;q=0.5", "gzip"),
        ("identity", None),
        ("", None),
    ],
)
def test_a_built_file_is_sent_as_the_browser_takes_it(
    make_host, client_of, accepted: str, encoding: str | None
):
    host = make_host()
    url = host.static.asset("app.css")
    answer = client_of(host, anonymous=True).get(url, headers={"accept-encoding": accepted})
    assert answer.headers.get("content-encoding") == encoding
    assert answer.headers["content-type"].startswith("text/css")
    assert answer.headers["vary"] == "accept-encoding"
    assert int(answer.headers["content-length"]) < 100_000 or encoding is None


def test_a_compressed_file_holds_the_same_bytes(make_host, client_of):
    host = make_host()
    client, url = client_of(host, anonymous=True), host.static.asset("app.js")
    plain = client.get(url, headers={"accept-encoding": "identity"})
    assert client.get(url, headers={"accept-encoding": "gzip"}).content == plain.content


def test_a_file_without_a_compressed_twin_is_sent_as_it_is(make_host, client_of):
    client = client_of(make_host("good"), anonymous=True)
    answer = client.get("/static/greeter/greeter.css", headers={"accept-encoding": "br, gzip"})
    assert "content-encoding" not in answer.headers
    assert "vary" not in answer.headers


def test_only_names_with_a_hash_are_kept_for_ever(make_host, client_of):
    client = client_of(make_host(), anonymous=True)
    for name in ("manifest.json", "THIRD_PARTY_LICENSES.txt"):
        assert client.get(f"/static/plugbay/dist/{name}").headers["cache-control"] == "no-cache"


def test_a_built_file_is_found_by_its_plain_name(make_host):
    static = make_host().static
    assert static.url("plugbay", "dist/app.css") == static.asset("app.css") != "/static/plugbay/dist/app.css"
    assert static.url("plugbay", "other/app.css") == "/static/plugbay/other/app.css"


@pytest.mark.parametrize(
    "path",
    [
        "greeter/..%2f..%2fgreeter/plugin.py",
        "greeter/%2e%2e/plugin.py",
        "greeter/..%2fplugin.py",
        "greeter/%2fetc%2fpasswd",
        "greeter/nothing.css",
        "greeter/",
        "greeter/a%00b",
        "nobody/greeter.css",
        "greeter/" + "a" * 5000,
    ],
)
def test_nothing_outside_an_owners_folder_is_served(make_host, client_of, path: str):
    assert client_of(make_host("good"), anonymous=True).get(f"/static/{path}").status_code == 404


def test_a_symlink_out_of_the_folder_is_not_followed(make_host, client_of, tmp_path: Path):
    host = make_host("good")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "plugins/greeter/static/link.txt").symlink_to(tmp_path / "secret.txt")
    assert client_of(host, anonymous=True).get("/static/greeter/link.txt").status_code == 404


@pytest.mark.parametrize("name", [".env", ".git/config", "deep/.hidden/file.css"])
def test_what_begins_with_a_dot_is_not_served(make_host, client_of, tmp_path: Path, name: str):
    host = make_host("good")
    file = tmp_path / "plugins/greeter/static" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("private")
    assert client_of(host, anonymous=True).get(f"/static/greeter/{name}").status_code == 404
