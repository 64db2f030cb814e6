"""The registry of rules: a rule is one function `check(policy, evidence) -> Found | None` with a sentence.

Its docstring says when it fires and is what docs and pages show of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from evaluations.gate.evidence import CaseEvidence, GateEvidence, Trial
from evaluations.gate.outcomes import OUTCOMES, PASS
from evaluations.grading.wording import clean, cut
from scenarios.documents.gate_policy import GatePolicy

MAX_TEXT = 400


@dataclass(frozen=True, slots=True)
class Observation:
    """One piece of evidence: where it was seen, on which side what, and the page that shows it.

    `scenario` is empty where a rule is about the whole suite, `trial` None where it is about all trials.
    """

    observed: str
    scenario: str = ""
    case_id: str = ""
    trial: int | None = None
    baseline: str = ""
    candidate: str = ""
    first_divergence: str = ""
    link: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Observation:
        """What `to_json` wrote."""
        return cls(**value)


@dataclass(frozen=True, slots=True)
class Found:
    """Why a rule fires: one line, and the evidence, at least one observation."""

    detail: str
    observations: tuple[Observation, ...]


Check = Callable[[GatePolicy, GateEvidence], Found | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its name, what it does to a release, its sentence, and when it fires."""

    name: str
    outcome: str
    sentence: str
    check: Check
    description: str

    @property
    def paragraphs(self) -> list[str]:
        """The description without the line breaks of the source."""
        return [" ".join(part.split()) for part in self.description.split("\n\n")]


RULES: dict[str, Rule] = {}


def rule(name: str, outcome: str, sentence: str) -> Callable[[Check], Check]:
    """Register the decorated check.

    Raises:
        ValueError: the name is taken, the outcome is none a rule can have, or the docstring is missing.
    """

    def register(check: Check) -> Check:
        if name in RULES:
            raise ValueError(f"rule {name} is registered twice")
        if outcome not in OUTCOMES or outcome == PASS:
            raise ValueError(f"rule {name}: a rule that fires warns or blocks, it cannot {outcome}")
        description = inspect.getdoc(check)
        if not description:
            raise ValueError(f"rule {name} needs a docstring: it says when it fires")
        RULES[name] = Rule(name, outcome, sentence, check, description)
        return check

    return register


def found(detail: str, observations: Iterable[Observation]) -> Found | None:
    """The finding; None, so that the rule does not fire, where nothing was observed."""
    kept = tuple(observations)
    return Found(detail, kept) if kept else None


def seen(case: CaseEvidence, trial: Trial | None, observed: str) -> Observation:
    """An observation in one trial; without one it is about all trials of the case and shows its worst."""
    shown = trial or case.worst_trial
    if shown is None:
        return Observation(_text(observed), case.scenario, case.case_id)
    divergence = shown.first_divergence or {}
    return Observation(
        observed=_text(observed),
        scenario=case.scenario,
        case_id=case.case_id,
        trial=None if trial is None or len(case.trials) == 1 else trial.number,
        baseline="no baseline" if shown.baseline is None else _text(shown.baseline.ending),
        candidate=_text(shown.candidate.ending),
        first_divergence=_text(str(divergence.get("summary", ""))),
        link=shown.link,
    )


def overall(observed: str, evidence: GateEvidence) -> Observation:
    """An observation about the comparison as a whole."""
    return Observation(_text(observed), link=evidence.link)


def _text(text: str) -> str:
    return cut(clean(text), MAX_TEXT)
