"""Expectations that need a reader."""

from __future__ import annotations

from dataclasses import dataclass

from evaluations.grading.evidence import Evidence
from evaluations.grading.expectations.registry import expectation
from evaluations.grading.parameters import amount, text
from evaluations.grading.results import Finding, skipped


@dataclass(frozen=True, slots=True)
class SemanticParams:
    rubric: str = text("What a judge is asked to find in the answer.", min_length=1)
    threshold: float = amount("The lowest score that passes, 0 to 1.", 0.7, 1)
    judge: str | None = text("The judge to ask instead of the default one.", None, min_length=1)


@expectation("semantic", label="SEMANTIC_FAIL")
def semantic(params: SemanticParams, evidence: Evidence) -> Finding:
    """A judge reads the answer by `rubric`: its label must be pass and its score reach `threshold` (0.7).

    Where no judge is configured it is SKIPPED: nobody read the answer, so it is neither good nor bad.
    """
    return skipped("no judge is configured, so nobody read the answer")
