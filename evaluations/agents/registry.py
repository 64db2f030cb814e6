"""Every way to reach an agent, in the order in which they are tried. A new adapter is one more line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from evaluations.agents.base import AgentAdapter, NoAdapterError
from evaluations.agents.in_process import InProcessAgent
from scenarios.documents.agent import AgentManifest

ADAPTERS: tuple[Callable[[AgentManifest, Mapping[str, str]], AgentAdapter | None], ...] = (
    InProcessAgent.fitting,
)


def adapter_for(manifest: AgentManifest, registered: Mapping[str, str]) -> AgentAdapter:
    """The adapter of an agent. `registered` is ``AGENTTWIN_IN_PROCESS_AGENTS``: agent name to dotted path.

    Raises:
        NoAdapterError: no adapter fits; says which agents this installation can run.
    """
    for fitting in ADAPTERS:
        if (adapter := fitting(manifest, registered)) is not None:
            return adapter
    known = ", ".join(sorted(registered)) or "none"
    raise NoAdapterError(
        f"agent {manifest.name!r} cannot be run here: no class is registered for it in "
        f"AGENTTWIN_IN_PROCESS_AGENTS (registered: {known})"
    )
