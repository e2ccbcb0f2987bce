"""One action for many queries: edits in one transaction, runs through their door, refusals with reasons."""

import pytest
from runner_kit import eventually
from scheduled_query.api.conftest import FOREVER, Service

BULK = "/api/scheduled-queries/bulk"


def bulk(service: Service, ids: list[int], action: str, **more: object) -> dict:
    answer = service.editor.post(BULK, json={"ids": ids, "action": action, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def made(service: Service, count: int, **fields: object) -> list[int]:
    return [service.create(**fields)["id"] for _ in range(count)]


def details(service: Service, query_id: int) -> dict:
    return service.viewer.get(f"/api/scheduled-queries/{query_id}").json()


def test_disabling_and_enabling_many(service_on_both: Service):
    service = service_on_both
    ids = made(service, 3)
    assert bulk(service, ids, "disable") == {
        "action": "disable",
        "done": ids,
        "refused": [],
        "message": "3 disabled.",
    }
    assert [details(service, one)["next_run_at"] for one in ids] == [None] * 3
    assert bulk(service, ids, "enable")["message"] == "3 enabled."
    assert all(details(service, one)["next_run_at"] for one in ids)


def test_what_is_so_already_is_no_new_version(service: Service):
    [one] = made(service, 1)
    assert bulk(service, [one], "enable")["done"] == [one]
    assert details(service, one)["version"] == 1


def test_who_is_missing_is_told_and_holds_nobody_up(service: Service):
    ids = made(service, 2)
    answer = bulk(service, [*ids, 999_999], "disable")
    assert answer["done"] == ids
    assert answer["refused"] == [{"id": 999_999, "name": None, "reason": "there is no such query"}]
    assert answer["message"] == "2 disabled, 1 refused: number 999999: there is no such query"


def test_a_tag_is_added_once_and_taken_away_whatever_its_capitals(service_on_both: Service):
    service = service_on_both
    plain, tagged = service.create()["id"], service.create(tags=["Night", "eu"])["id"]
    assert bulk(service, [plain, tagged], "tag", tag="night")["message"] == "2 tagged."
    assert details(service, plain)["tags"] == ["night"]
    assert details(service, tagged)["tags"] == ["Night", "eu"]
    assert bulk(service, [plain, tagged], "untag", tag="NIGHT")["message"] == "2 without the tag."
    assert details(service, tagged)["tags"] == ["eu"]


def test_one_that_has_too_many_tags_is_refused_alone(service: Service):
    full, other = service.create(tags=[f"t{n}" for n in range(20)]), service.create()
    answer = bulk(service, [full["id"], other["id"]], "tag", tag="more")
    assert answer["done"] == [other["id"]]
    [refused] = answer["refused"]
    assert refused["name"] == full["name"]
    assert "at most 20 tags" in refused["reason"]


def test_deleting_many_ends_their_runs_too(service_on_both: Service):
    service = service_on_both
    slow, other = service.create(FOREVER, timeout=300)["id"], service.create()["id"]
    service.run(slow, wait=0)
    assert bulk(service, [slow, other], "delete")["message"] == "2 deleted."
    assert service.viewer.get(f"/api/scheduled-queries/{other}").status_code == 404
    assert eventually(lambda: service.parts.service.running == 0)


def test_running_many_starts_each_of_them(service: Service):
    ids = made(service, 12)
    answer = bulk(service, ids, "run")
    assert answer["done"] == ids
    assert answer["message"] == "12 started."
    assert eventually(lambda: all(details(service, one)["last_status"] == "success" for one in ids))


def test_no_more_run_than_one_person_may_have(service: Service):
    ids = made(service, 10, query=FOREVER, timeout=300)
    answer = bulk(service, ids, "run")
    try:
        assert len(answer["done"]) == 8
        assert {one["reason"] for one in answer["refused"]} == {
            "You have 8 runs by hand under way; try again when one of them has ended."
        }
    finally:
        bulk(service, ids, "delete")
    assert eventually(lambda: service.parts.service.running == 0)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"ids": [1], "action": "explode"}, "action"),
        ({"ids": [1], "action": ["run"]}, "action"),
        ({"ids": [], "action": "run"}, "ids"),
        ({"ids": "1", "action": "run"}, "ids"),
        ({"ids": [True], "action": "run"}, "ids"),
        ({"ids": [0], "action": "run"}, "ids"),
        ({"ids": [2**40], "action": "run"}, "ids"),
        ({"ids": list(range(1, 202)), "action": "run"}, "ids"),
        ({"ids": [1], "action": "tag"}, "tag"),
        ({"ids": [1], "action": "tag", "tag": " "}, "tag"),
        ({"ids": [1], "action": "tag", "tag": "a,b"}, "tag"),
        ({"ids": [1], "action": "untag", "tag": 7}, "tag"),
    ],
)
def test_what_cannot_be_understood_names_its_field(service: Service, body: dict, field: str):
    answer = service.editor.post(BULK, json=body)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", field]


def test_viewers_may_not(service: Service):
    assert service.viewer.post(BULK, json={"ids": [1], "action": "run"}).status_code == 403
