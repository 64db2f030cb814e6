"""What every agent adapter speaks: the request, the answer, how a run ended.

An adapter carries one request to one agent and brings back how that ended. It knows no rows and no verdicts;
what the agent did is in the records of the tools object it was handed, never in what it answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from evaluations.agents.tools import CaseTools
from evaluations.grading.evidence import Answer
from scenarios.documents.agent import AgentManifest


@dataclass(frozen=True, slots=True)
class RunContext:
    """Where a request comes from, so that an agent can tell a simulation from a customer (FORMATS 5).

    `seed` is for an agent of this process that draws lots, and stays in this process (docs/decisions/1701).
    """

    run_id: str
    case_id: str
    scenario_name: str
    trial: int
    source: str = "simulation"
    seed: int | None = None


def agent_seed(case_seed: int) -> int:
    """What an agent may draw its lots with: it follows from the case's seed and does not give that away."""
    return int.from_bytes(hashlib.sha256(f"{case_seed}:agent".encode()).digest()[:4], "big")


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """One customer message for one agent version; the same fields for every kind of adapter (FORMATS 5)."""

    input: str
    agent_version: str
    session_id: str
    run_context: RunContext
    tenant: str | None = None
    customer_id: str | None = None
    context: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run brought no answer. ``kind`` is one that `grading.run_findings` knows (FORMATS 3.1, end)."""

    kind: str
    detail: str


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """How one run ended: exactly one of answer, failure and ``stopped`` (told to stop, nothing to judge)."""

    answer: Answer | None = None
    failure: Failure | None = None
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What one run may use up: seconds of wall clock and tool calls."""

    seconds: float
    tool_calls: int


@dataclass(frozen=True, slots=True)
class Installation:
    """What the operator of this installation says about agents, each by the agent's name.

    `in_process`: dotted path of a class (``AGENTTWIN_IN_PROCESS_AGENTS``); `endpoints`: address of an HTTP
    agent (``AGENTTWIN_AGENT_ENDPOINTS``).
    """

    in_process: Mapping[str, str] = field(default_factory=dict)
    endpoints: Mapping[str, str] = field(default_factory=dict)


class AgentAdapter(Protocol):
    """Carries requests to the agent of one manifest that works inside this process.

    One that works elsewhere is an `evaluations.agents.http.HttpAgent`: its tools are a URL.
    """

    model_kind: str
    model_name: str

    def run(
        self,
        request: AgentRequest,
        tools: CaseTools,
        *,
        limits: RunLimits,
        keep_waiting: Callable[[], bool],
    ) -> AgentEnd:
        """Run once and close `tools` before returning: a later call changes nothing that is judged.

        `keep_waiting` is asked about once a second while the agent works; False ends the run as stopped.
        Never raises for anything the agent did.
        """


class AgentRefusedError(Exception):
    """An agent raises this to reject a request: the run is an ERROR, not a failure of the agent's work."""


class VersionUnavailableError(Exception):
    """An agent raises this when it cannot act as the asked version: the run is an ERROR."""


class NoAdapterError(LookupError):
    """Nothing on this installation can run the agent of that manifest."""


DEFAULT_TOOL_CALLS = 200
DEFAULT_SECONDS = 60.0


def run_limits(manifest: AgentManifest, timeout_seconds: float | None) -> RunLimits:
    """The scenario's time and the manifest's limits; the shorter time holds (FORMATS 3.1, 5)."""
    longest, calls = manifest.limits.max_duration_seconds, manifest.limits.max_tool_calls
    seconds = DEFAULT_SECONDS if timeout_seconds is None else timeout_seconds
    return RunLimits(
        seconds=float(seconds if longest is None else min(seconds, longest)),
        tool_calls=DEFAULT_TOOL_CALLS if calls is None else calls,
    )
