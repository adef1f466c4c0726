"""The same bytes at the same times of its clock, and a server makes the same calls."""

from __future__ import annotations

import random

import pytest

from harness.tests.drawn import some
from harness.claims.instruments.order import AT_ONCE, compare
from harness.claims.stage.stage import Run, Stage
from harness.grading import judge, orders
from harness.grading.diagnosis import Diagnosis
from harness.grading.request import Request
from harness.grading.scoring import FAILED, PASSED, Grade, Outcome, holding, load
from harness.lab.chapters import find
from harness.lab.target import resolve
from harness.server import build
from harness.server.shim import shim_library

# Of claims with a clock of ours: those in which chance has no part.
CLAIMS = """
    07_an_hour_and_the_longest_time 07_cancel 07_earlier_timer_rings_first
    07_every_rings_count_times 07_half_close_with_alarms_owed 07_honest_senders_are_not
    07_idle_clients_are_closed 07_idle_waits_for_alarms 07_no_part_of_a_millisecond_early 07_reset
    07_server_on_a_machine_that_runs_for_weeks 07_server_whose_time_of_day_is_set
    07_slow_senders_are_closed 08_half_close_over_quota 08_interval_begins_with_a_frame
    08_over_quota_is_not_idle 08_quota_is_kept 08_unused_quota_is_gone
    12_a_key_lives_for_sixty_days 12_expired_keys_are_gone
    12_the_time_of_day_is_set 12_watched_keys_end
""".split()
DRAWN = 5


@pytest.mark.parametrize("claim", some(CLAIMS, DRAWN, "orders of two runs", str))
def test_two_runs_of_a_claim_make_the_same_calls(claim, tmp_path, monkeypatch):
    """The solution of its chapter: by read() and send(), since what io_uring does is not seen."""
    target, file = resolve(find(claim[:2]), "solutions"), tmp_path / "order"
    words = (*judge.LAB_OPTIONS, *target.chapter.by_calls.split())
    monkeypatch.setattr(judge, "LAB_OPTIONS", words)
    results = tmp_path / "results.json"
    request = Request(only=f"test_{claim}", seed=1, jobs=0, results=results, order=file)
    found = []
    for _ in range(2):
        grade = judge.grade_target(target, request)
        assert [one.verdict for one in grade.outcomes] == [PASSED], grade
        found.append(file.read_text())
    first, second = found
    assert first and compare(first, second) == compare(first, first)


def _order(seed, sizes=(1, 500)):
    """The order of the solution of 07. Two clients send it frames of drawn sizes, now and then."""
    source, rng = find("07").solution_dir, random.Random(seed)
    binary = build.server_of(find("07"), source).binary
    run = Run([str(binary), *judge.LAB_OPTIONS], preload=str(shim_library()), sources=["main.c"])
    stage = Stage(run)
    try:
        server = stage.launch(("--idle-timeout", "60000"), clock=True)
        clients = [server.connect(), server.connect()]
        for _ in range(20):
            client = rng.choice(clients)
            body = rng.randbytes(rng.randint(*sizes))
            client.exchange(client.framing.encode(body), [body])
            server.clock.advance(rng.randint(1, 100))
        return stage.order()
    finally:
        stage.clear()


def test_another_seed_is_another_order():
    first = _order(1)
    assert compare(first, _order(1)).startswith("the same ")
    assert compare(first, _order(2)).startswith("call ")


def test_what_does_not_arrive_at_once_is_left_to_chance():
    assert _order(1, sizes=(AT_ONCE, AT_ONCE)) == ""


@pytest.mark.parametrize(
    "here, there, says",
    [
        ("read(fd 7, 9) = 9", "read(fd 7, 9) = 9", "the same 1 call in the same order"),
        (
            "a = 1\nread(fd 7, 9) = 4",
            "a = 1\nread(fd 7, 9) = 9",
            "call 2 differs: " "read(fd 7, 9) = 4 here, 9 there",
        ),
        ("a = 1\nb = 2", "a = 1", "call 2 differs: b = 2 here, none there"),
        ("a = 1", "b = 1", "call 1 differs: a = 1 here, b = 1 there"),
    ],
)
def test_the_first_difference_is_told(here, there, says):
    assert compare(here, there) == says


def test_the_orders_of_failures_are_stored(tmp_path, monkeypatch):
    """An order belongs to one state of the files and one seed, and lasts as long as the failure."""
    monkeypatch.setattr(orders, "RESULTS", tmp_path)
    chapter = find("07")
    claims = {claim.name: claim for claim in holding(load(), chapter)}
    one, other = [claims[f"test_{name}"] for name in ("07_cancel", "07_reset")]

    def graded(outcomes, seed=1):
        grade = Grade(chapter=chapter, subject="", source=tmp_path, seed=seed)
        grade.outcomes = outcomes
        orders.store(grade)
        return grade

    lost = Diagnosis(True, "no reply", order="a = 1")
    grade = graded([Outcome(one, one.points, FAILED, lost)])
    graded([Outcome(other, other.points, FAILED, lost)])
    assert orders.of(grade, one.name) == orders.of(grade, other.name) == "a = 1"
    graded([Outcome(one, one.points, PASSED)])
    assert (orders.of(grade, one.name), orders.of(grade, other.name)) == ("", "a = 1")
    graded([], seed=2)
    assert orders.of(grade, other.name) == ""
