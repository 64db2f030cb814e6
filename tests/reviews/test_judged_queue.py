"""What of the judges' work goes into the queue, and when it leaves it again."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluations.models import PairedCase
from evaluations.services.calibration import CALIBRATED, Standing
from reviews import services
from reviews.models import BlindDecision, QueueEntry, ReviewPolicy
from reviews.services import judged as judged_rows
from reviews.services.filling import fill_queue
from tests.models import factories
from tests.reviews.conftest import NOTE, paired, person, result_of


def policy(**changes: Any) -> None:
    values: dict[str, Any] = {"two_reviewers": [], "sample_percent": 0, "confidence_below": "0.6"}
    number = ReviewPolicy.objects.count() + 1
    author = User.objects.filter(username="adam").first() or person("adam", "admin")
    ReviewPolicy.objects.create(number=number, note=NOTE, created_by=author, **values | changes)


def judged(
    baseline: dict[str, str],
    candidate: dict[str, str],
    *,
    confidence: float = 0.9,
    noncritical: tuple[str, ...] = (),
    **options: Any,
) -> PairedCase:
    """A pair whose checks, but for `once`, are read by a judge; each PASS and FAIL has its verdict."""
    types = dict.fromkeys({*baseline, *candidate} - {"once", "agentRun"}, "semantic")
    pair = paired(baseline, candidate, types=types, noncritical=noncritical, **options)
    for side, statuses in (("BASELINE", baseline), ("CANDIDATE", candidate)):
        for name, status in statuses.items():
            if name in types and status in ("PASS", "FAIL"):
                score, label = (0.9, "pass") if status == "PASS" else (0.1, "fail")
                factories.judge_verdict(
                    result_of(pair, name, side),
                    status=status,
                    score=score,
                    label=label,
                    confidence=confidence,
                )
    return pair


def filled(pair: PairedCase) -> dict[str, QueueEntry]:
    fill_queue(pair.comparison)
    return open_entries(pair)


def open_entries(pair: PairedCase) -> dict[str, QueueEntry]:
    return {entry.reason: entry for entry in QueueEntry.objects.open().filter(pair=pair)}


def decide(pair: PairedCase, actor: User, name: str = "polite", decision: str = "PASS", **more: Any) -> Any:
    side = more.pop("side", "CANDIDATE")
    return services.override_result(
        result_id=result_of(pair, name, side).pk, decision=decision, note=NOTE, actor=actor,
        seen_review_id=more.pop("seen", 0),
    )  # fmt: skip


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every judge is calibrated."""
    monkeypatch.setattr(
        judged_rows, "standings", lambda keys: {key: Standing(CALIBRATED, "Calibrated.", 1) for key in keys}
    )


# ---------------------------------------------------------------------------- without a verdict


@pytest.mark.parametrize(("status", "reason"), [("ERROR", "JUDGE_ERROR"), ("SKIPPED", "JUDGE_SKIPPED")])
@pytest.mark.parametrize("noncritical", [(), ("polite",)])
def test_a_judge_without_a_verdict_asks_for_a_person(
    ann: User, status: str, reason: str, noncritical: tuple[str, ...]
) -> None:
    policy()
    sides = ({"once": "PASS", "polite": "PASS"}, {"once": "PASS", "polite": status})
    pair = judged(*sides, noncritical=noncritical)
    entries = filled(pair)
    assert set(entries) - {"UNCALIBRATED_CRITICAL"} == {reason}, "one reason, not two for the same"
    assert entries[reason].side == "CANDIDATE"
    decide(pair, ann)
    assert reason not in open_entries(pair)


def test_of_an_agent_that_could_not_be_run_nothing_is_asked(db: Any) -> None:
    policy()
    pair = judged({"polite": "PASS"}, {"polite": "SKIPPED", "agentRun": "FAIL"}, noncritical=("polite",))
    assert not {"JUDGE_SKIPPED", "JUDGE_ERROR"} & set(filled(pair))


def test_a_withdrawal_brings_it_back(ann: User) -> None:
    policy()
    pair = judged({"polite": "PASS"}, {"polite": "ERROR"}, noncritical=("polite",))
    filled(pair)
    review = decide(pair, ann)
    services.withdraw_review(review_id=review.pk, note=NOTE, seen_review_id=review.pk, actor=ann)
    assert set(open_entries(pair)) == {"JUDGE_ERROR"}


# -------------------------------------------------------------------------------- with a verdict


def test_a_critical_verdict_of_an_uncalibrated_judge(ann: User) -> None:
    policy()
    pair = judged(
        {"polite": "PASS", "kind": "PASS"}, {"polite": "FAIL", "kind": "PASS"}, noncritical=("kind",)
    )
    entry = filled(pair)["UNCALIBRATED_CRITICAL"]
    named = {subject.result_id for subject in entry.subjects.all()}
    assert named == {result_of(pair, "polite", side).pk for side in ("BASELINE", "CANDIDATE")}
    assert "candidate polite: FAIL by " in entry.detail
    assert "(uncalibrated)" in entry.detail
    decide(pair, ann)
    assert "UNCALIBRATED_CRITICAL" in open_entries(pair), "the baseline's verdict has not been looked at"
    decide(pair, ann, side="BASELINE")
    assert open_entries(pair) == {}


