"""Form fields and ids of requests, as pages of the host and of plugins read them."""

from typing import Annotated

import pytest
from fastapi import FastAPI, Form, HTTPException, Query
from fastapi.testclient import TestClient
from plugbay.web import LARGEST_ID, PLAIN, RowId, Typed, plain_integer, row_id

NO_PLAIN_INTEGERS = [
    "",
    "x",
    "1.0",
    "+1",
    " 1",
    "1 ",
    "1_0",
    "1e3",
    "١",
    "１",
    "9" * 21,
    "--1",
    "-",
    "0x1",
    "٣",
    "1;",
    "1\n",
    "true",
]


@pytest.mark.parametrize("text", NO_PLAIN_INTEGERS)
def test_what_is_not_plainly_an_integer_is_none(text: str):
    with pytest.raises(ValueError, match="plain whole number"):
        plain_integer(text)


@pytest.mark.parametrize("text", [*NO_PLAIN_INTEGERS, "0", "-1", str(LARGEST_ID + 1)])
def test_what_cannot_be_the_id_of_a_row_names_none(text: str):
    with pytest.raises(HTTPException) as caught:
        row_id(text, "There is no such thing.")
    assert (caught.value.status_code, caught.value.detail) == (404, "There is no such thing.")


def test_an_id_is_read_up_to_the_largest():
    assert [row_id("1"), row_id(str(LARGEST_ID))] == [1, 2**31 - 1]


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = FastAPI()

    @app.get("/rows/{row}")
    def show(row: RowId, page: Annotated[int, Query(ge=1), PLAIN] = 1) -> list[int]:
        return [row, page]

    @app.post("/form")
    def form(typed: Typed, name: Annotated[str, Form()] = "") -> dict[str, str]:
        return {**typed, "read twice": name}

    return TestClient(app)


@pytest.mark.parametrize("text", ["0", "-1", "1.0", "x", "9999999999", "%2B1", "1%20", "١"])
def test_a_route_refuses_an_id_that_cannot_be(client: TestClient, text: str):
    assert client.get(f"/rows/{text}").status_code == 422


def test_a_route_reads_ids_and_numbers(client: TestClient):
    assert client.get(f"/rows/{LARGEST_ID}?page=7").json() == [LARGEST_ID, 7]
    assert client.get("/rows/1?page=1.0").json()["detail"][0]["msg"] == "Input should be a plain integer"


def test_of_several_fields_with_one_name_the_last_counts_and_a_file_is_no_text(client: TestClient):
    answer = client.post("/form", data={"name": ["a", "b"]}, files={"file": b"bytes"})
    assert answer.json() == {"name": "b", "read twice": "b"}
