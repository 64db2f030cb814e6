"""Whether a suite can tell a good agent from one that no team would ship: control agents run on its cases.

Nothing here is a comparison or a use: what is measured is the suite, on request, through the engine and the
grading alone, and kept case by case.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from agenttwin_site.events import governance
from evaluations.agents.base import AgentEnd
from evaluations.controls import CONTROLS, Control, Offer, Situation, play
from evaluations.errors import RequestError
from evaluations.models import SuiteCheck, SuiteCheckCase, Verdict
from evaluations.services.kits import Kit
from evaluations.services.outcomes import CaseOutcome, CaseRun, graded, unfinished_outcome
from evaluations.services.planning import usable_kits
from scenarios.documents.cases import case_seed
from scenarios.errors import ScenarioError
from scenarios.holdouts import sight_of
from scenarios.models import DatasetCase, DatasetVersion, ScenarioVersion
from scenarios.services.datasets import verified_cases
from twins.models import TwinVersion

CHECKED = "suite_checked"
_ROWS_PER_INSERT = 500
_FAILING_KEPT = 20
_REASON_CHARACTERS = 400
_PLACEHOLDER = re.compile(r"(?<!\{)\{(?:args\.)?([A-Za-z_]\w*)\}")
_NOT_ARGUMENTS = frozenset({"tenant", "idempotency_key", "now", "id", "value", "result", "state"})


@dataclass(frozen=True, slots=True)
class ControlHealth:
    """What a check says of one control agent."""

    control: Control
    passed: int
    caught: int
    undecided: int
    is_flagged: bool

    @property
    def total(self) -> int:
        return self.passed + self.caught + self.undecided


def check_suite(version: DatasetVersion, *, actor: Any = None) -> SuiteCheck:
    """Run every control agent on every case of a frozen dataset, once each, and keep what became of it.

    A control agent is flagged where no case catches it; what a program wrote and nobody approved is run and
    catches nobody. The twins are those a comparison would use now.

    Raises:
        RequestError: the dataset is not what it was frozen with, or a case no longer fits its twin.
    """
    cases, kits = _prepared(version, actor)
    offers = _offers(kits)
    rows: list[SuiteCheckCase] = []
    counts: dict[str, dict[str, int]] = {}
    versions = ScenarioVersion.objects.filter(pk__in=version.cases.values("scenario_version"))
    waiting = set(versions.waiting().values_list("pk", flat=True))
    for control in CONTROLS.values():
        verdicts: Counter[str] = Counter()
        for case, kit in zip(cases, kits, strict=True):
            outcome = _outcome(control, kit, offers[kit.twin_version_id])
            if kit.scenario_version_id not in waiting:
                verdicts[outcome.verdict] += 1
            rows.append(_row(control, case, kit, outcome))
        counts[control.name] = {
            "passed": verdicts[Verdict.PASSED],
            "failed": verdicts[Verdict.FAILED],
            "undecided": verdicts[Verdict.ERRORED],
        }
    flagged = [name for name, count in counts.items() if not count["failed"]]
    with transaction.atomic():
        check = SuiteCheck.objects.create(
            dataset_version=version, flagged=flagged, counts=counts, created_by=actor
        )
        for row in rows:
            row.check_run = check
        SuiteCheckCase.objects.bulk_create(rows, batch_size=_ROWS_PER_INSERT)
        governance.send(
            sender=DatasetVersion,
            action=CHECKED,
            actor=actor,
            subject=f"dataset {version.dataset.name}",
            before=None,
            after={"version": version.number, "flagged": flagged},
            note="",
        )
    return check


def latest_check(version: DatasetVersion) -> SuiteCheck | None:
    """The latest check of this version, None if there was none: one query."""
    checks = SuiteCheck.objects.filter(dataset_version=version).select_related("created_by")
    return checks.order_by("-pk").first()


def health_of(check: SuiteCheck) -> list[ControlHealth]:
    """The control agents of a check, in their order; those that this version of the product still has."""
    return [
        ControlHealth(
            CONTROLS[name], count["passed"], count["failed"], count["undecided"], name in check.flagged
        )
        for name, count in check.counts.items()
        if name in CONTROLS
    ]


def _prepared(version: DatasetVersion, actor: Any) -> tuple[list[DatasetCase], list[Kit]]:
    try:
        cases = verified_cases(version)
    except ScenarioError as problem:
        raise RequestError([problem.detail]) from None
    problems: list[str] = []
    kits = usable_kits([case.scenario_version for case in cases], problems)
    if problems and sight_of(actor).hides_cases_of(version):
        problems = [f"dataset '{version}' holds cases that no longer fit their twins"]
    if problems:
        raise RequestError(problems)
    return cases, kits


def _outcome(control: Control, kit: Kit, tools: Sequence[Offer]) -> CaseOutcome:
    scenario = kit.scenario
    seed = case_seed(scenario)
    spec = kit.spec_for(seed)
    try:
        played = play(control, spec, Situation(scenario.message, scenario.context, tuple(tools)))
    except Exception as broken:
        # Code of the twin's own that raised: nobody can say what the case is worth.
        return unfinished_outcome(kit, f"the twin broke: {type(broken).__name__}: {broken}")
    run = CaseRun(spec, played.state, played.records, AgentEnd(answer=control.answer))
    return graded(kit, seed, run)


def _row(control: Control, case: DatasetCase, kit: Kit, outcome: CaseOutcome) -> SuiteCheckCase:
    failing = [result for result in outcome.results if result.status == "FAIL"]
    reason = failing[0].reason if failing else outcome.error_reason
    if not failing and outcome.verdict == Verdict.ERRORED and not reason:
        reason = next((result.reason for result in outcome.results if result.status != "PASS"), "")
    return SuiteCheckCase(
        control=control.name,
        dataset_case=case,
        twin_version_id=kit.twin_version_id,
        verdict=outcome.verdict,
        failing=[result.id for result in failing[:_FAILING_KEPT]],
        reason=reason[:_REASON_CHARACTERS],
    )


def _offers(kits: Sequence[Kit]) -> dict[int, list[Offer]]:
    """The tools of each twin version that occurs: one query."""
    versions = TwinVersion.objects.in_bulk({kit.twin_version_id for kit in kits})
    by_version = {kit.twin_version_id: kit for kit in kits}
    return {
        pk: list(_offered(by_version[pk], version.document["spec"]["tools"]))
        for pk, version in versions.items()
    }


def _offered(kit: Kit, documents: Mapping[str, Any]) -> Iterator[Offer]:
    for name, tool in kit.definition.tools.items():
        key = None if tool.idempotency is None else tool.idempotency.argument
        yield Offer(name, tool.risk, tool.input_schema, _named(documents[name]), key)


def _named(tool: Any) -> tuple[str, ...]:
    """The arguments that the templates of a tool cannot do without, in the order in which they occur."""
    found = _PLACEHOLDER.findall(json.dumps(tool))
    return tuple(dict.fromkeys(name for name in found if name not in _NOT_ARGUMENTS))
