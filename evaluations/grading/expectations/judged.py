"""Expectations that need a reader."""

from __future__ import annotations

from dataclasses import dataclass

from evaluations.grading.evidence import Evidence
from evaluations.grading.expectations.registry import expectation
from evaluations.grading.parameters import amount, text
from evaluations.grading.results import Finding, skipped

#: The type whose results come from a judge (`evaluations.judges`), not from its check.
SEMANTIC = "semantic"


@dataclass(frozen=True, slots=True)
class SemanticParams:
    rubric: str = text("What a judge is asked to find in the answer.", min_length=1)
    threshold: float = amount("The lowest score that passes, 0 to 1.", 0.7, 1)
    judge: str | None = text("The judge to ask instead of the configured one.", None, min_length=1)


@expectation(SEMANTIC, label="SEMANTIC_FAIL")
def semantic(params: SemanticParams, evidence: Evidence) -> Finding:
    """A judge reads the answer by `rubric`: its label must be pass and its score reach `threshold` (0.7).

    The criterion is the expectation's `category`. An agent that gave no answer fails. A judge that could not
    answer is an ERROR without a score; beyond what a comparison may spend on judges, it is SKIPPED. A
    rehearsal asks no judge, so there it is SKIPPED: nobody read the answer, so it is neither good nor bad.
    """
    return skipped("nobody read the answer: a rehearsal asks no judge")
