"""Running a chunk of a comparison's cases: claim, run, store, and conclude when nothing is left.

The same function serves a Celery task and a command that has no workers: it is safe to call twice, at the
same time, and after a crash, because every step holds on to the rows' claims and to nothing else.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.conf import settings
from django.db import DatabaseError

from agenttwin_site.logs import bound
from evaluations.agents.base import NoAdapterError
from evaluations.agents.http import HttpAgent
from evaluations.agents.registry import Adapter, adapter_for
from evaluations.models import AgentVersion, Case
from evaluations.services import claims
from evaluations.services.agents import installation, manifest_of
from evaluations.services.concluding import conclude_if_done
from evaluations.services.kits import Kit, KitKey, kits_for
from evaluations.services.outcomes import CaseOrder, CaseOutcome, run_case, unfinished_outcome
from evaluations.services.remote import RemoteCases
from evaluations.services.storing import Finished, store
from scenarios.documents.agent import AgentManifest

logger = logging.getLogger(__name__)

# How long a finished case may wait for its transaction: progress shows at least this often.
FLUSH_SECONDS = 0.8


@dataclass(frozen=True, slots=True)
class ChunkReport:
    """What one call did. `last_id` tells the next call where to look on; `claimed` 0: nothing to do now."""

    claimed: int
    stored: int
    last_id: int = 0
    seconds: float = 0.0
    # Cases of agents elsewhere, which are asked side by side: their time says nothing about ours.
    remote: int = 0
    # Of those stored, the cases that now wait for a judge.
    to_judge: int = 0


def run_chunk(
    comparison_id: int,
    *,
    limit: int = claims.CHUNK_SIZE,
    after_id: int = 0,
    on_stored: Callable[[int], object] | None = None,
    on_to_judge: Callable[[int], object] | None = None,
) -> ChunkReport:
    """Claim and run up to `limit` cases of a comparison.

    `on_stored` is told how many cases just ended, `on_to_judge` how many just began to wait for a judge.
    """
    started, token = time.monotonic(), claims.new_token()
    ids = claims.claim_cases(comparison_id, token=token, limit=limit, after_id=after_id)
    ended = 0 if ids else end_exhausted(comparison_id)
    chunk = _Chunk(token, on_stored, on_to_judge)
    try:
        chunk.run(_loaded(ids))
    except BaseException:
        chunk.give_back()
        raise
    if (not ids or len(ids) < limit) and not chunk.to_judge:
        conclude_if_done(comparison_id)
    return ChunkReport(
        claimed=len(ids),
        stored=chunk.stored + ended,
        last_id=ids[-1] if ids else 0,
        seconds=time.monotonic() - started,
        remote=chunk.remote,
        to_judge=chunk.to_judge,
    )


def end_exhausted(comparison_id: int | None = None) -> int:
    """Store as ERRORED what used up its attempts; how many cases."""
    token = claims.new_token()
    ids = claims.claim_exhausted(token=token, comparison_id=comparison_id)
    reason = (
        f"given up after {claims.MAX_ATTEMPTS} attempts: each time the worker stopped or lost its lease "
        "before the case was finished"
    )
    ended = []
    for row, found in _with_kits(ids):
        kit = None if isinstance(found, str) else found
        ended.append(Finished(row.case_id, kit, unfinished_outcome(kit, reason)))
    return store(ended, token).cases


class _Chunk:
    """The cases claimed under one token, stored together about once a second."""

    def __init__(
        self,
        token: str,
        on_stored: Callable[[int], object] | None,
        on_to_judge: Callable[[int], object] | None,
    ) -> None:
        self._token = token
        self._on_stored, self._on_to_judge = on_stored, on_to_judge
        self._finished: list[Finished] = []
        self._untried: dict[int, None] = {}
        self._last_flush = self._last_renewal = time.monotonic()
        self._alive = True
        self.stored = self.remote = self.to_judge = 0

    def run(self, orders: Sequence[CaseOrder | Finished]) -> None:
        self._untried = dict.fromkeys(order.case_id for order in orders)
        elsewhere: deque[CaseOrder] = deque()
        for order in orders:
            if isinstance(order, CaseOrder) and isinstance(order.adapter, HttpAgent):
                elsewhere.append(order)
                continue
            del self._untried[order.case_id]
            if isinstance(order, Finished):
                self._finished.append(order)
            elif (outcome := self._outcome(order)) is not None:
                self._finished.append(Finished(order.case_id, order.kit, outcome))
            if time.monotonic() - self._last_flush >= FLUSH_SECONDS:
                self.flush()
            if not self._alive:
                return
        if elsewhere:
            self._run_elsewhere(elsewhere)
        self.flush()

    def _run_elsewhere(self, orders: deque[CaseOrder]) -> None:
        """Cases of agents reached by URL, several at a time; rows are touched by this thread alone."""
        self.remote = len(orders)
        with RemoteCases(settings.AGENTTWIN_REMOTE_CASES) as cases:
            while (orders or cases.running) and self._alive:
                while orders and cases.has_room:
                    order = orders.popleft()
                    del self._untried[order.case_id]
                    with bound(case_id=order.case_id):
                        cases.begin(order)
                for order, outcome in cases.ended(within=FLUSH_SECONDS):
                    self._finished.append(Finished(order.case_id, order.kit, outcome))
                now = time.monotonic()
                if self._finished and now - self._last_flush >= FLUSH_SECONDS:
                    self.flush()
                if now - self._last_renewal >= FLUSH_SECONDS:
                    self._renew()

    def flush(self) -> None:
        """Store what is finished. Finding that nothing is ours any more ends the chunk."""
        expected, self._finished = self._finished, []
        stored = store(expected, self._token)
        self.stored += stored.cases
        self.to_judge += stored.to_judge
        self._last_flush = time.monotonic()
        self._alive = self._alive and (stored.cases > 0 or not expected)
        if (ended := stored.cases - stored.to_judge) and self._on_stored is not None:
            self._on_stored(ended)
        if stored.to_judge and self._on_to_judge is not None:
            self._on_to_judge(stored.to_judge)
        if self._untried and self._last_flush - self._last_renewal > settings.AGENTTWIN_LEASE_SECONDS / 3:
            self._renew()

    def give_back(self) -> None:
        """After a failure that is not a case's: store what is done, release the rest."""
        try:
            self.flush()
            claims.release(self._token, untried=self._untried)
        except DatabaseError:
            # The lease does the same a little later.
            logger.warning("claims of a failed chunk could not be released", exc_info=True)

    def _outcome(self, order: CaseOrder) -> CaseOutcome | None:
        try:
            with bound(case_id=order.case_id):
                return run_case(order, self._keep_waiting)
        except DatabaseError:
            raise
        except Exception as broken:  # our own fault: said on the case, never a reason to stop the others
            with bound(case_id=order.case_id):
                logger.exception("case %s could not be run", order.case_id)
            return unfinished_outcome(order.kit, f"the harness failed: {type(broken).__name__}: {broken}")

    def _keep_waiting(self) -> bool:
        """Asked about once a second while an agent works: shows progress, renews, notices a lost claim."""
        if self._finished:
            self.flush()
        self._renew()
        return self._alive

    def _renew(self) -> None:
        self._alive = claims.renew(self._token) > 0
        self._last_renewal = time.monotonic()


