"""Without a pace all sources share the slots of a node: one that hangs must not take them all."""

from plugbay_scheduled_query.settings import Settings
from service_world import FOREVER, executions, until


def test_a_source_that_hangs_keeps_no_other_waiting(world, add_query, add_source, make_due, histories):
    here = world()
    here.settings = Settings(interval=0, max_parallel=4)
    quick = add_query("quick", source=add_source("other"))
    for n in range(40):
        make_due(add_query(f"hangs {n}", query=FOREVER, timeout=300), seconds_ago=60)
    for times in (1, 2):
        make_due(quick, seconds_ago=10 - times)
        here.service.tick()
        until(lambda times=times: len(executions(histories, quick)) == times)
    assert here.runs_at_work() == 3


def test_all_that_is_due_of_the_others_runs_beside_it(world, add_query, add_source, make_due, histories):
    here, other = world(), add_source("other")
    here.settings = Settings(interval=0, max_parallel=4)
    for n in range(20):
        make_due(add_query(f"hangs {n}", query=FOREVER, timeout=300), seconds_ago=60)
    quick = [add_query(f"quick {n}", source=other) for n in range(15)]
    for query in quick:
        make_due(query)
    here.service.tick()
    until(lambda: all(len(executions(histories, query)) == 1 for query in quick))


def test_the_only_source_fills_every_slot(world, add_query, make_due):
    here = world()
    here.settings = Settings(interval=0, max_parallel=4)
    for n in range(8):
        make_due(add_query(f"hangs {n}", query=FOREVER, timeout=300))
    here.service.tick()
    until(lambda: here.runs_at_work() == 4)
