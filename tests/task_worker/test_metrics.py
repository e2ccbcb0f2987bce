import pytest
from fakes import FakeClock
from plugbay_task_worker.engine import EngineStats, JobStats
from plugbay_task_worker.metrics import metrics_text
from prometheus_client.parser import text_string_to_metric_families

NOTHING = EngineStats(started=True, workers=4, tasks=(), jobs=(), timers=0, queued=0, running=(), recent=())


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Each sample by its name and label values, as a scraper reads them."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_tasks_did(stats: EngineStats, clock: FakeClock) -> None:
    found = samples(metrics_text(stats))

    assert found["plugbay_task_runs_total", "shop", "collect"] == 1
    assert found["plugbay_task_failures_total", "shop", "collect"] == 1
    assert found["plugbay_task_seconds_total", "shop", "collect"] == 2
    assert found["plugbay_task_lateness_seconds_total", "shop", "collect"] == 30
    assert found["plugbay_task_skipped_total", "shop", "collect"] == 0
    assert found["plugbay_task_missed_total", "shop", "collect"] == 0
    assert found["plugbay_task_last_run_timestamp_seconds", "shop", "collect"] == clock.now().timestamp() - 2


def test_what_jobs_did(stats: EngineStats) -> None:
    found = samples(metrics_text(stats))

    assert found["plugbay_job_runs_total", "shop", "note"] == 1
    assert found["plugbay_job_failures_total", "shop", "note"] == 0
    assert found["plugbay_job_cancelled_total", "shop", "note"] == 0
    assert found["plugbay_job_returned_total", "shop", "note"] == 1
    assert found["plugbay_job_seconds_total", "shop", "note"] == 0


def test_what_is_going_on(stats: EngineStats) -> None:
    found = samples(metrics_text(stats))

    assert found["plugbay_jobs_queued",] == 0
    assert found["plugbay_jobs_running",] == 0
    assert found["plugbay_job_workers",] == 3


def test_an_engine_without_work_has_no_empty_families() -> None:
    assert "task" not in metrics_text(NOTHING)
    assert samples(metrics_text(NOTHING)) == {
        ("plugbay_jobs_queued",): 0,
        ("plugbay_jobs_running",): 0,
        ("plugbay_job_workers",): 4,
    }


@pytest.mark.parametrize("owner", ['a"b', "a\\b", "a\nb", 'a\\"\n{}'])
def test_whatever_a_label_holds_arrives_unchanged(owner: str) -> None:
    jobs = (JobStats(owner, "note", 1, 0, 0, 0, 0.5),)
    text = metrics_text(EngineStats(True, 4, (), jobs, 0, 0, (), ()))

    assert samples(text)["plugbay_job_runs_total", owner, "note"] == 1
