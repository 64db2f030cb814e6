"""Classes of a case without a baseline: nothing to be excused by, nothing to improve on."""

from __future__ import annotations

import pytest

from evaluations.grading.classification import SideResults, classify
from evaluations.grading.results import Result


def result(status: str, *, name: str = "once", critical: bool = False) -> Result:
    return Result(name, "state", critical, status, "STATE_MISMATCH" if status == "FAIL" else None, "why", {})


@pytest.mark.parametrize(
    ("results", "klass", "reason", "newly_failing"),
    [
        ([result("PASS")], "UNCHANGED", "nothing fails", ()),
        ([result("FAIL")], "REGRESSED", "failing: once (STATE_MISMATCH)", ("once",)),
        (
            [result("FAIL", critical=True), result("FAIL", name="cheap")],
            "NEW_CRITICAL_FAILURE",
            "critical and failing: once (STATE_MISMATCH)",
            ("once", "cheap"),
        ),
        # Missing evidence hides no failure and is never a pass.
        ([result("FAIL"), result("ERROR", name="judge")], "REGRESSED", "failing: once", ("once",)),
        (
            [result("PASS"), result("ERROR", name="judge")],
            "INCOMPLETE",
            "the candidate could not be graded",
            (),
        ),
        ([result("SKIPPED", critical=True)], "INCOMPLETE", "the candidate could not be graded", ()),
        ([], "INCOMPLETE", "no expectation was evaluated", ()),
    ],
)
def test_the_class_follows_from_the_candidate_alone(
    results: list[Result], klass: str, reason: str, newly_failing: tuple[str, ...]
) -> None:
    found = classify(None, SideResults(tuple(results)))
    assert (found.klass, found.newly_failing) == (klass, newly_failing)
    assert reason in found.reason


def test_one_that_did_not_finish_is_incomplete() -> None:
    found = classify(None, SideResults((), finished=False, reason="its case is CANCELLED"))
    assert (found.klass, found.reason) == (
        "INCOMPLETE",
        "the candidate did not finish: its case is CANCELLED",
    )
