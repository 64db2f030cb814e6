from __future__ import annotations

from typing import Any

import pytest

from evaluations.grading import METRICS, Answer, Usage, compare_metrics, metrics, steps_taken
from tests.grading.building import record, result, retrieval, write

RECORDS = [
    record(1, status="error"),
    record(2),
    retrieval(3),
    write(4, effect_key="pay:A"),
    write(5, effect_key="pay:A", redelivered=True),
    record(6, "escalate_to_human", risk="WRITE_REVERSIBLE", mutated=True, expects_mutation=True),
    record(7, "escalate_to_human", status="error"),
    record(8, "wipe", policy_violation="ADMIN_ONLY", status="denied"),
]


def test_every_figure() -> None:
    answer = Answer(steps=3, latency_ms=120.5, usage=Usage(100, 20, 0.25))
    results = [
        result("a", type="semantic", evidence={"score": 0.5}),
        result("b", type="semantic", evidence={"score": 1}),
    ]
    assert metrics(RECORDS, results, answer, key_arguments={}) == {
        "tool_calls": 6,
        "retries": 1,
        "duplicate_effects": 1,
        "policy_violations": 1,
        "escalations": 1,
        "steps": 7,
        "latency_ms": 120.5,
        "tokens": 120,
        "cost_usd": 0.25,
        "semantic_score": 0.75,
    }


def test_what_is_not_known_is_none_and_not_zero() -> None:
    for answer in (None, Answer()):
        found = metrics([], [result("a"), result("b", "SKIPPED", type="semantic")], answer, key_arguments={})
        assert [name for name, value in found.items() if value is None] == [
            "latency_ms",
            "tokens",
            "cost_usd",
            "semantic_score",
        ]


def test_tokens_are_known_when_either_is_reported() -> None:
    assert metrics([], [], Answer(usage=Usage(None, 7, None)), key_arguments={})["tokens"] == 7


@pytest.mark.parametrize(("reported", "steps"), [(None, 7), (3, 7), (9, 9), (0, 7)])
def test_steps_are_the_larger_of_reported_and_recorded(reported: int | None, steps: int) -> None:
    assert steps_taken(RECORDS, Answer(steps=reported)) == steps


@pytest.mark.parametrize(
    ("name", "baseline", "candidate", "verdict"),
    [
        ("tool_calls", 5, 3, "better"),
        ("tool_calls", 3, 5, "worse"),
        ("tool_calls", 3, 3, "same"),
        ("cost_usd", 0.1 + 0.2, 0.3, "same"),
        ("semantic_score", 0.5, 0.7, "better"),
        ("semantic_score", 0.7, 0.5, "worse"),
        ("latency_ms", 0, 1, "same"),
        ("latency_ms", 10, 110, "same"),
        ("latency_ms", 10, 111, "worse"),
        ("latency_ms", 111, 10, "better"),
        ("latency_ms", 1000, 1250, "same"),
        ("latency_ms", 1000, 1251, "worse"),
        ("latency_ms", 30_000, 30_200, "same"),
        ("latency_ms", None, 5, "unknown"),
        ("latency_ms", 5, None, "unknown"),
        ("escalations", 0, 1, "unknown"),
        ("escalations", 1, 1, "same"),
    ],
)
def test_better_worse_same_unknown(name: str, baseline: Any, candidate: Any, verdict: str) -> None:
    found = compare_metrics({name: baseline}, {name: candidate})
    assert found[name] == {"baseline": baseline, "candidate": candidate, "verdict": verdict}


def test_every_metric_is_measured_and_compared() -> None:
    figures = metrics([], [], None, key_arguments={})
    assert list(figures) == list(METRICS)
    assert list(compare_metrics(figures, figures)) == list(METRICS)
