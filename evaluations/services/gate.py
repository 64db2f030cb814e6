"""Deciding on a release: evaluate a comparison by a policy, keep it as a revision, verify what is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from agenttwin_site.events import governance
from evaluations.errors import NotEndedError
from evaluations.gate import RULES, Decision, Fired, decide
from evaluations.models import (
    AgentVersion,
    Comparison,
    ComparisonState,
    GateDecision,
    GatePolicyVersion,
)
from evaluations.services.gate_evidence import ReadEvidence, read_evidence
from evaluations.services.gate_policies import DEFAULT, policy_in_force, policy_of
from twins.engine.values import canonical_json, digest

SCHEMA_VERSION = 1
DECIDABLE = (ComparisonState.COMPLETED, ComparisonState.INCOMPLETE)


def evaluate(*, comparison_id: int, policy: str = DEFAULT, actor: Any = None) -> GateDecision:
    """Decide on a comparison as it stands now; always a new revision, also where nothing has changed.

    Raises:
        RequestError: there is no such policy.
        NotEndedError: the comparison still runs, was cancelled or failed: there is nothing to decide on.
    """
    with transaction.atomic():
        # As reviews do: a decision sees the results before or after a review, never halfway.
        Comparison.objects.select_for_update().get(pk=comparison_id)
        comparison = Comparison.objects.select_related(
            "agent", "baseline", "candidate", "dataset_version__dataset"
        ).get(pk=comparison_id)
        if comparison.state not in DECIDABLE:
            reason = f": {comparison.reason}" if comparison.reason else ""
            raise NotEndedError(f"could not decide: {comparison} is {comparison.state}{reason}")
        version = policy_in_force(policy)
        read = read_evidence(comparison)
        decision = decide(policy_of(version), read.evidence)
        earlier = GateDecision.objects.filter(comparison=comparison, policy=version.policy_id)
        revision = 1 + (earlier.values_list("revision", flat=True).first() or 0)
        return _store(comparison, version, read, decision, revision, actor)


def _store(
    comparison: Comparison,
    version: GatePolicyVersion,
    read: ReadEvidence,
    decision: Decision,
    revision: int,
    actor: Any,
) -> GateDecision:
    now = timezone.now()
    account = actor if getattr(actor, "is_authenticated", False) else None
    subject = subject_of(comparison, read, version)
    content = canonical_json(
        {
            "schema_version": SCHEMA_VERSION,
            "comparison": comparison.pk,
            "revision": revision,
            "outcome": decision.outcome,
            "headline": headline_of(decision),
            "subject": subject,
            "policy": {
                "name": version.policy.name,
                "version": version.number,
                "digest": version.digest,
                "document": version.document,
            },
            "inputs": _inputs(comparison, read, policy_of(version).mandatory.pass_rate),
            "asked": list(RULES),
            "rules": [one.to_json() for one in decision.fired],
            "decided_at": now.isoformat(),
            "decided_by": {"id": account.pk, "name": account.get_username()} if account else None,
        }
    )
    stored = GateDecision.objects.create(
        comparison=comparison,
        policy_id=version.policy_id,
        policy_version=version,
        revision=revision,
        outcome=decision.outcome,
        headline=headline_of(decision),
        subject=subject,
        content=content,
        sha256=sha256_of(content),
        decided_by=account,
        decided_at=now,
    )
    governance.send(
        sender=GateDecision,
        action="gate_decided",
        actor=actor,
        subject=f"gate decision on {comparison.agent.name} {comparison.candidate.version}, {comparison}",
        subject_id=stored.pk,
        after={
            "outcome": decision.outcome,
            "policy": str(version),
            "comparison": comparison.pk,
            "revision": revision,
            # Outside of the row as well: who changes row and hash together cannot change the chain.
            "sha256": stored.sha256,
        },
    )
    return stored


def subject_of(comparison: Comparison, read: ReadEvidence, version: GatePolicyVersion) -> str:
    """One hash of what is decided: agent and versions, suite, policy. Another run of it has the same."""
    dataset = comparison.dataset_version
    return digest(
        {
            "agent": comparison.agent.name,
            "candidate": comparison.candidate.digest,
            "baseline": None if comparison.baseline is None else comparison.baseline.digest,
            "dataset": None if dataset is None else dataset.dataset.name,
            "suite": sorted([name, scenario.digest] for name, scenario in read.scenarios.items()),
            "policy": {"name": version.policy.name, "digest": version.digest},
        }
    )


def headline_of(decision: Decision) -> str:
    """The worst rule that fired in a line, and how many more did; empty where none did."""
    if not decision.fired:
        return ""
    worst = next(one for one in decision.fired if one.outcome == decision.outcome)
    more = len(decision.fired) - 1
    rules = "rule" if more == 1 else "rules"
    return f"{worst.sentence} {worst.detail}{f'; {more} more {rules} fired' if more else ''}"


def sha256_of(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def _inputs(comparison: Comparison, read: ReadEvidence, rate: float) -> dict[str, Any]:
    evidence, dataset = read.evidence, comparison.dataset_version
    return {
        "agent": comparison.agent.name,
        "candidate": _version(comparison.candidate),
        "baseline": None if comparison.baseline is None else _version(comparison.baseline),
        "state": comparison.state,
        "reason": comparison.reason,
        "seed": comparison.seed,
        "trials": comparison.trials,
        "selection": comparison.selection,
        "dataset": None
        if dataset is None
        else {
            "name": dataset.dataset.name,
            "version": dataset.number,
            "purpose": dataset.purpose,
            "sha256": dataset.sha256,
        },
        "run_again": evidence.run_again,
        "cases": [
            {
                "case_id": case.case_id,
                "scenario": case.scenario,
                "scenario_version": read.scenarios[case.scenario].number,
                "scenario_digest": read.scenarios[case.scenario].digest,
                "severity": case.severity,
                "counts": case.counts,
                "trials": len(case.trials),
                "passed": case.passed_trials,
                "graded": case.graded_trials,
                # Whether enough trials pass for the policy: all of them, unless it says less.
                "reaches_rate": case.is_passed(rate),
                "baseline_passed": sum(
                    trial.baseline.passed for trial in case.trials if trial.baseline is not None
                ),
            }
            for case in evidence.cases
        ],
        # Over all that the rules were shown: whoever doubts it reads the rows again and compares.
        "evidence_sha256": evidence.sha256,
    }


def _version(version: AgentVersion) -> dict[str, Any]:
    return {
        "version": version.version,
        "digest": version.digest,
        "instructions_digest": version.instructions_digest,
    }


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a stored decision is what was decided; `problems` say what does not fit."""

    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.problems


