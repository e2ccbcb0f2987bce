import logging

import pytest
from plugbay import get_logger
from plugbay.logs import format_event, start_logging


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


def test_to_debug_is_to_hear_of_ourselves_and_never_of_what_libraries_send(capfd: pytest.CaptureFixture[str]):
    """With `--log-level debug`, HTTP libraries wrote every address that they asked, tokens and all."""
    root = logging.getLogger()
    before, root.handlers = (root.level, root.handlers), []
    try:
        start_logging("debug")
        for library in ("urllib3.connectionpool", "apprise", "httpx", "sqlalchemy.engine", "anything"):
            logging.getLogger(library).debug("POST /hook/T0KEN")
            logging.getLogger(library).warning("heard")
        get_logger("a_plugin.of.somebody").debug("thought", of="something")
    finally:
        root.setLevel(before[0])
        root.handlers = before[1]
    said = capfd.readouterr().err
    assert "T0KEN" not in said
    assert said.count("heard") == 5
    assert "a_plugin.of.somebody thought of=something" in said
