"""What the agent says it did, held against what the twin recorded. A claim is shown as a claim, always."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluations.grading.alignment import longest_common
from evaluations.grading.metrics import compare_metrics
from evaluations.grading.wording import call_text, clean, cut
from evaluations.models import Side
from reviews.page_queries.alignment import Alignment
from reviews.page_queries.cases import PairPage, SideOfCase
from reviews.page_queries.states import Facts
from reviews.presenting.bounded import one_line

CALLS_COMPARED = 200
EFFECTS_SHOWN = 6
_OUTPUT = 20_000


@dataclass(frozen=True, slots=True)
class Claim:
    """One side's own account. `outcome` is None where it reports none."""

    side: SideOfCase
    outcome: str | None
    output: str
    output_is_cut: bool
    more: tuple[tuple[str, str], ...]
    has_answer: bool
    href: str


@dataclass(frozen=True, slots=True)
class Effects:
    """What one tool really did on one side: the records that applied it, and which of them did so again.

    `is_empty`: they answered success and changed nothing.
    """

    tool: str
    seqs: tuple[tuple[int, str, bool], ...]
    count: int
    is_empty: bool = False

    @property
    def repeats(self) -> int:
        return sum(again for _, _, again in self.seqs)

    @property
    def more(self) -> int:
        return self.count - len(self.seqs)


@dataclass(frozen=True, slots=True)
class ClaimedCall:
    """A line of the comparison of the two lists: on both, only claimed, or only recorded."""

    claimed: str
    recorded: str
    kind: str


@dataclass(frozen=True, slots=True)
class ClaimedCalls:
    """`agrees` if the agent's list names the recorded tools in order; None if it gave no list."""

    side: SideOfCase
    lines: tuple[ClaimedCall, ...]
    claimed: int | None
    recorded: int
    more: int

    @property
    def agrees(self) -> bool | None:
        if self.claimed is None:
            return None
        return self.more == 0 and all(line.kind == "both" for line in self.lines)


def claims(page: PairPage) -> tuple[Claim, ...]:
    """The baseline's claim, if there is one, and the candidate's."""
    return tuple(_claim(page, side) for side in page.sides.values())


def same_claim(found: Sequence[Claim]) -> bool:
    """Whether both sides say the same, so that saying it once is enough."""
    said = {(claim.outcome, claim.output, claim.more, claim.has_answer) for claim in found}
    return len(found) > 1 and len(said) == 1


def effects(page: PairPage, facts: Facts, side: str) -> list[Effects]:
    """The writes of a side by tool, in the order of their first one; those that only said so come last."""
    again = facts.again[side]
    found = []
    for tool, seqs in facts.applied[side].items():
        # What was applied again is what nobody may miss in a long list.
        first = sorted(seqs, key=lambda seq: (seq not in again, seq))[:EFFECTS_SHOWN]
        shown = tuple((seq, page.address.call_href(side, seq), seq in again) for seq in sorted(first))
        found.append(Effects(cut(clean(tool), 100), shown, len(seqs)))
    for tool, seqs in facts.empty[side].items():
        shown = tuple((seq, page.address.call_href(side, seq), False) for seq in seqs[:EFFECTS_SHOWN])
        found.append(Effects(cut(clean(tool), 100), shown, len(seqs), is_empty=True))
    return found


def claimed_calls(page: PairPage, alignment: Alignment) -> list[ClaimedCalls]:
    """Per side the agent's own list of calls beside the twin's; empty where no side gave one."""
    found = [_claimed_calls(side, alignment.tools[side.name]) for side in page.sides.values()]
    return found if any(one.claimed is not None for one in found) else []


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of both sides; None was not reported. `verdict` is better, worse, same or unknown."""

    name: str
    baseline: Any
    candidate: Any
    verdict: str


_METRIC_NAMES = {
    "tool_calls": "tool calls",
    "duplicate_effects": "duplicate effects",
    "policy_violations": "policy violations",
    "latency_ms": "latency, ms",
    "cost_usd": "cost, USD",
    "semantic_score": "semantic score",
}


def metrics_of(page: PairPage) -> tuple[list[Metric], list[str]]:
    """The figures that at least one side has, and the names of those nobody reported.

    A side that was not measured has none: fewer calls of a run that broke are no better than the other's.
    """
    stored = {
        name: side.case.metrics if side.case is not None and side.is_measured else {}
        for name, side in page.sides.items()
    }
    compared = compare_metrics(stored.get(Side.BASELINE) or {}, stored[Side.CANDIDATE] or {})
    known, missing = [], []
    for key, found in compared.items():
        name = _METRIC_NAMES.get(key, key)
        if found["baseline"] is None and found["candidate"] is None:
            missing.append(name)
        else:
            known.append(Metric(name, found["baseline"], found["candidate"], found["verdict"]))
    return known, missing


def _claim(page: PairPage, side: SideOfCase) -> Claim:
    answer = side.answer
    output = answer.get("output")
    more = []
    for key, name in (("business_outcome", "business outcome"), ("proposal", "proposal")):
        if answer.get(key) is not None:
            more.append((name, one_line(answer[key], 300)))
    text = output if isinstance(output, str) else ""
    return Claim(
        side=side,
        outcome=side.case.claimed_outcome if side.case is not None else None,
        output=text[:_OUTPUT],
        output_is_cut=bool(answer.get("output_cut")) or len(text) > _OUTPUT,
        more=tuple(more),
        has_answer=bool(answer),
        href=page.address.raw_href("answer", side.name),
    )


def _claimed_calls(side: SideOfCase, recorded: Sequence[str]) -> ClaimedCalls:
    listed = side.answer.get("tool_calls")
    if not isinstance(listed, list):
        return ClaimedCalls(side, (), None, len(recorded), 0)
    shown, own = listed[:CALLS_COMPARED], recorded[:CALLS_COMPARED]
    names = [_tool_of(entry) for entry in shown]
    lines: list[ClaimedCall] = []
    left = right = 0
    for i, j in [*longest_common(names, own), (len(names), len(own))]:
        lines += [ClaimedCall(_claimed_text(entry), "", "claimed") for entry in shown[left:i]]
        lines += [ClaimedCall("", cut(clean(tool), 100), "recorded") for tool in own[right:j]]
        if i < len(names):
            lines.append(ClaimedCall(_claimed_text(shown[i]), cut(clean(own[j]), 100), "both"))
        left, right = i + 1, j + 1
    more = max(len(listed) - len(shown), len(recorded) - len(own))
    return ClaimedCalls(side, tuple(lines), len(listed), len(recorded), more)


def _tool_of(entry: Any) -> str:
    if isinstance(entry, Mapping):
        name = entry.get("tool", entry.get("name"))
        return name if isinstance(name, str) else ""
    return entry if isinstance(entry, str) else ""


def _claimed_text(entry: Any) -> str:
    tool = _tool_of(entry)
    if isinstance(entry, Mapping) and tool and isinstance(entry.get("arguments"), Mapping):
        return cut(call_text(tool, entry["arguments"]), 200)
    return cut(clean(tool), 200) if tool else one_line(entry, 200)
