"""What the SQL editor proposes at a place in a text, by its own scripts in Node: all cases in one process."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

COMPLETION = Path(__file__).parents[2] / "packages/ui_tools/frontend/src/parts/completion.js"
KNOWN: dict[str, Any] = {
    "schema": {
        "orders": {"id": "INTEGER", "region": "TEXT", "status": "TEXT"},
        "invoices": {"id": "INTEGER", "status": "TEXT", "order_id": "INTEGER"},
        "crm.people": {"person": "TEXT"},
        "Odd": ["a b", "order"],
    },
    "functions": ["count", "strftime", "sum"],
    "words": {"start": "keyword", "state": "keyword", "drop": "keyword", "text": "type", "integer": "type"},
}
PROGRAM = """
const { propose } = await import(process.argv[1]);
const cases = JSON.parse(process.argv[2]);
const answer = ({ text, known }) => propose(text.replace("|", ""), text.indexOf("|"), known) ?? null;
console.log(JSON.stringify(cases.map(answer)));
"""

# text with the cursor as |, the first proposals
PROPOSED = {
    "a column of the table in FROM comes first": (
        "SELECT * FROM invoices WHERE sta|",
        ["status", "START", "STATE"],
    ),
    "columns of an alias": ("SELECT o.| FROM orders o", ["id", "region", "status"]),
    "columns of a table by its own name": ("SELECT orders.re| FROM orders", ["region"]),
    "columns of every JOIN": (
        "SELECT ord| FROM orders o JOIN invoices i ON i.order_id = o.id",
        ["order_id", "orders", "ORDER"],
    ),
    "columns after ON": ("SELECT 1 FROM orders o JOIN invoices i ON order|", ["order_id", "orders", "ORDER"]),
    "columns inside a call": ("SELECT count(sta|) FROM orders", ["status", "START", "STATE"]),
    "columns of the select behind UNION": (
        "SELECT a FROM orders UNION SELECT order_| FROM invoices",
        ["order_id"],
    ),
    "columns of what WITH made": (
        "WITH late AS (SELECT id AS late_id FROM orders) SELECT late_| FROM late",
        ["late_id"],
    ),
    "columns that WITH names": ("WITH late (n) AS (SELECT 1) SELECT late.| FROM late", ["n"]),
    "columns of WITH from WITH": (
        "WITH a AS (SELECT region FROM orders), b AS (SELECT * FROM a) SELECT b.| FROM b",
        ["region"],
    ),
    "columns of a recursive WITH": (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT n.| FROM n) SELECT 1",
        [],
    ),
    "columns of a subquery": ("SELECT late.| FROM (SELECT id, region r FROM orders) late", ["id", "r"]),
    "all columns of a subquery with a star": (
        "SELECT x.| FROM (SELECT * FROM orders) AS x",
        ["id", "region", "status"],
    ),
    "the query around a subquery": (
        "SELECT 1 FROM orders o WHERE EXISTS (SELECT 1 FROM invoices i WHERE i.order_id = o.|)",
        ["id", "region", "status"],
    ),
    "names that the select list gave": (
        "SELECT region AS place FROM orders GROUP BY pl|",
        ["place"],
    ),
    "every column before FROM is written": ("SELECT reg|", ["region"]),
    "tables behind FROM": ("SELECT * FROM or|", ["orders"]),
    "tables behind a comma": ("SELECT * FROM orders, in|", ["invoices"]),
    "tables of a schema": ("SELECT * FROM crm.|", ["people"]),
    "what WITH made behind FROM": ("WITH mine AS (SELECT 1) SELECT * FROM mi|", ["mine"]),
    "functions before keywords": ("SELECT st|", ["status", "strftime", "START", "STATE"]),
    "keywords at the start": ("sel|", ["SELECT"]),
    "keywords where an alias may stand": ("SELECT * FROM orders ord|", ["ORDER"]),
    "types in a cast": ("SELECT CAST(region AS te|", ["TEXT"]),
    "a part of a name comes after its beginning": ("SELECT * FROM invoices WHERE id|", ["id", "order_id"]),
    "no words that change something": ("SELECT dro|", []),
    "nothing for a name that its author chooses": ("SELECT region AS r|", []),
    "nothing in a text": ("SELECT 'sta|' FROM orders", []),
    "nothing in a comment": ("SELECT 1 -- sta|", []),
    "nothing in an open comment": ("SELECT 1 /* sta|", []),
    "no table where a value is compared": (
        "SELECT 1 FROM orders WHERE region IS DISTINCT FROM re|",
        ["region"],
    ),
    "no table in the grammar of a function": ("SELECT EXTRACT(year FROM re|) FROM orders", ["region"]),
    "brackets that never end": ("SELECT ((((o.re| FROM orders o", ["region"]),
}


def proposed(cases: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    node = os.environ["PLAYWRIGHT_NODEJS_PATH"]
    command = [node, "--input-type=module", "-e", PROGRAM, COMPLETION.as_uri(), json.dumps(cases)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [answer["options"] if answer else [] for answer in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def answers() -> dict[str, list[str]]:
    found = proposed([{"text": text, "known": KNOWN} for text, _ in PROPOSED.values()])
    return {name: [option["label"] for option in one] for name, one in zip(PROPOSED, found, strict=True)}


@pytest.mark.parametrize("name", PROPOSED)
def test_the_editor_proposes(answers: dict[str, list[str]], name: str):
    expected = PROPOSED[name][1]
    assert answers[name][: len(expected)] == expected
    if not expected:
        assert answers[name] == []


def test_names_are_inserted_so_that_the_database_reads_them():
    known = KNOWN | {"isAsked": True}
    of = "SELECT | FROM Odd"
    usual, mysql, postgresql, twice = proposed(
        [
            {"text": of, "known": known},
            {"text": of, "known": known | {"quote": "`"}},
            {"text": "SELECT * FROM O|", "known": known | {"foldsCase": True}},
            {"text": "SELECT stat| FROM orders o JOIN invoices i ON true", "known": known},
        ]
    )
    assert [option["insert"] for option in usual[:2]] == ['"a b"', '"order"']
    assert [option["insert"] for option in mysql[:2]] == ["`a b`", "`order`"]
    assert {"label": "Odd", "type": "class", "insert": '"Odd"'} in postgresql
    assert [option["insert"] for option in twice[:2]] == ["o.status", "i.status"]
