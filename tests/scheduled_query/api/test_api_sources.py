"""Data sources over HTTP: add, list, edit, test, look into, delete."""

import sqlite3
from contextlib import closing

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query.tables import data_sources

UNREACHABLE = "postgresql://reader:s3cret@127.0.0.1:1/shop"
NEW = {"id", "name", "dialect", "url", "warnings"}
FOR_ALL = {
    "id",
    "name",
    "dialect",
    "origin",
    "locked",
    "query_count",
    "capacity",
    "paused",
    "pace_s",
    "max_parallel",
}


@pytest.fixture
def other(service, tmp_path):
    """Another database file."""
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE people (name TEXT, age INTEGER)")
    return f"sqlite:///{path}"


def add(service, url, **fields):
    answer = service.admin.post(
        "/api/data-sources", json={"name": service.unique("source"), "url": url, **fields}
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


def listed(client, source_id):
    data = client.get("/api/data-sources").json()["data"]
    return next((source for source in data if source["id"] == source_id), None)


# add


def test_add_answers_201_with_id_name_dialect_masked_url_and_warnings(service, other):
    answer = service.admin.post("/api/data-sources", json={"name": "added", "url": other})
    assert answer.status_code == 201
    made = answer.json()
    assert made.keys() >= NEW
    assert (made["name"], made["dialect"], made["url"], made["warnings"]) == ("added", "sqlite", other, [])


def test_a_password_is_masked_everywhere_and_encrypted_in_the_store(service):
    made = add(service, UNREACHABLE)
    assert made["url"] == "postgresql://reader:***@127.0.0.1:1/shop"
    everything = [
        str(made),
        service.admin.get("/api/data-sources").text,
        service.admin.get(f"/api/data-sources/{made['id']}").text,
        service.admin.post(f"/api/data-sources/{made['id']}/test").text,
    ]
    assert not [text for text in everything if "s3cret" in text]
    with service.host.store.connect() as connection:
        rows = connection.execute(sa.select(data_sources)).all()
    assert "s3cret" not in str(rows)


def test_a_source_that_cannot_be_reached_is_added_with_a_warning(service):
    made = add(service, UNREACHABLE)
    [warning] = made["warnings"]
    assert warning.startswith("it cannot be reached now: ")


def test_an_account_that_can_write_is_told_with_the_statements_that_make_a_better_one(service, postgres_url):
    made = add(service, postgres_url.replace("postgresql+psycopg", "postgresql"))
    assert any("superuser" in warning or "can write" in warning for warning in made["warnings"])
    assert any("GRANT SELECT" in statement for statement in made["statements"])
    assert made["dialect"] == "postgresql"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a/b"}, "name"),
        ({"name": "x" * 64}, "name"),
        ({"name": "shop"}, "name"),
        ({"name": 5}, "name"),
        ({"name": None}, "name"),
        ({"url": ""}, "url"),
        ({"url": "just words"}, "url"),
        ({"url": 7}, "url"),
        ({"url": "sqlite://"}, "url"),
        ({"url": "sqlite:///:memory:"}, "url"),
        ({"url": "postgresql://u:p@h:99999/d"}, "url"),
        ({"url": "postgresql://u:***@h/d"}, "url"),
        ({"url": "postgresql://u@h/d?password=***"}, "url"),
        ({"url": "env:NOBODY_EVER_SET_THIS"}, "url"),
        ({"url": "env:PLUGBAY_SESSION_SECRET_KEY"}, "url"),
        ({"url": "file:/nowhere/at/all"}, "url"),
        ({"url": "oracle://u:p@h/d"}, "url"),
        ({"url": "sqlite:////a\nb"}, "url"),
        ({"url": "x" * 4001}, "url"),
        ({"accepts_unguarded": "yes"}, "accepts_unguarded"),
    ],
)
def test_a_bad_field_is_422_and_a_url_is_not_repeated(service, other, fields, field):
    answer = service.admin.post(
        "/api/data-sources", json={"name": service.unique("s"), "url": other, **fields}
    )
    assert answer.status_code == 422
    [problem] = answer.json()["detail"]
    assert problem["loc"] == ["body", field]
    if field == "url":
        assert problem["input"] is None


def test_plugbays_own_store_and_files_are_refused(service):
    data_dir = service.host.data_dir
    for path in (data_dir / "plugbay.db", data_dir / "other.db", data_dir / ".." / "data" / "plugbay.db"):
        answer = service.admin.post("/api/data-sources", json={"name": "own", "url": f"sqlite:///{path}"})
        assert answer.status_code == 422, path
        assert "Plugbay" in answer.json()["detail"][0]["msg"]


# list


def test_viewers_see_names_and_how_full_they_are_but_not_where(service):
    source = listed(service.viewer, 1)
    assert source.keys() == FOR_ALL
    assert (source["name"], source["dialect"]) == ("shop", "sqlite")
    assert source["capacity"].keys() == {
        "needed_per_hour",
        "possible_per_hour",
        "fill",
        "busiest_hour",
        "busiest_hour_fill",
    }
    assert service.viewer.get("/api/data-sources/1").json().keys() == FOR_ALL
    assert service.editor.get("/api/data-sources/1").json().keys() == FOR_ALL


