"""Who may do what: viewers look, editors change and run, admins keep the data sources."""

import pytest
from plugbay.auth import create_token

SEEING = [
    ("GET", "/api/scheduled-queries"),
    ("GET", "/api/scheduled-queries/{query}"),
    ("GET", "/api/execution-history/{query}"),
    ("GET", "/api/executions"),
    ("GET", "/api/executions/diff?before={execution}&after={execution}"),
    ("GET", "/api/executions/{execution}"),
    ("GET", "/api/executions/{execution}/result.csv"),
    ("GET", "/api/executions/{execution}/result.json"),
    ("GET", "/api/results/{query}.csv"),
    ("GET", "/api/results/{query}.json"),
    ("GET", "/api/cron?expression=@daily"),
    ("GET", "/api/data-sources"),
    ("GET", "/api/data-sources/1"),
    ("GET", "/api/scheduled-queries/{query}/versions"),
    ("GET", "/api/boards"),
    ("GET", "/api/scheduled-queries/{query}/why?at=2026-11-15 12:00:00"),
    ("GET", "/api/schedule"),
]
CHANGING = [
    ("POST", "/api/scheduled-queries"),
    ("PATCH", "/api/scheduled-queries/{query}"),
    ("DELETE", "/api/scheduled-queries/{query}"),
    ("GET", "/api/run-now/{query}"),
    ("POST", "/api/run-now/{query}"),
    ("POST", "/api/cancel/{query}"),
    ("POST", "/api/scheduled-queries/bulk"),
    ("POST", "/api/try"),
    ("GET", "/api/data-sources/1/schema"),
    ("POST", "/api/scheduled-queries/{query}/restore"),
    ("POST", "/api/boards"),
    ("PATCH", "/api/boards/1"),
    ("DELETE", "/api/boards/1"),
]
KEEPING = [
    ("POST", "/api/data-sources"),
    ("PATCH", "/api/data-sources/1"),
    ("DELETE", "/api/data-sources/1"),
    ("POST", "/api/data-sources/1/test"),
    ("POST", "/api/schedule"),
]
UNKNOWN = "999999"


@pytest.fixture(scope="module")
def places(service) -> dict[str, int]:
    made = service.create()
    return {"query": made["id"], "execution": service.run(made["id"])["execution"]["id"]}


@pytest.mark.parametrize(("method", "path"), SEEING + CHANGING + KEEPING)
def test_nobody_comes_in_without_a_login(service, places, method, path):
    answer = service.client().request(method, path.format(**places), json={} if method != "GET" else None)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json() == {"detail": "Authentication is required."}


@pytest.mark.parametrize(("method", "path"), SEEING)
@pytest.mark.parametrize("role", ["viewer", "editor", "admin"])
def test_everybody_sees(service, places, role, method, path):
    assert getattr(service, role).request(method, path.format(**places)).status_code == 200


@pytest.mark.parametrize(("method", "path"), CHANGING + KEEPING)
def test_viewers_change_nothing(service, places, method, path):
    answer = service.viewer.request(method, path.format(**places), json={} if method != "GET" else None)
    assert answer.status_code == 403
    assert answer.json()["detail"].startswith("This needs the role ")


@pytest.mark.parametrize(("method", "path"), KEEPING)
def test_editors_keep_no_data_sources(service, method, path):
    answer = service.editor.request(method, path, json={"name": "x", "url": "sqlite:////x"})
    assert (answer.status_code, answer.json()) == (403, {"detail": "This needs the role admin."})


@pytest.mark.parametrize(("method", "path"), [one for one in CHANGING if "DELETE" not in one])
@pytest.mark.parametrize("role", ["editor", "admin"])
def test_editors_and_admins_change(service, places, role, method, path):
    answer = getattr(service, role).request(
        method, path.format(**places), json={} if method != "GET" else None
    )
    assert answer.status_code not in (401, 403)


@pytest.mark.parametrize(("method", "path"), [one for one in CHANGING + KEEPING if "{query}" in one[1]])
def test_who_may_not_learns_nothing_about_what_exists(service, places, method, path):
    body = {} if method != "GET" else None
    there = service.viewer.request(method, path.format(**places), json=body)
    not_there = service.viewer.request(method, path.format(query=UNKNOWN), json=body)
    impossible = service.viewer.request(method, path.format(query="x"), json=body)
    assert there.json() == not_there.json() == impossible.json()
    assert {there.status_code, not_there.status_code, impossible.status_code} == {403}


def test_a_page_of_ours_needs_the_csrf_token(service, places):
    visitor = service.client()
    visitor.post("/login", data={"username": "editor", "password": "correct horse battery staple"})
    assert visitor.get(f"/api/scheduled-queries/{places['query']}").status_code == 200
    assert visitor.post(f"/api/run-now/{places['query']}").status_code == 403


RUNNING = [("GET", "/api/run-now/{query}"), ("POST", "/api/run-now/{query}"), ("POST", "/api/cancel/{query}")]
RUNNING_PAGES = [
    ("POST", "/scheduled_query/run/{query}"),
    ("POST", "/scheduled_query/cancel/{query}"),
]


@pytest.mark.parametrize("role", ["viewer", "editor", "admin"])
@pytest.mark.parametrize("scope", ["metrics", "read", "run"])
def test_a_narrow_token_runs_at_most(service, places, scope, role):
    program = service.client(create_token(service.host.store, role, scope, scope))

    def statuses(routes):
        return {
            program.request(method, path.format(**places), json={} if method != "GET" else None).status_code
            for method, path in routes
        }

    may_run = scope == "run" and role != "viewer"
    assert (403 in statuses(RUNNING + RUNNING_PAGES)) is not may_run
    assert statuses([route for route in CHANGING + KEEPING if route not in RUNNING]) == {403}
    assert statuses(SEEING) == ({403} if scope == "metrics" else {200})
