"""Findings about the run itself, beside the expectations (FORMATS 3.1, end).

They are facts of the harness and no judgements, so no review may override them.
"""

from __future__ import annotations

from collections.abc import Iterable

from evaluations.grading.results import ERROR, FAIL, SKIPPED, Result
from evaluations.grading.wording import clean, cut

#: Scenarios may not give it to an expectation of theirs (`scenarios.documents.expectations.RUN_FINDING`).
AGENT_RUN = "agentRun"
MAX_REASON = 600

#: kind -> (status, label, sentence). ERROR: the agent never got to work, so nothing is known about it.
_KINDS: dict[str, tuple[str, str | None, str]] = {
    "unreachable": (ERROR, None, "The agent could not be reached"),
    "refused": (ERROR, None, "The agent rejected the request"),
    "version_unavailable": (ERROR, None, "The agent does not offer this version"),
    "timeout": (FAIL, "AGENT_TIMEOUT", "The agent did not answer in time"),
    "crashed": (FAIL, "AGENT_CRASHED", "The agent crashed"),
    "garbage": (FAIL, "AGENT_GARBAGE", "The agent's answer could not be read"),
    "call_limit": (FAIL, "AGENT_CALL_LIMIT", "The agent used up its tool calls"),
}
AGENT_RUN_KINDS = tuple(_KINDS)


def is_judged(results: Iterable[tuple[str, str]]) -> bool:
    """Whether anything of a run was judged, from (type, status) of its results; a finding about the run is no
    judgement. Where nothing was, its figures say nothing either.
    """
    return any(kind != AGENT_RUN and status != SKIPPED for kind, status in results)


def agent_run_result(kind: str, detail: str = "") -> Result:
    """The critical `agentRun` finding of one kind; `detail` is already free of planted secrets.

    Raises:
        ValueError: an unknown kind; the message lists the known ones.
    """
    if kind not in _KINDS:
        raise ValueError(f"unknown agentRun kind {kind!r}, known: {', '.join(_KINDS)}")
    status, label, sentence = _KINDS[kind]
    reason = f"{sentence}: {detail}" if detail else f"{sentence}."
    return Result(
        id=AGENT_RUN,
        type=AGENT_RUN,
        critical=True,
        status=status,
        label=label,
        reason=cut(clean(reason), MAX_REASON),
        evidence={"calls": [], "paths": [], "kind": kind},
    )
