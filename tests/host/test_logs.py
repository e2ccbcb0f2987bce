import logging

import pytest
from plugbay import get_logger
from plugbay.logs import format_event


def test_a_plain_value_is_written_as_it_is():
    assert format_event("executed", {"query": "orders", "ms": 12}) == "executed query=orders ms=12"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("two words", '"two words"'),
        ("", '""'),
        ('say "hi"', '"say \\"hi\\""'),
        ("a=b", '"a=b"'),
        ("line\nbreak", '"line\\nbreak"'),
        ("\x1b[31mred", '"\\x1b[31mred"'),
        ("right\u202eleft", '"right\\u202eleft"'),
        ("\ud800", '"\\ud800"'),
        ("größe", "größe"),
        (None, "None"),
    ],
)
def test_a_value_can_neither_break_the_line_nor_hide_a_part_of_it(value: object, shown: str):
    line = format_event("said", {"text": value})
    assert line == f"said text={shown}"
    assert "\n" not in line


def test_a_line_costs_nothing_when_nobody_wants_it(caplog: pytest.LogCaptureFixture):
    class Unprintable:
        def __str__(self) -> str:
            raise AssertionError("nobody asked")

    with caplog.at_level(logging.WARNING, logger="quiet"):
        get_logger("quiet").info("unheard", value=Unprintable())


def test_an_exception_brings_its_traceback(caplog: pytest.LogCaptureFixture):
    try:
        raise ValueError("broken")
    except ValueError:
        get_logger("loud").exception("failed", step=3)
    [record] = [record for record in caplog.records if record.name == "loud"]
    assert record.getMessage() == "failed step=3"
    assert "ValueError: broken" in caplog.text