def test_admins_see_where_they_are(service):
    source = listed(service.admin, 1)
    assert source.keys() == FOR_ALL | {"url", "accepts_unguarded", "problem", "updated_at"}
    assert source["url"] == f"sqlite:///{service.shop}"
    assert service.admin.get("/api/data-sources/1").json() == source


def test_the_capacity_follows_the_schedules(service, other):
    made = add(service, other)
    query = service.create(cron_schedule="* * * * *", data_source=made["name"])
    capacity = listed(service.viewer, made["id"])["capacity"]
    assert (capacity["needed_per_hour"], capacity["possible_per_hour"], capacity["fill"]) == (
        60.0,
        120.0,
        0.5,
    )
    service.editor.delete(f"/api/scheduled-queries/{query['id']}")
    assert listed(service.viewer, made["id"])["capacity"]["needed_per_hour"] == 0


# edit


def test_a_masked_url_sent_back_keeps_the_stored_password(service):
    made = add(service, UNREACHABLE)
    answer = service.admin.patch(
        f"/api/data-sources/{made['id']}", json={"url": "postgresql://reader:***@127.0.0.1:1/archive"}
    )
    assert answer.json()["url"] == "postgresql://reader:***@127.0.0.1:1/archive"
    stored = service.parts.sources.get(made["id"])
    assert service.parts.sources.url_of(stored) == "postgresql://reader:s3cret@127.0.0.1:1/archive"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://reader:***@evil.example:1/shop",
        "postgresql://other:***@127.0.0.1:1/shop",
        "postgresql://reader:***@127.0.0.1:2/shop",
        "mysql://reader:***@127.0.0.1:1/shop",
        "postgresql://reader:***@127.0.0.1:1/shop?hostaddr=192.0.2.9",
    ],
)
def test_a_stored_password_follows_to_no_other_server(service, url):
    made = add(service, UNREACHABLE)
    answer = service.admin.patch(f"/api/data-sources/{made['id']}", json={"url": url})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "url"]


def test_what_you_read_you_can_send_back(service):
    made = add(service, UNREACHABLE)
    read = service.admin.get(f"/api/data-sources/{made['id']}").json()
    answer = service.admin.patch(f"/api/data-sources/{made['id']}", json=read)
    assert answer.status_code == 200
    assert answer.json()["updated_at"] == read["updated_at"]


def test_a_renamed_source_keeps_its_queries(service, other):
    made = add(service, other)
    query = service.create(data_source=made["name"])
    renamed = service.unique("renamed")
    assert service.admin.patch(f"/api/data-sources/{made['id']}", json={"name": renamed}).status_code == 200
    assert service.viewer.get(f"/api/scheduled-queries/{query['id']}").json()["data_source"] == renamed
    found = service.viewer.get("/api/scheduled-queries", params={"search": renamed}).json()["data"]
    assert [each["id"] for each in found] == [query["id"]]
    assert service.run(query["id"])["status"] == "success"


def test_an_edited_url_counts_with_the_next_run(service, other):
    made = add(service, f"sqlite:///{service.shop}")
    query = service.create("SELECT name FROM sqlite_master", data_source=made["name"])
    assert service.run(query["id"])["execution"]["result"] == '[["orders"]]'
    assert service.admin.patch(f"/api/data-sources/{made['id']}", json={"url": other}).status_code == 200
    assert service.run(query["id"])["execution"]["result"] == '[["people"]]'


def test_a_name_that_is_taken_is_422(service, other):
    made = add(service, other)
    answer = service.admin.patch(f"/api/data-sources/{made['id']}", json={"name": "shop"})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "name"]


# delete


def test_delete_is_409_while_in_use_and_names_the_queries(service, other):
    made = add(service, other)
    names = sorted(service.create(data_source=made["name"])["name"] for _ in range(12))
    answer = service.admin.delete(f"/api/data-sources/{made['id']}")
    assert answer.status_code == 409
    detail = answer.json()["detail"]
    assert all(f"“{name}”" in detail for name in names[:10])
    assert "and 2 more" in detail


def test_delete_is_204_when_no_query_needs_it(service, other):
    made = add(service, other)
    query = service.create(data_source=made["name"])
    service.editor.delete(f"/api/scheduled-queries/{query['id']}")
    assert service.admin.delete(f"/api/data-sources/{made['id']}").status_code == 204
    assert listed(service.admin, made["id"]) is None
    assert service.admin.delete(f"/api/data-sources/{made['id']}").status_code == 404


# test and schema


def test_a_test_says_what_the_account_can_do(service):
    answer = service.admin.post("/api/data-sources/1/test").json()
    assert (answer["ok"], answer["error"], answer["warnings"]) == (True, None, [])
    assert answer["server"].startswith("SQLite ")


def test_a_test_of_what_cannot_be_reached_says_why(service):
    made = add(service, UNREACHABLE)
    answer = service.admin.post(f"/api/data-sources/{made['id']}/test").json()
    assert answer["ok"] is False
    assert answer["error"]


