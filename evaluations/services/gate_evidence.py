"""What the gate is shown of a comparison, read from its rows in a fixed number of queries.

Statuses are those that count now, pairs those that count (a trial that was run again counts once).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case as SqlCase
from django.db.models import F, Q, TextField, Value, When
from django.db.models.functions import Left

from evaluations.gate import CaseEvidence, CheckResult, Fact, GateEvidence, JudgeUse, SideOfTrial, Trial
from evaluations.gate.facts import facts_of
from evaluations.gate.tools import SEARCH, tools_of
from evaluations.judges.interface import JudgeIdentity
from evaluations.models import (
    Case,
    CaseState,
    Comparison,
    ExpectationResult,
    JudgeVerdict,
    PairedCase,
    RecordKind,
    ResultStatus,
    Side,
    ToolCall,
)
from evaluations.page_queries import case_path
from evaluations.services.agents import manifest_of
from evaluations.services.calibration import standings
from scenarios.models import DatasetCase, ScenarioVersion
from twins.services import key_arguments_of

_REASON_CHARACTERS = 400
_CHUNK = 2000


@dataclass(frozen=True, slots=True)
class _Call:
    """A record with what the facts are made of."""

    seq: int
    tool: str
    arguments: Any
    effect_key: str | None
    idempotency_key: str | None
    risk: str | None
    mutated: bool
    cross_tenant: str | None
    kind: str = "tool_call"


@dataclass(slots=True)
class _Scenario:
    """A scenario version with what its document says about it."""

    name: str
    number: int
    digest: str
    tags: tuple[str, ...]
    source: str
    covers: tuple[str, ...]
    case_id: str = ""
    owner: str = ""
    counts: bool = True


@dataclass(frozen=True, slots=True)
class ReadEvidence:
    """The evidence, and what a decision keeps of the versions it was read of."""

    evidence: GateEvidence
    scenarios: Mapping[str, _Scenario]


def read_evidence(comparison: Comparison) -> ReadEvidence:
    """The evidence of a comparison as it stands now: at most ten queries, whatever its size."""
    pairs: list[Any] = list(
        PairedCase.objects.counted()
        .filter(comparison=comparison)
        .order_by("position", "trial")
        .values_list(
            "pk", "scenario_version_id", "trial", "scenario_name", "severity", "classification", "reason",
            "first_divergence", "newly_failing", named=True,
        )
    )  # fmt: skip
    versions = _scenarios(comparison, {pair.scenario_version_id for pair in pairs})
    sides = _sides(comparison)
    trials: defaultdict[int, list[Trial]] = defaultdict(list)
    severities: dict[int, str] = {}
    nothing = SideOfTrial(None, reason="it has no case")
    for pair in pairs:
        severities[pair.scenario_version_id] = pair.severity
        before = sides.get((pair.pk, Side.BASELINE), nothing) if comparison.has_baseline else None
        trials[pair.scenario_version_id].append(
            Trial(
                number=pair.trial,
                candidate=sides.get((pair.pk, Side.CANDIDATE), nothing),
                baseline=before,
                klass=pair.classification,
                reason=pair.reason,
                first_divergence=pair.first_divergence,
                newly_failing=tuple(pair.newly_failing),
                link=case_path(comparison.pk, pair.scenario_name, pair.trial),
            )
        )
    cases = tuple(
        CaseEvidence(
            scenario=versions[pk].name,
            severity=severities[pk],
            trials=tuple(own),
            case_id=versions[pk].case_id,
            tags=versions[pk].tags,
            source=versions[pk].source,
            counts=versions[pk].counts,
        )
        for pk, own in trials.items()
    )
    evidence = GateEvidence(
        agent=comparison.agent.name,
        candidate=comparison.candidate.version,
        baseline=comparison.baseline_version,
        comparison=comparison.pk,
        state=comparison.state,
        reason=comparison.reason,
        dataset=None if comparison.dataset_version is None else str(comparison.dataset_version),
        purpose="" if comparison.dataset_version is None else comparison.dataset_version.purpose,
        cases=cases,
        absent=_absent(comparison, trials),
        run_again=PairedCase.objects.replaced().filter(comparison=comparison).count(),
        tools=tools_of(
            manifest_of(comparison.candidate),
            None if comparison.baseline is None else manifest_of(comparison.baseline),
            _shown_by(comparison, versions, cases),
        ),
        judges=_judges(comparison, versions),
        link=f"/comparisons/{comparison.pk}/",
    )
    return ReadEvidence(evidence, {versions[pk].name: versions[pk] for pk in trials})


def _scenarios(comparison: Comparison, ids: set[int]) -> dict[int, _Scenario]:
    """By id of the version; two queries."""
    frozen: dict[int, tuple[str, str]] = {}
    if comparison.dataset_version_id is not None:
        listed = DatasetCase.objects.filter(version=comparison.dataset_version_id)
        columns = listed.values_list("scenario_version_id", "case_id", "owner")
        frozen = {pk: (case_id, owner) for pk, case_id, owner in columns}
    found = {}
    versions = ScenarioVersion.objects.filter(pk__in=ids).select_related("scenario", "approval")
    rows = versions.defer("source_text")
    for version in rows:
        metadata, spec = version.document["metadata"], version.document["spec"]
        case_id, owner = frozen.get(version.pk, ("", metadata.get("owner", "")))
        source = metadata.get("source", "manual")
        found[version.pk] = _Scenario(
            name=version.scenario.name,
            number=version.number,
            digest=version.digest,
            tags=tuple(version.tags),
            source=source,
            covers=tuple(spec.get("covers", ())),
            case_id=case_id,
            owner=owner,
            counts=not version.is_waiting,
        )
    return found


def _absent(comparison: Comparison, held: Mapping[int, Any]) -> tuple[str, ...]:
    """The cases of the dataset that the comparison does not hold."""
    if comparison.dataset_version_id is None:
        return ()
    rows = DatasetCase.objects.filter(version=comparison.dataset_version_id).order_by("position")
    return tuple(
        case_id for case_id, pk in rows.values_list("case_id", "scenario_version_id") if pk not in held
    )


def _sides(comparison: Comparison) -> dict[tuple[int, str], SideOfTrial]:
    """Every side by (pair, side): four queries, and one for a twin not met before."""
    results, put_aside = _results(comparison)
    calls = _telling_calls(comparison)
    found = {}
    rows = Case.objects.counted_of(comparison.pk).values_list(
        "pk",
        "pair_id",
        "run__side",
        "state",
        "effective_verdict",
        "error_reason",
        "claimed_outcome",
        "metrics",
        "pair__twin_version_id",
        "pair__twin_version__digest",
    )
    for pk, pair_id, side, state, verdict, reason, claimed, metrics, *twin in rows.iterator(_CHUNK):
        ended = state == CaseState.FINISHED
        facts: tuple[Fact, ...] = ()
        if ended and side == Side.CANDIDATE:
            facts = facts_of(
                results.get(pk, ()),
                claimed,
                calls.get(pk, ()),
                key_arguments=key_arguments_of(*twin),
                put_aside=put_aside.get(pk, ()),
            )
        found[pair_id, side] = SideOfTrial(
            verdict=verdict if ended else None,
            results=tuple(results.get(pk, ())),
            facts=facts,
            latency_ms=metrics.get("latency_ms"),
            cost_usd=metrics.get("cost_usd"),
            reason=reason if ended else reason or f"its case is {state}",
        )
    return found


def _results(comparison: Comparison) -> tuple[dict[int, list[CheckResult]], dict[int, set[str]]]:
    """The results of each case, and the types of which a person turned a failure into a pass: one query."""
    # What passed needs no reason: most of a large comparison.
    told = SqlCase(
        When(effective_status=ResultStatus.PASS, then=Value("")),
        default=Left("reason", _REASON_CHARACTERS),
        output_field=TextField(),
    )
    rows = (
        ExpectationResult.objects.filter(case__in=Case.objects.counted_of(comparison.pk).values("pk"))
        .order_by("case_id", "position")
        .values_list(
            "case_id", "expectation_id", "type", "critical", "status", "effective_status", "label", told
        )
    )
    found: defaultdict[int, list[CheckResult]] = defaultdict(list)
    put_aside: defaultdict[int, set[str]] = defaultdict(set)
    for case_id, name, kind, critical, measured, status, label, reason in rows.iterator(_CHUNK):
        found[case_id].append(CheckResult(name, kind, critical, status, label, reason))
        if (measured, status) == (ResultStatus.FAIL, ResultStatus.PASS):
            put_aside[case_id].add(kind)
    return found, put_aside


def _telling_calls(comparison: Comparison) -> dict[int, list[_Call]]:
    """The candidate's irreversible effects and the answers with foreign records, by case: one query."""
    # Arguments tell effects apart only where no effect key does.
    arguments = SqlCase(
        When(effect_key__isnull=True, then=F("arguments")),
        default=None,
        output_field=ToolCall._meta.get_field("arguments"),
    )
    rows = (
        ToolCall.objects.filter(
            Q(mutated=True, risk="WRITE_IRREVERSIBLE") | Q(cross_tenant="allowed"),
            case__run__comparison=comparison,
            case__run__side=Side.CANDIDATE,
        )
        .order_by("case_id", "seq")
        .values_list(
            "case_id", "seq", "tool", arguments, "effect_key", "idempotency_key", "risk", "mutated",
            "cross_tenant",
        )
    )  # fmt: skip
    found: defaultdict[int, list[_Call]] = defaultdict(list)
    for case_id, *call in rows.iterator(_CHUNK):
        found[case_id].append(_Call(*call))
    return found


