"""The review policy: what it asks for, who may set it, and the record of that."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction

from reviews import services
from reviews.errors import InvalidInputError, NotAllowedError, StalePolicyError
from reviews.models import AuditEntry, ReviewPolicy
from reviews.two_reviewers import (
    ASKED_FOR,
    CRITICAL_JUDGED,
    CRITICAL_UNMEASURED,
    NEW_CRITICAL_FAILURE,
    Measured,
    Policy,
    Votes,
    asked_for,
    is_sampled,
)
from tests.reviews.conftest import NOTE, person

EVERY = Policy(number=1, two_reviewers=frozenset(ASKED_FOR))


@pytest.fixture
def adam(db: Any) -> User:
    return person("adam", "admin")


def setting(actor: User, **changes: Any) -> tuple[Policy, bool]:
    values: dict[str, Any] = {
        "two_reviewers": [NEW_CRITICAL_FAILURE],
        "sample_percent": "5",
        "confidence_below": "0.6",
        "note": NOTE,
        "seen_number": 0,
        "actor": actor,
    }
    return services.set_policy(**values | changes)


# ------------------------------------------------------------------------------------------ pure


@pytest.mark.parametrize(
    ("check", "asked"),
    [
        (Measured("state", True, "FAIL", "FAIL", "PASS"), NEW_CRITICAL_FAILURE),
        (Measured("state", True, "FAIL", "FAIL", None), NEW_CRITICAL_FAILURE),
        (Measured("state", True, "FAIL", "FAIL", "ERROR"), NEW_CRITICAL_FAILURE),
        # The baseline's result of the same check: to fail it too would lift the candidate's.
        (Measured("state", True, "PASS", "FAIL", "PASS"), NEW_CRITICAL_FAILURE),
        (Measured("state", True, "FAIL", "FAIL", "FAIL"), ""),
        (Measured("state", True, "PASS", "PASS", "FAIL"), ""),
        (Measured("state", True, "PASS", "PASS", "PASS"), ""),
        (Measured("semantic", True, "PASS", "PASS", "PASS"), CRITICAL_JUDGED),
        (Measured("semantic", True, "FAIL", "FAIL", "FAIL"), CRITICAL_JUDGED),
        (Measured("semantic", True, "ERROR", "ERROR", "PASS"), CRITICAL_UNMEASURED),
        (Measured("state", True, "SKIPPED", "SKIPPED", "PASS"), CRITICAL_UNMEASURED),
        (Measured("state", False, "FAIL", "FAIL", "PASS"), ""),
        (Measured("semantic", False, "FAIL", "FAIL", "PASS"), ""),
    ],
)
def test_what_two_reviewers_are_asked_for(check: Measured, asked: str) -> None:
    assert asked_for(EVERY, check) == asked
    assert asked_for(Policy(), check) == ""
    others = Policy(number=1, two_reviewers=frozenset(ASKED_FOR) - {asked})
    assert asked_for(others, check) != asked or not asked


@pytest.mark.parametrize(
    ("given", "verdict", "is_split"),
    [
        ((), None, False),
        ((("PASS"),), None, False),
        (("PASS", "PASS"), "PASS", False),
        (("WITHDRAWN", "WITHDRAWN"), "WITHDRAWN", False),
        (("PASS", "FAIL"), None, True),
        (("PASS", "FAIL", "PASS"), "PASS", False),
        (("PASS", "FAIL", "FAIL"), "FAIL", False),
        (("PASS", "FAIL", "WITHDRAWN"), "WITHDRAWN", False),
    ],
)
def test_what_counts_follows_from_the_votes(given: Any, verdict: str | None, is_split: bool) -> None:
    votes = Votes(tuple(enumerate(given)))
    assert (votes.verdict, votes.is_split) == (verdict, is_split)


def test_a_sample_is_the_same_every_time_and_about_as_large_as_asked() -> None:
    keys = [("digest", 42, f"scenario-{number}", 1) for number in range(10_000)]
    drawn = [is_sampled(Decimal(5), key) for key in keys]
    assert 400 < sum(drawn) < 600
    assert drawn == [is_sampled(Decimal(5), key) for key in keys]
    assert not any(is_sampled(Decimal(0), key) for key in keys)
    assert all(is_sampled(Decimal(100), key) for key in keys)
    # A larger share keeps what a smaller one drew.
    assert all(is_sampled(Decimal(10), key) for key, was in zip(keys, drawn, strict=True) if was)


# --------------------------------------------------------------------------------------- setting


def test_without_one_the_defaults_hold(db: Any) -> None:
    policy = services.current_policy()
    assert (policy.number, policy.two_reviewers) == (0, frozenset())
    assert (policy.sample_percent, policy.confidence_below) == (Decimal(5), Decimal("0.6"))


def test_setting_one_makes_a_version_and_a_record(adam: User) -> None:
    first, is_new = setting(adam)
    second, _ = setting(adam, two_reviewers=list(ASKED_FOR), sample_percent="12.5", seen_number=1)
    assert is_new
    assert (first.number, second.number) == (1, 2)
    assert services.current_policy() == second
    entry = AuditEntry.objects.get(action="review_policy_set", subject_id="2")
    assert (entry.actor, entry.note) == (adam, NOTE)
    assert entry.before == {**first.to_json(), "sample_percent": "5", "confidence_below": "0.6"}
    assert entry.after["two_reviewers"] == list(ASKED_FOR)
    assert entry.after["sample_percent"] == "12.5"


def test_the_same_again_makes_nothing(adam: User) -> None:
    setting(adam)
    policy, is_new = setting(adam, seen_number=1, sample_percent="5.00", note="Just to be sure of it.")
    assert (policy.number, is_new) == (1, False)
    assert ReviewPolicy.objects.count() == AuditEntry.objects.filter(action="review_policy_set").count() == 1


def test_one_that_was_set_meanwhile_is_a_conflict(adam: User) -> None:
    setting(adam)
    with pytest.raises(StalePolicyError, match="number 1 is in force"):
        setting(adam, two_reviewers=[])
    assert services.current_policy().two_reviewers


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("two_reviewers", ["EVERYTHING"]),
        ("sample_percent", "-1"),
        ("sample_percent", "100.01"),
        ("sample_percent", "five"),
        ("sample_percent", "1e999"),
        ("sample_percent", "NaN"),
        ("sample_percent", "0.005"),
        ("confidence_below", "1.1"),
        ("confidence_below", ""),
        ("note", "too short"),
    ],
)
def test_what_does_not_hold_sets_nothing(adam: User, field: str, value: Any) -> None:
    with pytest.raises(InvalidInputError) as refused:
        setting(adam, **{field: value})
    assert refused.value.field == field
    assert not ReviewPolicy.objects.exists()
    assert not AuditEntry.objects.filter(action="review_policy_set").exists()


@pytest.mark.parametrize("role", ["viewer", "reviewer", "editor"])
def test_only_an_admin_sets_it(db: Any, role: str) -> None:
    with pytest.raises(NotAllowedError):
        setting(person("eve", role))
    assert not ReviewPolicy.objects.exists()


def test_a_version_is_written_once(adam: User) -> None:
    setting(adam)
    for statement in (
        "UPDATE reviews_reviewpolicy SET sample_percent = 0",
        "DELETE FROM reviews_reviewpolicy",
    ):
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    assert services.current_policy().number == 1
