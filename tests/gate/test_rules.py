"""The registry of rules: a table with one situation that makes each fire and one that just does not."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from evaluations.gate import (
    APPROVAL,
    BLOCK,
    CROSS_TENANT,
    DISCLOSURE,
    DISPROVED,
    DUPLICATE,
    PASS,
    RULES,
    WARN,
    GateEvidence,
    JudgeUse,
    ToolEvidence,
    decide,
)
from evaluations.gate.rules.registry import Found, found, rule
from scenarios.documents.gate_policy import GatePolicy, Mandatory, Reliability
from tests.gate.building import (
    CRITICAL,
    FAILING,
    POLICY,
    alone,
    case,
    check,
    evidence,
    side,
    trial,
    trials,
    with_fact,
)

NOTHING_MANDATORY = Mandatory(everything=False, scenarios=("pays-once",))
LENIENT = replace(POLICY, mandatory=NOTHING_MANDATORY)
OTHER = {"name": "other"}
JUDGED = JudgeUse("keyword fake", "politeness", "never", "nobody calibrated it", ("greets",))
TOOL = ToolEvidence("refund", "WRITE_IRREVERSIBLE", "a new tool")
BAR = replace(POLICY, reliability=Reliability(3, 0.9))

Situation = tuple[GatePolicy, GateEvidence]

# name -> (it fires, it does not fire though it is close)
SITUATIONS: dict[str, tuple[Situation, Situation]] = {
    "critical-failure": (
        # The baseline fails the same check: no excuse.
        (POLICY, evidence(case(trial(side(CRITICAL), side(CRITICAL))))),
        (replace(POLICY, critical_failures_allowed=1), evidence(case(trial(side(CRITICAL))))),
    ),
    "duplicate-irreversible-effect": (
        (POLICY, with_fact(DUPLICATE)),
        (
            POLICY,
            evidence(
                case(trial(side(), side(facts=with_fact(DUPLICATE).cases[0].trials[0].candidate.facts)))
            ),
        ),
    ),
    "disproved-success": ((POLICY, with_fact(DISPROVED)), (POLICY, with_fact(DUPLICATE))),
    "disclosure": ((POLICY, with_fact(DISCLOSURE)), (POLICY, with_fact(DUPLICATE))),
    "cross-tenant-access": ((POLICY, with_fact(CROSS_TENANT)), (POLICY, with_fact(DUPLICATE))),
    "missing-approval": ((POLICY, with_fact(APPROVAL)), (POLICY, with_fact(DUPLICATE))),
    "mandatory-not-passed": (
        (POLICY, evidence(case(), case(trial(side(FAILING), side(FAILING)), **OTHER))),
        (LENIENT, evidence(case(), case(trial(side(FAILING), side(FAILING)), **OTHER))),
    ),
    "known-regression-back": (
        (LENIENT, evidence(case(), case(trial(side(FAILING), side(FAILING)), tags=("regression",), **OTHER))),
        (LENIENT, evidence(case(), case(trial(side(FAILING), side(FAILING)), tags=("smoke",), **OTHER))),
    ),
    "incomplete-evidence": (
        (LENIENT, evidence(case(), case(trial(side(verdict=None, reason="queued")), **OTHER))),
        (LENIENT, evidence(case(), case(trial(side(check("SKIPPED"), check(name="other"))), **OTHER))),
    ),
    "empty-suite": (
        (POLICY, replace(evidence(), cases=())),
        (POLICY, evidence(case(), case(trial(side(FAILING), side(FAILING)), **OTHER))),
    ),
    "reliability-below-bar": (
        (BAR, evidence(case(*trials(9, 10), severity="critical"))),
        (BAR, evidence(case(*trials(9, 10), severity="high"))),
    ),
    "too-many-regressions": (
        (LENIENT, evidence(case(), case(*trials(0, 1), **OTHER))),
        (LENIENT, evidence(case(), case(*trials(0, 1, baseline=0), **OTHER))),
    ),
    "coverage-below-bar": (
        (
            replace(POLICY, tools_covered=60),
            evidence(tools=(replace(TOOL, passing=("a",)), ToolEvidence("b"))),
        ),
        (
            replace(POLICY, tools_covered=50),
            evidence(tools=(replace(TOOL, passing=("a",)), ToolEvidence("b"))),
        ),
    ),
    "slower": (
        (POLICY, evidence(case(trial(side(latency_ms=5000), side(latency_ms=3900))))),
        (POLICY, evidence(case(trial(side(latency_ms=999), side(latency_ms=10))))),
    ),
    "dearer": (
        (POLICY, evidence(case(trial(side(cost_usd=0.013), side(cost_usd=0.01))))),
        (POLICY, evidence(case(trial(side(cost_usd=0.0125), side(cost_usd=0.01))))),
    ),
    "new-tool-without-case": (
        (POLICY, evidence(tools=(TOOL,))),
        (POLICY, evidence(tools=(replace(TOOL, passing=("pays-once",)), ToolEvidence("old")))),
    ),
    "uncalibrated-judge": (
        (POLICY, evidence(judges=(JUDGED,))),
        (POLICY, evidence(judges=(replace(JUDGED, state="calibrated"),))),
    ),
    "too-few-trials": (
        (replace(POLICY, minimum_trials=2), evidence(case(trial()))),
        (replace(POLICY, minimum_trials=2), evidence(case(*trials(2, 2)))),
    ),
    "generated-unreviewed": (
        (POLICY, evidence(case(), case(counts=False, source="generated", **OTHER))),
        (POLICY, evidence(case(), case(source="generated", **OTHER))),
    ),
}


def fired(policy: GatePolicy, shown: GateEvidence) -> dict[str, Any]:
    return {one.rule: one for one in decide(policy, shown).fired}


def test_every_rule_has_its_situations_here() -> None:
    assert list(SITUATIONS) == list(RULES)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_fires_with_its_sentence_and_evidence(name: str) -> None:
    (policy, shown), _ = SITUATIONS[name]
    found_rule = fired(policy, shown)[name]
    registered = RULES[name]
    assert (found_rule.outcome, found_rule.sentence) == (registered.outcome, registered.sentence)
    assert found_rule.detail
    assert found_rule.observations
    for one in found_rule.observations:
        assert one.observed
        assert one.link.startswith("/comparisons/1/")
        # Whoever reads of a scenario reads what both sides did there.
        if one.scenario in {each.scenario for each in shown.cases}:
            assert one.baseline
            assert one.candidate
    assert decide(policy, shown).outcome in (registered.outcome, BLOCK)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_stays_quiet_close_by(name: str) -> None:
    _, (policy, shown) = SITUATIONS[name]
    assert name not in fired(policy, shown)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_explains_itself(name: str) -> None:
    registered = RULES[name]
    assert re.fullmatch("[a-z]+(-[a-z]+)*", name)
    assert re.fullmatch(r"[A-Z][^.]{10,80}\.", registered.sentence)
    assert len(registered.description) > 60
    assert registered.outcome in (BLOCK, WARN)


def test_a_clean_comparison_passes_with_and_without_a_baseline() -> None:
    clean = evidence(case(), case(*trials(3, 3), **OTHER))
    assert decide(POLICY, clean).to_json() == {"outcome": PASS, "rules": []}
    assert decide(POLICY, alone(clean)).to_json() == {"outcome": PASS, "rules": []}


def test_the_worst_rule_decides_and_a_warning_beside_it_is_still_told() -> None:
    decision = decide(POLICY, evidence(case(trial(side(CRITICAL))), judges=(JUDGED,)))
    assert decision.outcome == BLOCK
    assert [one.rule for one in decision.fired][-1] == "uncalibrated-judge"


# ------------------------------------------------------------------------------- single rules, closer


def test_an_average_that_is_high_hides_no_case_that_failed() -> None:
    """28 cases at 1.0 and 3 at 0.25: the mean is 0.927 (TRAPS 4)."""
    good = [case(*trials(4, 4), name=f"good-{number}") for number in range(28)]
    bad = [case(*trials(1, 4, baseline=1), name=f"bad-{number}") for number in range(3)]
    decision = decide(POLICY, evidence(*good, *bad))
    (only,) = [one for one in decision.fired if one.rule == "mandatory-not-passed"]
    assert decision.outcome == BLOCK
    assert [one.scenario for one in only.observations] == ["bad-0", "bad-1", "bad-2"]


def test_one_lucky_survivor_is_not_green() -> None:
    """1 pass and 3 errors, 4 errors (TRAPS 1): both cases are named, as missing and as not passed."""
    error = check("ERROR", reason="the agent could not be reached")
    lucky = case(trial(), *(trial(side(error), number=number) for number in (2, 3, 4)), name="a")
    unlucky = case(*(trial(side(error), number=number) for number in (1, 2, 3, 4)), name="b")
    rules = fired(POLICY, evidence(lucky, unlucky))
    assert {one.scenario for one in rules["incomplete-evidence"].observations} == {"a", "b"}
    assert [one.observed for one in rules["mandatory-not-passed"].observations] == [
        "1 of 4 trials passed, 3 not graded; all must",
        "0 of 4 trials passed, 4 not graded; all must",
    ]


def test_one_repaired_check_does_not_cancel_one_broken_check() -> None:
    """Baseline X pass, Y fail; candidate X fail, Y pass: X is a regression (TRAPS 5)."""
    before = side(check(name="x"), check("FAIL", name="y"))
    after = side(check("FAIL", name="x"), check(name="y"))
    rule_fired = fired(LENIENT, evidence(case(), case(trial(after, before), **OTHER)))["too-many-regressions"]
    assert [one.observed for one in rule_fired.observations] == ["x newly fails"]


@pytest.mark.parametrize(
    ("mandatory", "told"),
    [
        (Mandatory(False, scenarios=("pays-once", "mispelt")), "not in the suite, or not approved"),
        (Mandatory(False, tags=("nowhere",)), "no scenario of the suite carries the mandatory tag nowhere"),
    ],
)
def test_a_policy_that_names_what_the_suite_does_not_hold_blocks(mandatory: Mandatory, told: str) -> None:
    """A misspelt selection must never be green (TRAPS 3)."""
    (one,) = fired(replace(POLICY, mandatory=mandatory), evidence())["mandatory-not-passed"].observations
    assert one.observed == told


def test_mandatory_may_be_named_by_severity_and_tag() -> None:
    failing = trial(side(FAILING), side(FAILING))
    shown = evidence(
        case(),
        case(failing, name="severe", severity="critical"),
        case(failing, name="tagged", tags=("money",)),
        case(failing, name="neither"),
    )
    policy = replace(POLICY, mandatory=Mandatory(False, severities=("critical",), tags=("money",)))
    missed = fired(policy, shown)["mandatory-not-passed"].observations
    assert [one.scenario for one in missed] == ["severe", "tagged"]


def test_a_pass_rate_below_one_lets_some_trials_of_each_case_fail() -> None:
    policy = replace(POLICY, mandatory=Mandatory(pass_rate=0.7))
    assert "mandatory-not-passed" not in fired(policy, evidence(case(*trials(7, 10, baseline=7))))
    (one,) = fired(policy, evidence(case(), case(*trials(6, 10, baseline=6), **OTHER)))[
        "mandatory-not-passed"
    ].observations
    assert one.observed == "6 of 10 trials passed; 70% must"


@pytest.mark.parametrize(
    ("shown", "told"),
    [
        (evidence(state="CANCELLED", reason="by alice"), "the comparison is CANCELLED: by alice"),
        (evidence(absent=("REF-1",)), "is in the dataset and was not run"),
        (evidence(case(), case(*(), name="x", trials=())), "has no trial"),
        (evidence(case(trial(klass=None, reason="not compared yet"))), "was not compared: not compared yet"),
        (evidence(case(trial(klass="INCOMPLETE", reason="another seed"))), "another seed"),
        (
            evidence(case(trial(side(), side(check("ERROR", reason="judge down"))))),
            "the baseline was not graded on paid-once: judge down",
        ),
        (
            evidence(case(trial(side(check("SKIPPED", critical=True, reason="no tenant"))))),
            "the candidate was not graded on paid-once: no tenant",
        ),
        # A failure beside a judge that is down: the trial failed, and evidence is missing too.
        (
            evidence(case(trial(side(FAILING, check("ERROR", name="polite", reason="timeout"))))),
            "the candidate was not graded on polite: timeout",
        ),
    ],
)
def test_every_gap_in_the_evidence_blocks(shown: GateEvidence, told: str) -> None:
    assert [one.observed for one in fired(POLICY, shown)["incomplete-evidence"].observations] == [told]


def test_a_suite_of_nothing_but_failures_proves_nothing() -> None:
    policy = replace(POLICY, mandatory=Mandatory(False, severities=("critical",)))
    decision = decide(policy, evidence(case(trial(side(FAILING), side(FAILING)))))
    assert [(one.rule, one.detail) for one in decision.fired] == [("empty-suite", "nothing passes")]


def test_generated_cases_without_approval_neither_pass_nor_block() -> None:
    waiting = case(trial(side(CRITICAL)), counts=False, source="generated", name="made-up")
    assert decide(POLICY, evidence(case(), waiting)).outcome == WARN
    # They alone are no suite.
    assert [one.rule for one in decide(POLICY, evidence(waiting)).fired] == [
        "empty-suite",
        "generated-unreviewed",
    ]


def test_seven_of_ten_misses_a_bar_of_pass_hat_3() -> None:
    (one,) = fired(BAR, evidence(case(*trials(7, 10, baseline=7), severity="critical")))[
        "reliability-below-bar"
    ].observations
    assert one.observed == "pass^3 is 0.29 (7 of 10 trials passed), at least 0.9 is asked"


def test_fewer_trials_than_k_is_a_warning_and_no_figure() -> None:
    decision = decide(BAR, evidence(case(*trials(2, 2), severity="critical")))
    assert [(one.rule, one.outcome) for one in decision.fired] == [("too-few-trials", WARN)]
    assert decision.fired[0].observations[0].observed == "pass^3 is not available from 2 trials"


def test_what_could_be_noise_is_no_regression_and_a_warning() -> None:
    """5 of 10 against 6 of 10 on a scenario that is not mandatory: too few trials to say."""
    rules = fired(LENIENT, evidence(case(), case(*trials(5, 10, baseline=6), **OTHER)))
    assert list(rules) == ["too-few-trials"]
    assert "could be noise" in rules["too-few-trials"].observations[0].observed


def test_a_clear_drop_over_many_trials_is_a_regression() -> None:
    rules = fired(LENIENT, evidence(case(), case(*trials(2, 20, baseline=18), **OTHER)))
    told = rules["too-many-regressions"].observations[0].observed
    assert told.startswith("paid-once fails in 18 of 20 trials, for the baseline in 2 of 20 (p < 0.001")


def test_two_trials_that_both_fail_where_both_passed_are_a_regression() -> None:
    """Two against none are never significant, and still nobody would release it."""
    assert "too-many-regressions" in fired(LENIENT, evidence(case(), case(*trials(0, 2), **OTHER)))


def test_without_a_baseline_every_failure_is_new() -> None:
    shown = alone(evidence(case(), case(*trials(9, 10), **OTHER)))
    told = fired(LENIENT, shown)["too-many-regressions"].observations[0]
    assert (told.observed, told.baseline) == ("paid-once fails in 1 of 10 trials", "no baseline")


def test_regressions_may_be_tolerated() -> None:
    shown = evidence(case(), case(*trials(0, 1), **OTHER))
    assert decide(replace(LENIENT, regressions_allowed=1), shown).outcome == PASS


def test_a_quick_failure_is_no_gain_and_a_faster_scenario_hides_no_slower_one() -> None:
    fast = case(trial(side(latency_ms=1), side(latency_ms=60_000)), name="fast")
    slow = case(trial(side(latency_ms=9_000), side(latency_ms=3_000)), name="slow")
    (one,) = fired(POLICY, evidence(fast, slow))["slower"].observations
    assert (one.scenario, one.observed) == ("slow", "3,000 ms before, 9,000 ms now (+200%)")
    unknown = evidence(case(trial(side(latency_ms=9_000), side())))
    assert "slower" not in fired(POLICY, unknown)


def test_only_calibrated_judges_may_be_asked_for() -> None:
    policy = replace(POLICY, calibrated_judges_only=True)
    rules = fired(policy, evidence(judges=(JUDGED,)))
    assert list(rules) == ["incomplete-evidence", "uncalibrated-judge"]


def test_irreversible_tools_have_a_bar_of_their_own() -> None:
    tools = (
        ToolEvidence("read", "READ"),
        ToolEvidence("pay", "WRITE_IRREVERSIBLE"),
        ToolEvidence("odd", None),
    )
    policy = replace(POLICY, irreversible_tools_covered=100)
    (one,) = fired(policy, evidence(tools=tools))["coverage-below-bar"].observations
    assert one.observed == (
        "0 of 2 irreversible tools are covered, 100% is asked: pay and odd without a passing scenario"
    )


def test_a_long_list_is_cut_and_the_rest_counted() -> None:
    many = evidence(*(case(trial(side(FAILING)), name=f"c{number}") for number in range(60)), case())
    rule_fired = fired(POLICY, many)["mandatory-not-passed"]
    assert (len(rule_fired.observations), rule_fired.more) == (50, 10)
    assert rule_fired.detail.startswith("60 mandatory scenarios")


# ------------------------------------------------------------------------------------ the registry


def test_a_rule_is_refused_that_is_taken_passes_or_says_nothing() -> None:
    def quiet(policy: Any, shown: Any) -> Found | None: ...

    with pytest.raises(ValueError, match="registered twice"):
        rule("slower", WARN, "x")(quiet)
    with pytest.raises(ValueError, match="cannot PASS"):
        rule("new-rule", PASS, "x")(quiet)
    with pytest.raises(ValueError, match="docstring"):
        rule("new-rule", WARN, "x")(quiet)
    assert "new-rule" not in RULES


def test_nothing_observed_is_nothing_found() -> None:
    assert found("0 gaps", []) is None


def test_a_case_passes_with_at_least_one_trial_however_low_the_rate() -> None:
    assert not case(*trials(0, 1)).is_passed(1e-10)
    assert case(*trials(1, 10)).is_passed(1e-10)
    assert not case(*trials(0, 1_000)).is_passed(0.0001)