def _shown_by(
    comparison: Comparison, versions: Mapping[int, _Scenario], cases: Sequence[CaseEvidence]
) -> dict[str, set[str]]:
    """By tool (and SEARCH) the passing scenarios that use it or name it under covers: one query."""
    passing = {case.scenario for case in cases if case.counts and case.is_passed()}
    found: defaultdict[str, set[str]] = defaultdict(set)
    for scenario in versions.values():
        for covered in scenario.covers:
            kind, _, name = covered.partition(":")
            if kind == "tool" and scenario.name in passing:
                found[name].add(scenario.name)
    used = (
        ToolCall.objects.filter(
            case__run__comparison=comparison, case__run__side=Side.CANDIDATE, case__pair__replaced=False
        )
        .order_by()
        .values_list("case__pair__scenario_version_id", "kind", "tool")
        .distinct()
    )
    for pk, kind, tool in used:
        if pk in versions and versions[pk].name in passing:
            found[SEARCH if kind == RecordKind.RETRIEVAL else tool].add(versions[pk].name)
    return found


def _judges(comparison: Comparison, versions: Mapping[int, _Scenario]) -> tuple[JudgeUse, ...]:
    """Who judged the candidate's expectations by which rubric, and what that is worth: three queries.

    A verdict that a person has turned is the person's, and one that gave no score decided nothing.
    """
    rows = (
        JudgeVerdict.objects.filter(
            result__case__run__comparison=comparison,
            result__case__run__side=Side.CANDIDATE,
            result__case__pair__replaced=False,
            result__status=F("result__effective_status"),
            score__isnull=False,
        )
        .order_by()
        .values_list(
            "provider", "model", "prompt_version", "prompt_sha256", "criterion", "rubric_sha256",
            "result__case__pair__scenario_version_id",
        )
        .distinct()
    )  # fmt: skip
    used: defaultdict[tuple[JudgeIdentity, str, str], set[str]] = defaultdict(set)
    for provider, model, prompt, sha256, criterion, rubric, pk in rows:
        if pk in versions and versions[pk].counts:
            key = (JudgeIdentity(provider, model, prompt, sha256), criterion, rubric)
            used[key].add(versions[pk].name)
    found = standings(used)
    uses = [
        JudgeUse(
            judge=f"{identity.provider} {identity.model}".strip() + f" ({identity.label})",
            criterion=criterion,
            state=found[identity, criterion, rubric].state,
            sentence=found[identity, criterion, rubric].sentence,
            scenarios=tuple(sorted(names)),
        )
        for (identity, criterion, rubric), names in used.items()
    ]
    return tuple(sorted(uses, key=lambda use: (use.criterion, use.judge, use.scenarios)))