def test_the_schema_has_tables_and_columns(service, other):
    made = add(service, other)
    answer = service.editor.get(f"/api/data-sources/{made['id']}/schema").json()
    columns = [{"name": "name", "type": "TEXT"}, {"name": "age", "type": "INTEGER"}]
    assert answer["tables"] == [{"schema": "", "name": "people", "columns": columns}]


def test_the_schema_is_remembered_until_it_is_asked_for_anew(service, other):
    made = add(service, other)
    path = f"/api/data-sources/{made['id']}/schema"
    service.editor.get(path)
    with closing(sqlite3.connect(other.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute("CREATE TABLE places (name TEXT)")
    assert len(service.editor.get(path).json()["tables"]) == 1
    assert len(service.editor.get(path, params={"refresh": "true"}).json()["tables"]) == 2
    assert len(service.editor.get(path).json()["tables"]) == 2


def test_the_schema_of_what_cannot_be_reached_is_409(service):
    made = add(service, UNREACHABLE)
    answer = service.editor.get(f"/api/data-sources/{made['id']}/schema")
    assert answer.status_code == 409
    assert "s3cret" not in answer.text


@pytest.mark.parametrize(
    ("source_id", "code"), [(999_999, 404), (2**31, 404), (2**63, 422), ("x", 422), ("0", 422)]
)
def test_an_unknown_or_impossible_source(service, source_id, code):
    path = f"/api/data-sources/{source_id}"
    assert service.admin.get(path).status_code == code
    assert service.admin.patch(path, json={"name": "x"}).status_code == code
    assert service.admin.delete(path).status_code == code
    assert service.admin.post(f"{path}/test").status_code == code
    assert service.admin.get(f"{path}/schema").status_code == code


# sources of the setting


def test_a_source_of_the_setting_is_locked_and_follows_it(service, other):
    with service.settings(sources={"set": other}):
        source = next(
            one for one in service.admin.get("/api/data-sources").json()["data"] if one["name"] == "set"
        )
        assert (source["origin"], source["locked"], source["url"]) == ("settings", True, other)
        path = f"/api/data-sources/{source['id']}"
        for answer in (service.admin.patch(path, json={"name": "mine"}), service.admin.delete(path)):
            assert answer.status_code == 409
            assert "setting" in answer.json()["detail"]
        query = service.create("SELECT COUNT(*) FROM people", data_source="set")
        assert service.run(query["id"])["status"] == "success"
    source = listed(service.admin, source["id"])
    assert (source["origin"], source["locked"], source["url"]) == ("removed", False, None)
    assert "no longer in the setting" in source["problem"]
    ran = service.run(query["id"])
    assert ran["status"] == "failed"
    assert "no longer in the setting" in ran["execution"]["error_message"]
    assert service.admin.patch(path, json={"url": other}).json()["origin"] == "admin"
    assert service.run(query["id"])["status"] == "success"


def test_a_source_of_the_setting_that_no_query_needs_goes_with_it(service, other):
    with service.settings(sources={"brief": other}):
        assert "brief" in service.viewer.get("/api/data-sources").text
    assert "brief" not in service.viewer.get("/api/data-sources").text


def test_a_reference_is_looked_up_at_use(service, other, monkeypatch):
    monkeypatch.setenv("SHOP_URL", f"sqlite:///{service.shop}")
    made = add(service, "env:SHOP_URL")
    assert (made["url"], made["dialect"]) == ("env:SHOP_URL", "sqlite")
    query = service.create("SELECT name FROM sqlite_master", data_source=made["name"])
    assert service.run(query["id"])["execution"]["result"] == '[["orders"]]'
    monkeypatch.setenv("SHOP_URL", other)
    service.clock.advance(1)
    assert service.run(query["id"])["execution"]["result"] == '[["people"]]'
    monkeypatch.delenv("SHOP_URL")
    service.clock.advance(1)
    assert "SHOP_URL is not set" in service.run(query["id"])["execution"]["error_message"]
    assert "SHOP_URL is not set" in listed(service.admin, made["id"])["problem"]


def test_a_secret_that_cannot_be_read_is_to_be_entered_again(service, other):
    made = add(service, other)
    with service.host.store.begin() as connection:
        broken = (
            sa.update(data_sources).where(data_sources.c.id == made["id"]).values(secret_url="gAAAA-not-ours")
        )
        connection.execute(broken)
    service.clock.advance(1)
    query = service.create(data_source=made["name"])
    assert "secret unreadable, enter it again" in service.run(query["id"])["execution"]["error_message"]
    source = listed(service.admin, made["id"])
    assert (source["problem"], source["url"]) == ("secret unreadable, enter it again", None)
    path = f"/api/data-sources/{made['id']}"
    assert service.admin.post(f"{path}/test").json()["error"] == "secret unreadable, enter it again"
    assert service.admin.patch(path, json={"name": service.unique("still")}).status_code == 200
    assert service.admin.patch(path, json={"url": other}).status_code == 200
    assert service.run(query["id"])["status"] == "success"
