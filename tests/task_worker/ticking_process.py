"""A process of its own with an engine on a shared store; its clock moves by the lines it reads.

For each line `SECONDS` it lets that much time pass and answers with the ticks it was called for.
"""

import sys
from pathlib import Path

from fakes import FakeClock
from plugbay import Store
from plugbay_task_worker.embedded import EmbeddedEngine
from plugbay_task_worker.tick_claims import StoreTickClaims
from task_worker.world import PATIENCE_S


def main(data_dir: str) -> None:
    store, clock, calls = Store("", Path(data_dir)), FakeClock(), []
    engine = EmbeddedEngine(clock, StoreTickClaims(store))
    engine.every(owner="shop", name="task", seconds=60, call=lambda job: calls.append(f"{job.due_at:%H:%M}"))
    engine.start()
    print("ready", flush=True)
    for line in sys.stdin:
        clock.advance(float(line))
        engine.run_due()
        assert engine.wait_idle(PATIENCE_S)
        print(" ".join(calls), flush=True)
        calls.clear()
    engine.stop(0)
    store.close()


main(sys.argv[1])
