"""What holds of every decision, whatever the evidence."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evaluations.gate import (
    OUTCOMES,
    PASS,
    RULES,
    CaseEvidence,
    Fact,
    Fired,
    GateEvidence,
    JudgeUse,
    SideOfTrial,
    ToolEvidence,
    Trial,
    decide,
)
from evaluations.gate.evidence import FACT_KINDS
from evaluations.grading.results import STATUSES
from scenarios.documents.gate_policy import GatePolicy, Mandatory, Reliability
from tests.gate.building import check, side

SEVERITIES = ("critical", "high", "low")

# Drawn by a seeded generator: one number for hypothesis instead of some hundred.


def some_side(draw: Random) -> SideOfTrial:
    results = [
        check(draw.choice(STATUSES), name=name, critical=draw.random() < 0.5)
        for name in draw.sample(("a", "b"), draw.randint(1, 2))
    ]
    if draw.random() < 0.4:
        results = [replace(one, status="PASS") for one in results]
    made = side(
        *results,
        facts=(Fact(draw.choice(FACT_KINDS), "seen"),) if draw.random() < 0.1 else (),
        latency_ms=draw.choice((None, 10.0, 2000.0, 9000.0)),
        cost_usd=draw.choice((None, 0.01, 0.5)),
    )
    return replace(made, verdict=None, results=()) if draw.random() < 0.05 else made


def some_case(draw: Random, name: str, *, with_baseline: bool) -> CaseEvidence:
    made = tuple(
        Trial(
            number,
            some_side(draw),
            some_side(draw) if with_baseline else None,
            klass=draw.choice(("UNCHANGED", "UNCHANGED", "REGRESSED", "INCOMPLETE")),
        )
        for number in range(1, draw.randint(1, 3) + 1)
    )
    tags = draw.choice(((), (), ("regression",), ("smoke",)))
    return CaseEvidence(name, draw.choice(SEVERITIES), made, tags=tags, counts=draw.random() < 0.8)


def some_evidence(draw: Random) -> GateEvidence:
    with_baseline = draw.random() < 0.7
    found = tuple(
        some_case(draw, f"c{number}", with_baseline=with_baseline) for number in range(draw.randint(0, 3))
    )
    passing = tuple(one.scenario for one in found if one.counts and one.is_passed())
    return GateEvidence(
        agent="bot",
        candidate="2.0.0",
        baseline="1.0.0" if with_baseline else None,
        comparison=1,
        state=draw.choice(("COMPLETED", "INCOMPLETE")),
        cases=found,
        tools=(ToolEvidence("pay", "WRITE_IRREVERSIBLE", draw.choice(("", "new")), passing),),
        judges=(JudgeUse("fake", "tone", "never", "", ("c0",)),) if draw.random() < 0.2 else (),
    )


def some_policy(draw: Random) -> GatePolicy:
    severities = tuple(draw.sample(SEVERITIES, draw.randint(0, 2)))
    mandatory = draw.choice((Mandatory(), Mandatory(False, scenarios=("c0",), severities=severities)))
    return GatePolicy(
        "p",
        mandatory=replace(mandatory, pass_rate=draw.choice((0.5, 1.0))),
        critical_failures_allowed=draw.randint(0, 2),
        regressions_allowed=draw.randint(0, 2),
        reliability=draw.choice((None, Reliability(2, 0.5))),
        minimum_trials=draw.randint(1, 2),
        tools_covered=draw.choice((None, 100.0)),
        calibrated_judges_only=draw.random() < 0.3,
    )


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32))
def test_adding_a_failing_case_never_improves_a_decision(seed: int) -> None:
    draw = Random(seed)
    policy, shown = some_policy(draw), some_evidence(draw)
    added = some_case(draw, "added", with_baseline=shown.baseline is not None)
    assume(not added.is_passed(policy.mandatory.pass_rate))
    before, after = decide(policy, shown), decide(policy, replace(shown, cases=(*shown.cases, added)))
    assert OUTCOMES.index(after.outcome) >= OUTCOMES.index(before.outcome)
    # No rule that fired is silenced by it, whatever it does to averages.
    assert {one.rule for one in before.fired} <= {one.rule for one in after.fired}


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_a_decision_follows_from_policy_and_evidence_and_reads_back(seed: int) -> None:
    policy, shown = some_policy(Random(seed)), some_evidence(Random(seed))
    decision = decide(policy, shown)
    assert decision == decide(policy, shown)
    outcomes = [one.outcome for one in decision.fired]
    assert decision.outcome == max(outcomes, key=OUTCOMES.index, default=PASS)
    assert tuple(map(Fired.from_json, decision.to_json()["rules"])) == decision.fired


def test_what_is_drawn_here_reaches_every_outcome_and_most_rules() -> None:
    decisions = [decide(some_policy(Random(seed)), some_evidence(Random(seed))) for seed in range(400)]
    assert {one.outcome for one in decisions} == set(OUTCOMES)
    assert {one.rule for decision in decisions for one in decision.fired} == set(RULES)
