"""Decisions, the queue and the log under two processes at once, on SQLite and on PostgreSQL."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.migrated import migrated_database
from tests.reviews import racing
from tests.running.documents import AGENT

ROOT = Path(__file__).parents[2]

# What is stored after the races.
LOOK = """
import django, json
django.setup()
from evaluations.models import PairedCase
from reviews import audit
from reviews.models import DoubleReview, QueueEntry, Review
reviews = Review.objects.filter(decision="PASS").count()
classes = list(PairedCase.objects.filter(cases__results__expectation_id="b").distinct().order_by("pk")
               .values_list("pk", "classification"))
print(json.dumps({"reviews": reviews, "classes": classes, "broken": str(audit.verify().broken),
                  "rounds": [[one.state, one.decisions.count()] for one in DoubleReview.objects.all()],
                  "flags": QueueEntry.objects.open().filter(reason="FLAGGED").count(),
                  "contradictions": QueueEntry.objects.open().filter(reason="CONTRADICTION").count()}))
"""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def raced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What both processes got, race by race, and what is stored then."""
    folder = tmp_path_factory.mktemp("race")
    with migrated_database(request.param, folder) as url:
        environment = {
            **os.environ,
            "DATABASE_URL": url,
            "AGENTTWIN_DATA_DIR": str(folder),
            "DJANGO_SETTINGS_MODULE": "agenttwin_site.settings",
            "PYTHONPATH": str(ROOT),
            "AGENTTWIN_IN_PROCESS_AGENTS": json.dumps({AGENT: "tests.running.agents.StepAgent"}),
        }

        def start(*arguments: str) -> subprocess.Popen[str]:
            return subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )

        def finish(process: subprocess.Popen[str]) -> str:
            out, error = process.communicate(timeout=240)
            assert process.returncode == 0, error[-4000:]
            return out

        finish(start("-m", "tests.reviews.racing"))
        racers = [start("-m", "tests.reviews.racing", str(me), str(folder)) for me in (0, 1)]
        try:
            first, second = (json.loads(finish(racer)) for racer in racers)
        finally:
            for racer in racers:
                racer.kill()
        stored = json.loads(finish(start("-c", LOOK)))
    return {name: (first[name], second[name]) for name in first} | {"stored": stored}


def test_a_double_click_makes_one_review(raced) -> None:
    first, second = raced["same_form"]
    assert first == second
    assert len(set(first)) == racing.PAIRS
    assert all(isinstance(review_id, int) for review_id in first)


def test_of_two_reviewers_one_decides_and_one_is_told(raced) -> None:
    for first, second in zip(*raced["same_result"], strict=True):
        codes = [answer for answer in (first, second) if isinstance(answer, str)]
        assert codes == ["review_conflict"]


def test_two_decisions_in_one_case_at_once_both_count(raced) -> None:
    first, second = raced["same_pair"]
    assert all(isinstance(answer, int) for answer in first + second)
    classes = [name for _, name in raced["stored"]["classes"]]
    # The pairs of the last race had two failures, and each reviewer lifted one of them.
    assert classes[2 * racing.PAIRS :] == ["UNCHANGED"] * racing.PAIRS
    assert classes[: 2 * racing.PAIRS] == ["NEW_CRITICAL_FAILURE"] * (2 * racing.PAIRS)


def test_no_review_was_lost_or_doubled(raced) -> None:
    # One per pair in the first two races, two per pair in the third.
    assert raced["stored"]["reviews"] == 4 * racing.PAIRS


def test_one_person_in_two_windows_holds_one_entry(raced) -> None:
    first, second = raced["one_person_takes"]
    assert first is not None
    assert first == second


def test_no_entry_goes_to_two_people_and_none_is_left(raced) -> None:
    first, second = raced["two_take"]
    assert not set(first) & set(second)
    assert len(first) + len(second) == racing.ENTRIES


def test_two_flags_at_once_are_one_entry(raced) -> None:
    (first, first_is_new), (second, second_is_new) = raced["both_flag"]
    assert first == second
    assert sorted([first_is_new, second_is_new]) == [False, True]
    assert raced["stored"]["flags"] == 1


def test_entries_appended_at_once_form_one_chain(raced) -> None:
    first, second = raced["append"]
    numbers = sorted(first + second)
    assert numbers == list(range(numbers[0], numbers[0] + 2 * racing.APPENDS))
    assert raced["stored"]["broken"] == "None"


def test_a_reviewer_works_while_a_run_writes(raced) -> None:
    finished, (decisions, longest_wait) = raced["run_and_review"]
    assert finished == 2 * racing.TRIALS
    assert decisions >= 2
    # Far below the 20 seconds after which SQLite gives up with "database is locked".
    assert longest_wait < 10


def test_the_comparison_that_ended_meanwhile_filled_the_queue(raced) -> None:
    assert raced["stored"]["contradictions"] == racing.TRIALS


def test_of_two_first_decisions_one_is_sealed_and_the_other_settles(raced) -> None:
    for answers in zip(*raced["under_seal"], strict=True):
        assert sorted(answers) == ["BlindDecision", "Review"]
    assert raced["stored"]["rounds"] == [["AGREED", 2]] * racing.PAIRS
