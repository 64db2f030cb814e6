"""When a judge counts as calibrated: several people's labels made one, and the rule, in a sentence.

A label is PASS or FAIL. A judge may also have answered ERROR: that agrees with nobody.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from evaluations.grading.agreement import Agreement, agreement_of
from evaluations.grading.wording import listed, plural

PASS, FAIL, ERROR = "PASS", "FAIL", "ERROR"
LABELS = (PASS, FAIL)

LEAST_EXAMPLES = 20
LEAST_SHARE = Fraction(4, 5)
LEAST_KAPPA = Fraction(3, 5)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a judge is calibrated, and the sentence that says why or why not."""

    is_calibrated: bool
    sentence: str


def truth_of(labels: Sequence[str]) -> str | None:
    """What people's labels of one example amount to: what more than half of them say.

    None where nobody labelled it or they are split: an example that people do not agree on says nothing
    about a judge.
    """
    for label, count in Counter(labels).items():
        if 2 * count > len(labels):
            return label
    return None


def judged_agreement(pairs: Iterable[tuple[str, str]]) -> Agreement:
    """The agreement of people (first) and a judge (second, ERROR where it did not answer)."""
    return agreement_of(list(pairs))


def decide(agreement: Agreement) -> Decision:
    """The rule: at least 20 labelled examples, 80% agreement and a kappa of 0.6; undefined is not enough."""
    told = _told(agreement)
    missing = list(_missing(agreement))
    if missing:
        return Decision(False, f"Not calibrated, because {listed(missing)}.")
    return Decision(True, f"Calibrated: it agrees with people on {told}.")


def percent(share: Fraction | None) -> str:
    """Rounded down, so that what falls short of a bound never reads as if it reached it."""
    return "undefined" if share is None else f"{math.floor(share * 100)}%"


def two_places(value: Fraction | float | None) -> str:
    """Rounded down to two places, like `percent`."""
    return "undefined" if value is None else f"{math.floor(value * 100) / 100:.2f}"


def _told(agreement: Agreement) -> str:
    interval = agreement.interval
    text = f"{agreement.agreed} of {agreement.total} examples ({percent(agreement.share)})"
    if interval is not None:
        low, high = f"{interval.low:.2f}", f"{interval.high:.2f}"
        text += f", kappa {two_places(agreement.kappa)} (95% interval {low} to {high})"
    return text


def _missing(agreement: Agreement) -> Iterable[str]:
    total, share, kappa = agreement.total, agreement.share, agreement.kappa
    if total < LEAST_EXAMPLES:
        verb = "is" if total == 1 else "are"
        yield f"{plural(total, 'example')} {verb} labelled ({LEAST_EXAMPLES} are needed)"
    if share is not None and share < LEAST_SHARE:
        agreed = f"{agreement.agreed} of {plural(total, 'example')}"
        yield f"it agrees with people on {agreed} ({percent(share)}; {percent(LEAST_SHARE)} is needed)"
    if kappa is None:
        yield f"kappa is undefined ({_why_undefined(agreement)})"
    elif kappa < LEAST_KAPPA:
        yield f"kappa is {two_places(kappa)} ({two_places(LEAST_KAPPA)} is needed)"


def _why_undefined(agreement: Agreement) -> str:
    if agreement.total < 2:
        return "it takes two examples at least"
    return f"people and judge say {agreement.matrix.labels[0]} of every example"
