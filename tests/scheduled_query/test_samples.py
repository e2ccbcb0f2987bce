"""What a first start brings, on a real service: six queries that ran, once ever."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from plugbay import Plugbay
from plugbay_scheduled_query import demo as samples
from plugbay_scheduled_query.core.model import RenderType
from plugbay_scheduled_query.repository.sources import Origin
from plugbay_scheduled_query.web.dependencies import Parts
from service_world import run_now


@contextmanager
def started(folder: Path, is_wanted: bool = True) -> Iterator[Parts]:
    config = {"data_dir": folder / "data", "samples": is_wanted}
    host = Plugbay(FastAPI(), folder, config=config)
    with TestClient(host.app):
        module = host.get_module("scheduled_query")
        assert module
        yield module.parts  # type: ignore[attr-defined]


def test_a_first_start_brings_a_source_and_six_queries_that_ran(tmp_path: Path):
    with started(tmp_path) as parts:
        [source] = parts.sources.all()
        assert (source.name, source.origin) == (samples.SOURCE, Origin.SAMPLE)
        found = list(parts.definitions.all())
        assert [query.name for query in found] == [fields["name"] for fields in samples.QUERIES]
        for query in found:
            assert run_now(parts.service, query.id)  # joins the first run, or is the second
            latest = parts.definitions.get(query.id)
            assert latest
            assert (latest.name, latest.last_status, latest.last_error) == (query.name, "success", None)


def test_the_samples_show_every_render_type_and_two_metrics():
    kinds = {RenderType(fields["render_type"]) for fields in samples.QUERIES}
    assert kinds == set(RenderType)
    assert sum("monitor_metric_config" in fields for fields in samples.QUERIES) == 2


def test_the_samples_leave_half_of_the_lane_free(tmp_path: Path):
    with started(tmp_path) as parts:
        assert parts.capacities.by_source()[samples.SOURCE].fill_then <= 0.5


def test_what_was_deleted_does_not_return(tmp_path: Path):
    with started(tmp_path) as parts:
        for query in list(parts.definitions.all()):
            parts.editing.delete(query.id, "ada")
        for board in parts.boards.page(0, 50)[0]:
            parts.board_editing.delete(board.id, "ada")
    with started(tmp_path) as parts:
        assert list(parts.definitions.all()) == []
        assert parts.boards.page(0, 50) == ([], 0)


def test_the_samples_stand_on_a_board(tmp_path: Path):
    with started(tmp_path) as parts:
        [board], _ = parts.boards.page(0, 50)
        assert (board.draft.name, len(board.draft.cards)) == (samples.BOARD, len(samples.CARDS))
        assert board.draft.query_ids < {query.id for query in parts.definitions.all()}


def test_who_wants_no_samples_gets_none(tmp_path: Path):
    with started(tmp_path, is_wanted=False) as parts:
        assert parts.sources.all() == []
        assert list(parts.definitions.all()) == []


@pytest.mark.parametrize("minute", range(0, 1440, 97))
def test_every_minute_of_the_day_has_a_level(minute: int):
    assert 0 < samples._level(minute) < 2


def test_one_sample_is_watched_without_a_channel(tmp_path: Path):
    with started(tmp_path) as parts:
        (alert,) = parts.alerts.alerts.all()
        assert (alert.query_name, alert.draft.name) == (samples.WATCHED, samples.ALERT["name"])
        assert parts.alerts.channels.all() == []
        run_now(parts.service, alert.query_id)
        found = parts.alerts.alerts.get(alert.id)
        assert found
        assert found.state in ("ok", "firing")


def test_a_first_time_is_one_on_either_store(store, clock):
    parts: Any = SimpleNamespace(host=SimpleNamespace(store=store), clock=clock)
    assert [samples._is_first_time(parts), samples._is_first_time(parts)] == [True, False]