def verification(decision: GateDecision) -> Verification:
    """Take the hash again and hold every column against what was hashed. No query beyond the row's own."""
    problems = []
    if sha256_of(decision.content) != decision.sha256:
        problems.append("its content does not give its SHA-256")
    content = read_content(decision)
    if content is None:
        return Verification((*problems, "its content cannot be read"))
    columns = {
        "schema_version": SCHEMA_VERSION,
        "comparison": decision.comparison_id,
        "revision": decision.revision,
        "outcome": decision.outcome,
        "headline": decision.headline,
        "subject": decision.subject,
        "decided_at": decision.decided_at.isoformat(),
    }
    problems += [
        f"its {name.replace('_', ' ')} is not the one that was hashed"
        for name, value in columns.items()
        if content.get(name) != value
    ]
    person = content.get("decided_by")
    if (person.get("id") if isinstance(person, Mapping) else None) != decision.decided_by_id:
        problems.append("it was decided by somebody else")
    policy = content.get("policy")
    named = policy if isinstance(policy, Mapping) else {}
    version = decision.policy_version
    if (named.get("name"), named.get("version"), named.get("digest")) != (
        decision.policy.name,
        version.number,
        version.digest,
    ) or version.policy_id != decision.policy_id:
        problems.append("its policy is not the one that was hashed")
    elif digest(named.get("document")) != version.digest:
        problems.append("the policy in it is not the one it names")
    if canonical_json(content) != decision.content:
        problems.append("its content is not canonical")
    return Verification(tuple(problems))


def read_content(decision: GateDecision) -> dict[str, Any] | None:
    """What was hashed; None where the text is no object any more."""
    try:
        content = json.loads(decision.content)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def fired_in(content: Mapping[str, Any]) -> tuple[Fired, ...]:
    """The rules that fired, worst first; empty where what is stored cannot be read any more."""
    try:
        found = tuple(Fired.from_json(one) for one in content["rules"])
    except (KeyError, TypeError, AttributeError):
        return ()
    return tuple(sorted(found, key=lambda one: one.outcome != "BLOCK"))


def is_stale(decision: GateDecision) -> bool:
    """Whether evidence of the comparison changed since: a review, or trials that were run again."""
    comparison = decision.comparison
    moments = (comparison.finished_at, comparison.evidence_changed_at)
    return any(moment is not None and moment > decision.decided_at for moment in moments)
