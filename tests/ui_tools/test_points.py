"""Where the rows of a table stand in a chart, by the scripts themselves in Node."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

POINTS = Path(__file__).parents[2] / "packages/ui_tools/frontend/src/parts/points.js"
PROGRAM = """
const { beside, place } = await import(process.argv[1]);
const cases = JSON.parse(process.argv[2]);
console.log(JSON.stringify(cases.map(({ x, kind, bars }) => bars ? beside(bars) : place(x, kind))));
"""


def answers(*cases: dict[str, Any]) -> list[Any]:
    node = os.environ["PLAYWRIGHT_NODEJS_PATH"]
    command = [node, "--input-type=module", "-e", PROGRAM, POINTS.as_uri(), json.dumps(cases)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


def test_lines_stand_where_their_dates_and_numbers_are_and_everything_else_side_by_side():
    days, moments, numbers, mixed, bars = answers(
        {"x": ["2026-01-02", "2026-01-01"], "kind": "line"},
        {"x": ["2026-01-01 00:00:10", "2026-01-01T00:00:05Z", "2026-01-01T01:00:00+01:00"], "kind": "line"},
        {"x": [3, 1.5, 2], "kind": "line"},
        {"x": ["2026-01-01", "soon"], "kind": "line"},
        {"x": [3, 1], "kind": "bar"},
    )
    new_year = 1767225600
    assert days == {"scale": "time", "at": [new_year, new_year + 86400], "order": [1, 0]}
    assert moments["at"] == [new_year, new_year + 5, new_year + 10]
    assert numbers == {"scale": "number", "at": [1.5, 2, 3], "order": [1, 2, 0]}
    assert mixed == {"scale": "names", "at": [0, 1], "order": [0, 1], "labels": ["2026-01-01", "soon"]}
    assert bars["labels"] == ["3", "1"]


def test_bars_of_several_series_stand_beside_each_other():
    [(at, first, second)] = answers({"bars": [[1, 2], [3, 4]]})
    assert [round(x, 3) for x in at] == [-0.2, 0.2, 0.8, 1.2]
    assert (first, second) == ([1, None, 2, None], [None, 3, None, 4])
