"""Compare a value with comparators and say in one sentence how that came out, without a planted secret."""

from __future__ import annotations

from typing import Any

from evaluations.grading.evidence import Evidence
from evaluations.grading.parameters import Comparison
from evaluations.grading.wording import shown
from twins.engine.comparators import compile_comparators
from twins.engine.values import MISSING

_SIMPLE = (str, int, float, bool, type(None))


def mismatch(comparison: Comparison, actual: Any, evidence: Evidence) -> str | None:
    """None when `actual` compares, else why not: `expected 1, got 2`.

    Reasons cut long values (they end in an ellipsis then), and half a secret is not recognised any more. So
    where a secret is involved the sentence is made again from the redacted values; the verdict stays that of
    the real ones.
    """
    reason = comparison.check(actual)
    if reason is None or "…" not in reason:
        return reason
    redact = evidence.redact
    hidden = redact(actual) if actual is not MISSING else MISSING
    written = redact(dict(comparison.written))
    if hidden == actual and written == comparison.written:
        return reason
    try:
        reason = compile_comparators(written).check(hidden)
    except ValueError:  # a redacted pattern need not be one
        reason = None
    return reason or "the value does not compare; it or what is expected holds a secret and is not shown"


def holds(name: str, actual: Any) -> str:
    """The sentence of a pass: `orders.ORD-1001.refund_count is 1`."""
    if actual is MISSING:
        return f"{name} is missing, as expected"
    if isinstance(actual, _SIMPLE) and len(str(actual)) <= 60:
        return f"{name} is {shown(actual)}"
    return f"{name} is as expected"
