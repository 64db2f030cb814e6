"""Where two trajectories part, and what the records say about that step. Never what caused it (FORMATS 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evaluations.grading.signals import KeyArguments, effect_identity, effect_text, is_write, outcome_unknown
from evaluations.grading.trajectory import OUTCOME, RETRIEVAL, TrajectoryStep
from evaluations.grading.wording import clean, cut

KINDS = ("tool", "arguments", "result", "policy", "outcome", "stopped_early", "extra_steps")

Steps = Sequence[TrajectoryStep]


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first step that differs; `baseline` and `candidate` are what each did there."""

    step: int
    kind: str
    summary: str
    meaning: str | None
    baseline: str
    candidate: str

    def to_json(self) -> dict[str, Any]:
        """The keys of FORMATS 7."""
        return {
            "step": self.step,
            "kind": self.kind,
            "summary": self.summary,
            "meaning": self.meaning,
            "baseline": self.baseline,
            "candidate": self.candidate,
        }


def first_divergence(baseline: Steps, candidate: Steps, key_arguments: KeyArguments) -> Divergence | None:
    """Walk both in lockstep to the first step that differs; None when none does."""
    for index, (left, right) in enumerate(zip(baseline, candidate, strict=False)):
        kind = _difference(left, right)
        if kind is None:
            continue
        meaning = _meaning(kind, left, right, baseline[:index], key_arguments)
        summary = f"At step {index + 1} {_sentence(kind, left, right)}"
        return Divergence(index + 1, kind, summary, meaning, _did(kind, left), _did(kind, right))
    return None


def differing(left: TrajectoryStep, right: TrajectoryStep) -> tuple[str, ...]:
    """Which sides of two steps differ: of `tool`, `arguments`, `policy`, `result`, `outcome`."""
    if left.place_key != right.place_key:
        return ("tool",)
    if left.kind == OUTCOME:
        return () if left.result_key == right.result_key else ("outcome",)
    names = []
    if left.asked_key != right.asked_key:
        names.append("arguments")
    if left.policy != right.policy:
        names.append("policy")
    if left.result_key != right.result_key:
        names.append("result")
    return tuple(names)


def _difference(left: TrajectoryStep, right: TrajectoryStep) -> str | None:
    """The kind of the difference. A policy that stopped one side alone is said first, whatever was called."""
    if left.kind == OUTCOME and right.kind != OUTCOME:
        return "extra_steps"
    if right.kind == OUTCOME and left.kind != OUTCOME:
        return "stopped_early"
    if (left.policy is None) != (right.policy is None):
        return "policy"
    names = differing(left, right)
    return names[0] if names else None


def _sentence(kind: str, left: TrajectoryStep, right: TrajectoryStep) -> str:
    if kind == "policy":
        return _policy_sentence(left, right)
    if kind == "result":
        same = "search" if left.kind == RETRIEVAL else "call"
        return (
            f"both made the same {same} {left.text}; the baseline's {_came_back(left)}, "
            f"the candidate's {_came_back(right)}{_beyond_status(left, right)}."
        )
    return f"the baseline {_acted(left, kind)}; the candidate {_acted(right, kind)}."


def _acted(step: TrajectoryStep, kind: str) -> str:
    if step.kind == OUTCOME:
        ending = "gave no answer" if not step.has_answer else step.text
        return ending if kind == "outcome" else f"had stopped and {ending}"
    if step.kind == RETRIEVAL:
        return f"searched for {step.text.removeprefix('search ')}"
    if step.record.redelivered:
        return f"met a second delivery of {step.text}"
    # Two calls with equal arguments differ in the header alone: say so, or the sentence repeats itself.
    refused = "" if step.policy is None else f" and was refused by policy ({step.policy})"
    return f"called {step.text}{_key_note(step) if kind == 'arguments' else ''}{refused}"


def _key_note(step: TrajectoryStep) -> str:
    arguments, key = step.record.arguments, step.record.idempotency_key
    if key is None or (isinstance(arguments, dict) and key in arguments.values()):
        return ""
    return " with an idempotency key in its header"


def _policy_sentence(left: TrajectoryStep, right: TrajectoryStep) -> str:
    if left.place_key != right.place_key or left.asked_key != right.asked_key:
        return f"the baseline {_acted(left, 'policy')}; the candidate {_acted(right, 'policy')}."
    same = f"both called {left.text}; "
    if left.policy is None:
        return f"{same}only the candidate was refused by policy ({right.policy})."
    if right.policy is None:
        return f"{same}only the baseline was refused by policy ({left.policy})."
    return f"{same}the baseline was refused as {left.policy}, the candidate as {right.policy}."


