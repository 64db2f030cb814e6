"""What a gate policy may say."""

from __future__ import annotations

from typing import Any

import pytest

from scenarios.documents.gate_policy import (
    GatePolicy,
    Mandatory,
    Reliability,
    load_gate_policy,
    validate_gate_policy,
)
from tests.documents.samples import gate_policy, only, said, with_metadata, without
from twins.documents.problems import DocumentError
from twins.documents.source import read_source

FULL = gate_policy(
    mandatory={"scenarios": ["a"], "severities": ["critical", "high"], "tags": ["money"], "passRate": 0.9},
    criticalFailuresAllowed=1,
    regressionsAllowed=2.0,
    reliability={"k": 3, "atLeast": 0.95},
    minimumTrials=5,
    latency={"maxIncreasePercent": 10, "ignoreBelowMs": 0},
    cost={"maxIncreasePercent": 0},
    coverage={"tools": 80, "irreversibleTools": 100},
    calibratedJudgesOnly=True,
)


def test_an_empty_policy_is_valid_and_strict() -> None:
    policy = load_gate_policy(gate_policy())
    assert (policy.mandatory, policy.critical_failures_allowed) == (Mandatory(everything=True), 0)
    assert policy == GatePolicy("careful", document=gate_policy(), digest=policy.digest)


def test_a_policy_is_loaded_with_its_types() -> None:
    policy = load_gate_policy(with_metadata(FULL, description="d", owner="payments"))
    assert policy.mandatory == Mandatory(False, ("a",), ("critical", "high"), ("money",), 0.9)
    assert (policy.critical_failures_allowed, policy.regressions_allowed) == (1, 2)
    assert policy.reliability == Reliability(3, 0.95)
    assert (policy.latency_percent, policy.latency_ignored_ms, policy.cost_percent) == (10, 0, 0)
    assert (policy.tools_covered, policy.irreversible_tools_covered) == (80, 100)
    assert (policy.owner, policy.minimum_trials, policy.calibrated_judges_only) == ("payments", 5, True)


def test_all_may_be_said_and_given_a_rate() -> None:
    policy = load_gate_policy(gate_policy(mandatory={"all": True, "passRate": 0.5}))
    assert policy.mandatory == Mandatory(pass_rate=0.5)


PROBLEMS: list[tuple[Any, str]] = [
    (without(gate_policy(), "metadata", "name"), "metadata.name: is required"),
    (with_metadata(gate_policy(), name="Not a name"), 'metadata.name: found "Not a name", allowed'),
    (gate_policy(criticalFailureAllowed=0), "did you mean criticalFailuresAllowed?"),
    (gate_policy(criticalFailuresAllowed=-1), "spec.criticalFailuresAllowed: must be at least 0, found -1"),
    (gate_policy(regressionsAllowed=True), "spec.regressionsAllowed: must be a whole number, found true"),
    (gate_policy(mandatory={}), "spec.mandatory: needs all or scenarios or severities or tags"),
    (gate_policy(mandatory={"passRate": 0.9}), "spec.mandatory: needs all or scenarios"),
    (gate_policy(mandatory={"all": False}), "spec.mandatory.all: found false, allowed true"),
    (
        gate_policy(mandatory={"all": True, "tags": ["a"]}),
        "spec.mandatory.tags: cannot be given together with all",
    ),
    (gate_policy(mandatory={"scenarios": []}), "spec.mandatory.scenarios: must have at least 1"),
    (
        gate_policy(mandatory={"scenarios": ["a", "b", "a"]}),
        "spec.mandatory.scenarios[2]: a is listed twice",
    ),
    (gate_policy(mandatory={"severities": ["blocker"]}), 'found "blocker", allowed critical, high, medium'),
    (gate_policy(mandatory={"all": True, "passRate": 0}), "spec.mandatory.passRate: must be"),
    (gate_policy(mandatory={"all": True, "passRate": 1.1}), "spec.mandatory.passRate: must be at most 1"),
    (gate_policy(reliability={"k": 3}), "spec.reliability.atLeast: is required"),
    (gate_policy(reliability={"k": 0, "atLeast": 1}), "spec.reliability.k: must be at least 1"),
    (gate_policy(minimumTrials=0), "spec.minimumTrials: must be at least 1"),
    (gate_policy(latency={}), "spec.latency.maxIncreasePercent: is required"),
    (gate_policy(cost={"maxIncreasePercent": "5"}), "spec.cost.maxIncreasePercent: must be a number"),
    (gate_policy(coverage={"tools": 101}), "spec.coverage.tools: must be at most 100"),
    (gate_policy(coverage={}), "spec.coverage: needs tools or irreversibleTools"),
    (gate_policy(calibratedJudgesOnly="yes"), "spec.calibratedJudgesOnly: must be true or false"),
]


@pytest.mark.parametrize(("document", "problem"), PROBLEMS, ids=range(len(PROBLEMS)))
def test_a_wrong_policy_is_refused_with_place_and_reason(document: Any, problem: str) -> None:
    assert problem in only(validate_gate_policy(document))
    with pytest.raises(DocumentError):
        load_gate_policy(document)


def test_every_problem_is_told_at_once_with_its_line() -> None:
    text = """
apiVersion: agenttwin.dev/v1
kind: GatePolicy
metadata: {name: x}
spec:
  minimumTrials: many
  reliability: {k: 3, atLeast: 2}
  tolerance: 1
"""
    problems = validate_gate_policy(read_source(text))
    assert [problem.line for problem in problems] == [6, 7, 8], said(problems)


def test_the_digest_follows_the_content() -> None:
    assert load_gate_policy(FULL).digest == load_gate_policy(dict(reversed(list(FULL.items())))).digest
    assert load_gate_policy(FULL).digest != load_gate_policy(gate_policy()).digest
