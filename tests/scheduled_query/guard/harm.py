"""The kinds of harm, each as a proof: run without a guard, the statement does it; `SELECT 1` does not."""

from collections.abc import Callable

from runner_kit import eventually

from .worlds.world import MARKER, World

LIMIT_S = 0.3
PATIENCE_S = 60  # what an honest small query never needs, on a machine that does much else
LARGE = 10_000_000  # bytes of one value


def _changes(look: Callable[[World], object]) -> Callable[[World, str], None]:
    def prove(world: World, sql: str) -> None:
        before = _standing_still(world, look)
        outcome = world.run(sql)
        eventually(lambda: look(world) != before, str(outcome))  # a session that is ended takes its time

    return prove


def _standing_still(world: World, look: Callable[[World], object]) -> object:
    """What is seen of a world that does not change by itself, once a server is through with its chores."""
    for _ in range(100):
        before = look(world)
        world.run("SELECT 1")
        if look(world) == before:
            return before
    raise AssertionError("the world must stand still by itself")


def reads_file(world: World, sql: str) -> None:
    assert MARKER not in str(world.run("SELECT 1"))
    outcome = world.run(sql)
    assert MARKER in str((outcome.columns, outcome.rows)), outcome


def writes_file(world: World, sql: str) -> None:
    assert not world.made.exists()
    outcome = world.run(sql)
    assert world.made.exists(), outcome


def loads_code(world: World, sql: str) -> None:
    """The file is no library, which the database can only know because it opened it."""
    outcome = world.run_unlocked(sql)
    assert "secret" in outcome.error, outcome


def takes_lock(world: World, sql: str) -> None:
    assert not world.is_locked()
    world.begin()
    outcome = world.run(sql)
    assert world.is_locked(), outcome


def tells_secret(world: World, sql: str) -> None:
    rows = str(world.run(sql).rows)
    secrets = ("SCRAM-SHA-256$", "of-elsewhere", "*B69027D44F6E5EDC07F1AEAD1477967B16F28227")
    assert any(secret in rows for secret in secrets), rows


def runs_too_long(world: World, sql: str) -> None:
    """It takes all the time there is: only the limit ends it."""
    assert world.run("SELECT 1", limit_s=PATIENCE_S).error == ""
    outcome = world.run(sql, limit_s=LIMIT_S)
    assert outcome.seconds > LIMIT_S * 0.9, outcome


def escapes_limit(world: World, sql: str) -> None:
    assert world.run(f"SELECT SLEEP({2 * PATIENCE_S})", limit_s=LIMIT_S).seconds < PATIENCE_S
    outcome = world.run(sql, limit_s=LIMIT_S)
    assert outcome.seconds > 1.5, outcome


def is_too_large(world: World, sql: str) -> None:
    outcome = world.run(sql)
    assert max(len(value) for value in outcome.rows[0] if isinstance(value, str | bytes)) > LARGE, (
        outcome.error
    )


def reaches_out(world: World, sql: str) -> None:
    outcome = world.run(sql)
    assert world.was_reached(), outcome


PROOFS: dict[str, Callable[[World, str], None]] = {
    "changes_data": _changes(lambda world: world.data()),
    "changes_schema": _changes(lambda world: world.schema()),
    "changes_session": _changes(lambda world: world.session()),
    "changes_server": _changes(lambda world: world.server()),
    "changes_file": _changes(lambda world: world.server()),
    "reads_file": reads_file,
    "writes_file": writes_file,
    "loads_code": loads_code,
    "takes_lock": takes_lock,
    "tells_secret": tells_secret,
    "runs_too_long": runs_too_long,
    "escapes_limit": escapes_limit,
    "is_too_large": is_too_large,
    "reaches_out": reaches_out,
}