def _came_back(step: TrajectoryStep) -> str:
    if step.kind == RETRIEVAL:
        return f"found {len(step.record.documents)}"
    return f"answered {_status(step)}"


def _status(step: TrajectoryStep) -> str:
    record = step.record
    code = f" {cut(clean(record.error_code), 60)}" if record.error_code else ""
    replay = ", a replay" if record.replayed else ""
    return f"{record.http_status} {record.status}{code}{replay}"


def _beyond_status(left: TrajectoryStep, right: TrajectoryStep) -> str:
    if left.kind == RETRIEVAL or _status(left) != _status(right):
        return ""
    if left.record.mutated != right.record.mutated:
        changed = "baseline" if left.record.mutated else "candidate"
        return f", and only the {changed}'s took effect"
    return " with other content"


def _did(kind: str, step: TrajectoryStep) -> str:
    if kind == "result":
        return f"{step.text} {_came_back(step)}"
    if kind == "policy":
        return f"{step.text} {step.policy}" if step.policy is not None else step.text
    return step.text


def _meaning(
    kind: str, left: TrajectoryStep, right: TrajectoryStep, before: Steps, keys: KeyArguments
) -> str | None:
    """What the records show about this step, most serious first; either side may be the worse one."""
    if kind in ("result", "outcome"):
        return None
    found = [
        _repeated_write("candidate", right, left, before, keys),
        _repeated_write("baseline", left, right, before, keys),
        _key_dropped(left, right) if kind == "arguments" else None,
        _unread_write("candidate", right, "baseline", left, before),
        _unread_write("baseline", left, "candidate", right, before),
    ]
    return " ".join(sentence for sentence in found if sentence) or None


def _repeated_write(
    side: str, step: TrajectoryStep, other: TrajectoryStep, before: Steps, keys: KeyArguments
) -> str | None:
    """A write made again although an earlier one of unknown outcome had applied the same effect."""
    first = _applied_unknown(step, before, keys)
    if first is None:
        return None
    if _applied_unknown(other, before, keys) is first and (other.record.mutated or not step.record.mutated):
        return None  # the other side repeated it as well, and no better
    record = step.record
    if record.mutated:
        ending = "and it was applied again"
    elif record.replayed:
        ending = "and the twin answered from its idempotency record"
    else:
        ending = f"and it ended in {record.status}"
    return (
        f"The {side} repeated {record.tool} after step {first.position} had ended in {first.record.status} "
        f"with {cut(clean(effect_text(first.record)), 100)} already applied, {ending}."
    )


def _applied_unknown(step: TrajectoryStep, before: Steps, keys: KeyArguments) -> TrajectoryStep | None:
    if not _is_own_write(step):
        return None
    identity = effect_identity(step.record, keys)
    for earlier in reversed(before):
        if (
            _is_own_write(earlier)
            and earlier.record.mutated
            and outcome_unknown(earlier.record)
            and effect_identity(earlier.record, keys) == identity
        ):
            return earlier
    return None


def _is_own_write(step: TrajectoryStep) -> bool:
    return step.is_call and not step.record.redelivered and is_write(step.record)


def _key_dropped(left: TrajectoryStep, right: TrajectoryStep) -> str | None:
    if not left.is_call or not right.is_call:
        return None
    had, has = left.record.idempotency_key is not None, right.record.idempotency_key is not None
    if had == has:
        return None
    without, with_key = ("candidate", "baseline") if had else ("baseline", "candidate")
    return f"The {without} sent {right.record.tool} without an idempotency key; the {with_key} sent one."


def _unread_write(
    side: str, step: TrajectoryStep, other_side: str, other: TrajectoryStep, before: Steps
) -> str | None:
    """An irreversible call made where the other side read something first."""
    if not step.is_call or step.record.risk != "WRITE_IRREVERSIBLE" or not _is_read(other):
        return None
    made = "made" if step.policy is None else "tried"
    read = "searching the knowledge base" if other.kind == RETRIEVAL else f"calling {other.record.tool}"
    again = any(earlier.place_key == other.place_key for earlier in before)
    return (
        f"The {side} {made} the irreversible call {step.record.tool} without "
        f"{read + ' again' if again else 'first ' + read}, which the {other_side} did at this point."
    )


def _is_read(step: TrajectoryStep) -> bool:
    return step.kind == RETRIEVAL or (step.is_call and step.record.risk == "READ")