def test_of_a_calibrated_judge_nothing_is_asked(trusted: None, db: Any) -> None:
    policy()
    assert filled(judged({"polite": "PASS"}, {"polite": "FAIL"})) == {}


@pytest.mark.parametrize(("confidence", "asked"), [(0.59, True), (0.6, False), (1.0, False), (0.0, True)])
def test_a_verdict_the_judge_is_not_sure_of(trusted: None, db: Any, confidence: float, asked: bool) -> None:
    policy(confidence_below="0.6")
    pair = judged({"polite": "PASS"}, {"polite": "PASS"}, confidence=confidence, noncritical=("polite",))
    entries = filled(pair)
    assert ("LOW_CONFIDENCE" in entries) is asked
    if asked:
        assert f"{confidence:.2f} sure" in entries["LOW_CONFIDENCE"].detail


def test_all_passing_verdicts_of_the_candidate_can_be_sampled_and_no_others(trusted: None, ann: User) -> None:
    policy(sample_percent=100)
    pair = judged({"polite": "PASS", "kind": "PASS"}, {"polite": "PASS", "kind": "FAIL"})
    entry = filled(pair)["SAMPLE"]
    assert [subject.result_id for subject in entry.subjects.all()] == [result_of(pair, "polite").pk]
    assert entry.side == "CANDIDATE"
    decide(pair, ann)
    assert open_entries(pair) == {}


def test_what_is_looked_at_anyway_is_not_sampled_as_well(db: Any) -> None:
    policy(sample_percent=100)
    entries = filled(judged({"polite": "PASS"}, {"polite": "PASS"}, confidence=0.1))
    assert set(entries) == {"UNCALIBRATED_CRITICAL", "LOW_CONFIDENCE"}


def test_the_sample_hangs_on_what_was_run_and_not_on_when(trusted: None, db: Any) -> None:
    policy(sample_percent=30)
    scenarios = [factories.scenario_version(f"s-{number}") for number in range(12)]
    twin = factories.twin_version()

    def drawn() -> list[str]:
        comparison = factories.comparison(state="COMPLETED")
        for seed, scenario in enumerate(scenarios):
            judged(
                {"polite": "PASS"}, {"polite": "PASS"}, comparison=comparison, scenario_version=scenario,
                twin_version=twin, seed=seed,
            )  # fmt: skip
        fill_queue(comparison)
        entries = QueueEntry.objects.filter(pair__comparison=comparison, reason="SAMPLE")
        return sorted(entries.values_list("pair__scenario_name", flat=True))

    first = drawn()
    assert 0 < len(first) < 12
    assert drawn() == first


def test_without_a_policy_five_percent_are_sampled(trusted: None, db: Any) -> None:
    assert services.current_policy().sample_percent == 5
    assert "SAMPLE" not in filled(judged({"polite": "FAIL"}, {"polite": "FAIL"}))


def test_a_withdrawal_asks_for_another_look(trusted: None, ann: User) -> None:
    policy(sample_percent=100)
    pair = judged({"polite": "PASS"}, {"polite": "PASS"})
    filled(pair)
    review = decide(pair, ann)
    assert open_entries(pair) == {}
    services.withdraw_review(review_id=review.pk, note=NOTE, seen_review_id=review.pk, actor=ann)
    entry = open_entries(pair)["SAMPLE"]
    assert [subject.result_id for subject in entry.subjects.all()] == [result_of(pair, "polite").pk]


# --------------------------------------------------------------------------------------- and two


def test_critical_verdicts_can_be_decided_by_two(trusted: None, ann: User, bob: User) -> None:
    policy(two_reviewers=["CRITICAL_JUDGED"])
    pair = judged({"polite": "PASS"}, {"polite": "PASS"})
    assert set(filled(pair)) == {"SECOND_REVIEW"}
    assert isinstance(decide(pair, ann, decision="FAIL"), BlindDecision)
    decide(pair, bob, decision="FAIL")
    pair.refresh_from_db()
    assert (pair.classification, open_entries(pair)) == ("NEW_CRITICAL_FAILURE", {})


def test_filling_takes_the_same_queries_for_ten_pairs_as_for_one(db: Any) -> None:
    policy(sample_percent=100, two_reviewers=["CRITICAL_JUDGED"])

    def queries(number: int) -> int:
        comparison = factories.comparison(state="COMPLETED")
        for _ in range(number):
            judged({"polite": "PASS"}, {"polite": "FAIL"}, comparison=comparison, confidence=0.1)
        with CaptureQueriesContext(connection) as asked:
            fill_queue(comparison)
        return len(asked)

    assert queries(10) == queries(1)
