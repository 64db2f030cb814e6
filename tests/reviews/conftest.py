"""People and cases for tests of decisions."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.utils import timezone

from evaluations.models import Comparison, ExpectationResult, PairedCase
from evaluations.services.concluding import classify_pairs
from tests.models import factories

NOTE = "The refund was checked by hand."


def person(name: str, role: str = "reviewer", **fields: Any) -> User:
    """An account in the group of this role."""
    account = User.objects.create_user(name, **fields)
    account.groups.add(Group.objects.get(name=role))
    return account


@pytest.fixture
def ann(db) -> User:
    return person("ann")


@pytest.fixture
def bob(db) -> User:
    return person("bob")


@pytest.fixture
def eve(db) -> User:
    """Sees everything, decides nothing."""
    return person("eve", "viewer")


def paired(
    baseline: dict[str, str],
    candidate: dict[str, str],
    *,
    comparison: Comparison | None = None,
    noncritical: tuple[str, ...] = (),
    types: dict[str, str] | None = None,
    candidate_case: dict[str, Any] | None = None,
    **fields: Any,
) -> PairedCase:
    """A finished pair whose sides have these statuses by expectation id, classified as it would have been."""
    comparison = comparison or factories.comparison(state="COMPLETED")
    pair = factories.pair(comparison, **fields)
    for side, statuses in (("BASELINE", baseline), ("CANDIDATE", candidate)):
        found = set(statuses.values())
        verdict = "FAILED" if "FAIL" in found else "PASSED" if found == {"PASS"} else "ERRORED"
        values = {
            "state": "FINISHED",
            "verdict": verdict,
            "effective_verdict": verdict,
            "finished_at": timezone.now(),
            "claimed_outcome": "SUCCESS",
            **((candidate_case or {}) if side == "CANDIDATE" else {}),
        }
        case = factories.case(pair, side, **values)
        for name, status in statuses.items():
            factories.result(
                case,
                name,
                status=status,
                effective_status=status,
                critical=name not in noncritical,
                type=(types or {}).get(name, "agentRun" if name == "agentRun" else "state"),
            )
    classify_pairs(comparison.pk, again=True)
    pair.refresh_from_db()
    return pair


def result_of(pair: PairedCase, name: str, side: str = "CANDIDATE") -> ExpectationResult:
    return ExpectationResult.objects.get(case__pair=pair, case__run__side=side, expectation_id=name)


@pytest.fixture
def timeout_case(db) -> PairedCase:
    """The double refund: four checks fail for the candidate alone, three of them critical."""
    names = ("refunded-exactly-once", "refunded-amount", "no-double-refund", "success-backed-by-state")
    return paired(
        dict.fromkeys(names, "PASS"), dict.fromkeys(names, "FAIL"), noncritical=("success-backed-by-state",)
    )
