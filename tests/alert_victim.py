"""Processes that record, send and are killed: `python alert_victim.py STORE_FOLDER KEY QUERY_ID ROUNDS SEED`.

One process imports everything and then forks: each child toggles an alert and tells of it until it is killed
at a random moment. The last one is left alone and sends what is left.
"""

import os
import random
import signal
import sys
import time
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import sqlalchemy as sa
from fakes import FakeClock
from plugbay import Secrets
from plugbay.store import Store
from plugbay_scheduled_query.alerts.delivery import Delivery
from plugbay_scheduled_query.core.model import Outcome, Status
from plugbay_scheduled_query.messaging import is_known_url
from plugbay_scheduled_query.repository.channels import Channels
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.repository.outbox import LEASE, Outbox
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.repository.recording import Recording
from plugbay_scheduled_query.tables import runs

MOST_EVENTS = 4  # that a child tells of before it is killed
LONGEST_STEP_S = 0.05  # within which a kill falls after an event began


def live(folder: Path, key: str, query_id: int, clock: FakeClock, is_last: bool, begun: int) -> None:
    """Records and sends for ever; the last one only sends."""
    store = Store("", folder)
    channels = Channels(store, Secrets([key.encode()]), clock)
    node = Delivery(Outbox(store, clock), channels, clock, str, lambda: None, lambda when: None)
    with store.begin() as connection:
        connection.execute(sa.delete(runs))  # what the dead left behind is no matter here
    for number in count():
        os.write(begun, b".")
        if not is_last:
            record(store, clock, query_id, 11 if number % 2 else 1)
        clock.advance(2)
        node.run()
        node.wait()
        if is_last and not Outbox(store, clock).due():
            return


def record(store: Store, clock: FakeClock, query_id: int, value: int) -> None:
    run, _ = Claims(store, clock, "victim").start_now(query_id, "ada")
    assert run
    outcome = Outcome(
        Status.SUCCESS,
        columns=("n",),
        result_json=f"[[{value}]]",
        row_count=1,
        executed_at=clock.now(),
    )
    Recording(store).record([(run, outcome)], clock.now(), Keeping())


def main() -> None:
    folder, key, query_id, rounds, seed = sys.argv[1:]
    chance = random.Random(int(seed))
    is_known_url("json://127.0.0.1/")  # so that a child need not load it
    for number in range(int(rounds) + 1):
        clock = FakeClock(datetime.now(UTC) + number * 2 * LEASE + timedelta(hours=number))
        is_last = number == int(rounds)
        heard, begun = os.pipe()
        child = os.fork()
        if child == 0:
            live(Path(folder), key, int(query_id), clock, is_last, begun)
            os._exit(0)
        if not is_last:
            for _ in range(chance.randint(1, MOST_EVENTS)):
                os.read(heard, 1)
            time.sleep(chance.uniform(0, LONGEST_STEP_S))
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(heard)
        os.close(begun)


if __name__ == "__main__":
    main()
