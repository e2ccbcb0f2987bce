import threading

import anyio
import pytest
from argon2.exceptions import VerifyMismatchError
from own_thread import in_own_thread
from plugbay.auth.accounts import MAX_PASSWORD, checked_name, checked_password, is_possible_name
from plugbay.auth.passwords import CheckQueue, Costs, Passwords
from plugbay.errors import NameRefused, PasswordRefused, TooManyAttempts


def test_a_hash_matches_its_password_alone() -> None:
    passwords = Passwords()
    stored = passwords.hash("correct horse")
    assert passwords.match(stored, "correct horse")
    assert not passwords.match(stored, "correct horsE")
    assert not passwords.match(stored, "")


def test_the_same_password_has_another_hash_each_time() -> None:
    assert Passwords().hash("correct horse") != Passwords().hash("correct horse")


def test_a_missing_or_damaged_hash_matches_nothing() -> None:
    assert not Passwords().match(None, "correct horse")
    assert not Passwords().match("not a hash", "correct horse")


def test_the_hash_of_nobody_is_checked_in_full() -> None:
    # a hash that argon2 cannot read would be refused at once: then names that exist would answer later
    passwords = Passwords()
    with pytest.raises(VerifyMismatchError):
        passwords._hasher.verify(passwords._nobody, "correct horse")
    assert not passwords.are_outdated(passwords._nobody)


def test_the_costs_are_those_of_rfc_9106() -> None:
    assert Costs() == Costs(passes=3, memory_kib=65536, lanes=4)


def test_a_hash_made_with_other_costs_is_outdated() -> None:
    old, new = Passwords(Costs(1, 64, 1)), Passwords(Costs(2, 64, 1))
    assert new.are_outdated(old.hash("correct horse"))
    assert not new.are_outdated(new.hash("correct horse"))
    assert new.match(old.hash("correct horse"), "correct horse")


@pytest.mark.parametrize("odd", ["\0", "\ud800", "a" * MAX_PASSWORD, "🙂" * 100, "\r\n", "pass\0word"])
def test_any_text_can_be_a_password(odd: str) -> None:
    assert Passwords().match(Passwords().hash(odd), odd)


def test_accents_are_the_same_whichever_way_they_are_typed() -> None:
    assert Passwords().match(Passwords().hash("caf\u00e9 noir"), "cafe\u0301 noir")


@pytest.mark.parametrize("password", ["", "1234567", "a" * (MAX_PASSWORD + 1)])
def test_a_password_that_is_too_short_or_too_long_is_refused(password: str) -> None:
    with pytest.raises(PasswordRefused, match="8 to 1024 characters"):
        checked_password(password)


@pytest.mark.parametrize("name", ["ada", "Ada Moreau", "zoé", "李四", "a.b+c@d-e_f", "x" * 64])
def test_a_name_may_be_of_any_script(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", " ", " ada", "ada ", "a:b", "a\0", "a\nb", "a\u202eb", "a\u200bb", "\ud800", "x" * 65, "ﷺ" * 64],
)
def test_a_name_that_could_be_mistaken_is_refused(name: str) -> None:
    assert not is_possible_name(name)
    with pytest.raises(NameRefused, match="1 to 64 visible characters"):
        checked_name(name)


def test_a_name_has_one_spelling() -> None:
    assert checked_name("zoe\u0301") == "zo\u00e9"


def test_only_so_many_passwords_are_checked_at_once() -> None:
    running: list[int] = []
    seen: set[int] = set()
    two = threading.Barrier(2, timeout=60)

    def work() -> None:
        running.append(1)
        seen.add(len(running))
        two.wait()  # nobody ends alone
        seen.add(len(running))
        running.pop()

    async def two_hundred_clicks() -> None:
        slots = CheckQueue(at_once=2, most_waiting=198)
        async with anyio.create_task_group() as group:
            for _ in range(200):
                group.start_soon(slots.run, work)

    in_own_thread(anyio.run, two_hundred_clicks)
    assert max(seen) == 2


def test_whoever_would_wait_too_long_is_told_to_come_again() -> None:
    async def one_too_many() -> list[str]:
        slots, answers = CheckQueue(at_once=1, most_waiting=1), []

        async def click() -> None:
            try:
                await slots.run(Passwords().hash, "correct horse")
                answers.append("done")
            except TooManyAttempts as error:
                answers.append(f"again in {error.retry_after} s")

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(click)
        return answers

    assert sorted(in_own_thread(anyio.run, one_too_many)) == ["again in 5 s", "done", "done"]


def test_a_crowd_from_one_address_leaves_room_for_others() -> None:
    async def a_crowd_and_another() -> dict[str, list[str]]:
        slots = CheckQueue(at_once=1, most_waiting=3)
        answers: dict[str, list[str]] = {"crowd": [], "other": []}

        async def click(address: str) -> None:
            try:
                await slots.run_for(address, Passwords().hash, "correct horse")
                answers[address].append("done")
            except TooManyAttempts:
                answers[address].append("again")

        for _ in range(2):  # the places of those who left are free again
            async with anyio.create_task_group() as group:
                for address in ["crowd"] * 4 + ["other"]:
                    group.start_soon(click, address)
        return answers

    answers = in_own_thread(anyio.run, a_crowd_and_another)
    assert {who: sorted(told) for who, told in answers.items()} == {
        "crowd": ["again"] * 4 + ["done"] * 4,
        "other": ["done"] * 2,
    }