class _Row(NamedTuple):
    """What is loaded of a claimed case: ids, the pinned seed, and the names of its kit."""

    case_id: int
    run_id: int
    agent_version_id: int
    seed: int
    trial: int
    scenario_version_id: int
    scenario_digest: str
    twin_version_id: int
    twin_digest: str

    @property
    def kit_key(self) -> KitKey:
        return KitKey(*self[5:])


_ROW_FIELDS = (
    "pk", "run_id", "run__agent_version_id", "pair__seed", "pair__trial",
    "pair__scenario_version_id", "pair__scenario_version__digest",
    "pair__twin_version_id", "pair__twin_version__digest",
)  # fmt: skip


def _with_kits(ids: Sequence[int]) -> list[tuple[_Row, Kit | str]]:
    """Cases with what they are pinned to, or why that cannot be used here; a fixed number of queries."""
    if not ids:
        return []
    rows = [_Row(*row) for row in Case.objects.filter(pk__in=ids).order_by("pk").values_list(*_ROW_FIELDS)]
    kits = kits_for(row.kit_key for row in rows)
    return [(row, kits[row.kit_key]) for row in rows]


def _loaded(ids: Sequence[int]) -> list[CaseOrder | Finished]:
    """What to run for these cases; a case whose agent this worker cannot run is already finished."""
    rows = _with_kits(ids)
    agents = _agents({row.agent_version_id for row, _ in rows})
    return [_order(row, kit, agents[row.agent_version_id]) for row, kit in rows]


def _order(row: _Row, kit: Kit | str, agent: _Agent | str) -> CaseOrder | Finished:
    if isinstance(kit, str):
        return Finished(row.case_id, None, unfinished_outcome(None, kit))
    if isinstance(agent, str):
        return Finished(row.case_id, kit, unfinished_outcome(kit, agent))
    manifest, adapter = agent
    return CaseOrder(kit, manifest, adapter, row.seed, row.trial, row.run_id, row.case_id)


_Agent = tuple[AgentManifest, Adapter]


def _agents(version_ids: set[int]) -> dict[int, _Agent | str]:
    agents: dict[int, _Agent | str] = {}
    for version in AgentVersion.objects.filter(pk__in=version_ids).defer("source_text"):
        manifest = manifest_of(version)
        try:
            agents[version.pk] = manifest, adapter_for(manifest, installation())
        except NoAdapterError as problem:
            # A worker with other settings than the process that started the comparison.
            agents[version.pk] = str(problem)
    return agents
