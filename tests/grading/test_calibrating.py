"""The rule by which a judge is calibrated, at its edges, and how labels of several people become one."""

from __future__ import annotations

import pytest

from evaluations.grading.agreement import Agreement
from evaluations.grading.calibrating import decide, judged_agreement, percent, truth_of, two_places


def agreement(
    both_pass: int, both_fail: int, too_strict: int = 0, too_lax: int = 0, errors: int = 0
) -> Agreement:
    pairs = [("PASS", "PASS")] * both_pass + [("FAIL", "FAIL")] * both_fail
    pairs += [("PASS", "FAIL")] * too_strict + [("FAIL", "PASS")] * too_lax
    return judged_agreement(pairs + [("PASS", "ERROR")] * errors)


@pytest.mark.parametrize(
    ("labels", "truth"),
    [
        ([], None),
        (["PASS"], "PASS"),
        (["FAIL", "FAIL"], "FAIL"),
        (["PASS", "FAIL"], None),
        (["PASS", "FAIL", "FAIL"], "FAIL"),
        (["PASS", "FAIL", "FAIL", "PASS"], None),
    ],
)
def test_more_than_half_of_the_people_make_the_truth(labels: list[str], truth: str | None) -> None:
    assert truth_of(labels) == truth


def test_twenty_examples_at_eighty_percent_are_just_enough() -> None:
    decision = decide(agreement(8, 8, too_strict=2, too_lax=2))
    assert decision.is_calibrated
    assert decision.sentence == (
        "Calibrated: it agrees with people on 16 of 20 examples (80%), "
        "kappa 0.60 (95% interval 0.25 to 0.95)."
    )


def test_nineteen_examples_are_too_few_however_well_they_agree() -> None:
    decision = decide(agreement(10, 9))
    assert not decision.is_calibrated
    assert decision.sentence == "Not calibrated, because 19 examples are labelled (20 are needed)."


def test_a_little_less_than_eighty_percent_is_not_rounded_up() -> None:
    """199 of 250 is 79.6%."""
    decision = decide(agreement(100, 99, too_strict=25, too_lax=26))
    assert not decision.is_calibrated
    assert "199 of 250 examples (79%; 80% is needed)" in decision.sentence


def test_high_agreement_by_chance_is_not_enough() -> None:
    """18 of 20 agree, but nearly everything is a pass: kappa is below 0."""
    decision = decide(agreement(18, 0, too_strict=1, too_lax=1))
    assert not decision.is_calibrated
    assert decision.sentence == "Not calibrated, because kappa is -0.06 (0.60 is needed)."


def test_twenty_passes_of_everyone_are_undefined_and_not_calibrated() -> None:
    decision = decide(agreement(20, 0))
    assert not decision.is_calibrated
    assert "kappa is undefined (people and judge say PASS of every example)" in decision.sentence


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            agreement(0, 0),
            "Not calibrated, because 0 examples are labelled (20 are needed) and kappa is undefined "
            "(it takes two examples at least).",
        ),
        (
            agreement(1, 0),
            "Not calibrated, because 1 example is labelled (20 are needed) and kappa is undefined "
            "(it takes two examples at least).",
        ),
    ],
)
def test_nothing_or_one_example_says_so(found: Agreement, sentence: str) -> None:
    assert decide(found).sentence == sentence


def test_an_error_of_the_judge_counts_as_a_disagreement() -> None:
    """16 of 20 would do; a judge that errs on one more agrees on 16 of 21."""
    assert decide(agreement(8, 8, too_strict=2, too_lax=2)).is_calibrated
    decision = decide(agreement(8, 8, too_strict=2, too_lax=2, errors=1))
    assert not decision.is_calibrated
    assert "16 of 21 examples (76%; 80% is needed)" in decision.sentence


def test_a_judge_that_only_errs_agrees_with_nobody() -> None:
    found = agreement(0, 0, errors=20)
    assert (found.agreed, found.kappa) == (0, 0)
    assert not decide(found).is_calibrated


def test_figures_are_rounded_down() -> None:
    found = agreement(100, 99, too_strict=25, too_lax=26)
    assert percent(found.share) == "79%"
    assert percent(None) == two_places(None) == "undefined"
    assert two_places(0.599) == "0.59"
    assert two_places(-0.001) == "-0.01"
