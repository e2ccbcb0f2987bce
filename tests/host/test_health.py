import pytest


def test_alive_and_ready_are_open_to_all(make_host, client_of):
    client = client_of(make_host(), anonymous=True)
    assert client.get("/healthz").json() == {"status": "alive"}
    assert client.get("/readyz").json() == {"status": "ready"}


def test_who_asks_for_the_head_alone_is_answered_with_the_same_status(make_host, client_of):
    host = make_host()
    client = client_of(host, anonymous=True)
    assert [client.head(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
    host.health.add("scheduler", lambda: "late")
    assert [client.head(path).status_code for path in ("/healthz", "/readyz")] == [200, 503]


def test_what_is_not_ready_is_named(make_host, client_of):
    host = make_host()
    host.health.add("scheduler", lambda: "the last tick was 3 minutes ago")
    answer = client_of(host, anonymous=True).get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["problems"] == {"scheduler": "the last tick was 3 minutes ago"}


def test_a_failing_check_is_a_problem_and_no_crash(make_host, client_of):
    host = make_host()
    host.health.add("scheduler", lambda: str(1 / 0))
    assert client_of(host, anonymous=True).get("/readyz").status_code == 503


def test_a_check_goes_with_its_owner(make_host):
    host = make_host()
    host.health.add("scheduler", lambda: "late")
    host.health.remove_owner("scheduler")
    assert host.health.problems() == {}


def test_each_problem_of_an_owner_is_told(make_host):
    host = make_host()
    host.health.add("scheduler", lambda: "late")
    host.health.add("scheduler", lambda: "tired")
    host.health.add("scheduler", lambda: None)
    assert host.health.problems() == {"scheduler": "late; tired"}


def test_a_check_that_exits_does_not_end_the_server(make_host):
    def leave() -> str:
        raise SystemExit(1)

    host = make_host()
    host.health.add("scheduler", leave)
    assert "its health check failed" in host.health.problems()["scheduler"]


@pytest.mark.parametrize(
    ("answer", "told"), [(5, "5"), ("half a \ud800", "half a ?"), (["a", "b"], "['a', 'b']")]
)
def test_an_odd_answer_of_a_check_is_told_as_well_as_can_be(make_host, client_of, answer: object, told: str):
    host = make_host()
    host.health.add("odd", lambda: answer)
    problems = client_of(host).get("/readyz").json()["problems"]
    assert problems == {"odd": told}
