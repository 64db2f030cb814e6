"""Criteria and their examples: saving a rubric, taking examples in from files, requests and real cases.

Permission is ``evaluations.add_criterion`` and ``evaluations.add_example``: pages and API ask for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet

from agenttwin_site.events import governance
from evaluations.errors import RequestError
from evaluations.holdouts import seen
from evaluations.judges.interface import DEFAULT_CRITERION
from evaluations.judges.material import case_material
from evaluations.judges.rendering import rubric_digest
from evaluations.labelling import ExampleDraft, criterion_problem, read_examples, rubric_problem
from evaluations.models import Criterion, CriterionVersion, Example, ExpectationResult
from scenarios.holdouts import common_sight
from scenarios.page_queries import hidden_secrets
from scenarios.services import scenario_of
from twins.documents.problems import DocumentError, Problem
from twins.engine.redaction import redactor
from twins.engine.values import digest
from twins.services import planted_secrets
from twins.versioning import lock_parent

SEMANTIC = "semantic"


@dataclass(frozen=True, slots=True)
class ImportedExamples:
    """What became of a file: examples made, and those that were there already."""

    version: CriterionVersion
    created: int
    known: int
    is_new_version: bool = False


@transaction.atomic
def save_criterion(*, name: str, rubric: str, actor: Any = None) -> tuple[CriterionVersion, bool]:
    """The version of a criterion that holds this rubric, current from now on, and whether anything changed.

    A rubric that an older version holds makes that version current again: its examples and labels are about
    exactly these words.

    Raises:
        RequestError: every problem of name and rubric; nothing was written.
    """
    named = (("name", criterion_problem(name)), ("rubric", rubric_problem(rubric)))
    if problems := [f"{field}: {problem}" for field, problem in named if problem]:
        raise RequestError(problems)
    criterion = lock_parent(Criterion, name)
    version, _ = _version_with(criterion, rubric, actor)
    if criterion.current_version == version:
        return version, False
    _make_current(criterion, version, actor)
    return version, True


@transaction.atomic
def import_examples(
    *,
    text: str | bytes,
    kind: str = "yaml",
    criterion: str | None = None,
    actor: Any = None,
    source: str = "",
) -> ImportedExamples:
    """Take in the examples of a document or of lines; all of them, or none.

    `criterion`: the one they are for, where the text does not say; with another one in the text it is
    refused. A rubric in the text is saved first, without one the current version is taken. `source` is kept
    with those that name none.

    Raises:
        DocumentError: every problem of the text, with lines.
    """
    document = read_examples(text, kind=kind)
    problems = []
    name = document.criterion or criterion
    if name is None:
        problems.append(Problem.at(("criterion",), "is required: nothing else says it"))
    elif criterion is not None and name != criterion:
        problems.append(Problem.at(("criterion",), f"must be {criterion}, got {name}"))
    version, is_new = None, False
    if name is not None and not problems:
        if problem := criterion_problem(name):
            problems.append(Problem.at(("criterion",), problem))
        elif document.rubric is not None:
            version, is_new = save_criterion(name=name, rubric=document.rubric, actor=actor)
        else:
            version = current_version(name)
            if version is None:
                detail = f"there is no criterion {name} yet: a document with its rubric makes it"
                problems.append(Problem.at(("criterion",), detail))
    if problems or version is None:
        raise DocumentError(problems)
    created = add_examples(version, document.examples, actor=actor, source=source)
    return ImportedExamples(version, created, len(document.examples) - created, is_new)


@transaction.atomic
def add_examples(
    version: CriterionVersion,
    drafts: Iterable[ExampleDraft],
    *,
    actor: Any = None,
    source: str = "",
    result: ExpectationResult | None = None,
) -> int:
    """Store what is not there yet; how many that was. The same material is one example, whoever brings it."""
    lock_parent(Criterion, version.criterion.name)
    rows: dict[str, Example] = {}
    for draft in drafts:
        material = draft.material.to_json()
        row = Example(
            criterion_version=version,
            digest=digest(material),
            material=material,  # type: ignore[misc]
            source=draft.source or source,
            result=result,
            created_by=actor,
        )
        rows.setdefault(row.digest, row)
    known = set(version.examples.filter(digest__in=rows).values_list("digest", flat=True))
    new = [row for name, row in rows.items() if name not in known]
    Example.objects.bulk_create(new)
    if new:
        governance.send(
            sender=Criterion,
            action="examples_added",
            actor=actor,
            subject=f"criterion {version.criterion.name}",
            after={**_reference(version), "examples": len(new)},
            note=source,
        )
    return len(new)


def results_to_take() -> QuerySet[ExpectationResult]:
    """Results with what `example_from_result` reads of their case loaded.

    None of a holdout, whoever asks: what becomes an example is read by everybody who looks at the criterion.
    """
    results = seen(ExpectationResult.objects.all(), common_sight(), pair="case__pair")
    return results.select_related("case__pair__scenario_version", "case__pair__twin_version", "case__run")


@transaction.atomic
def example_from_result(*, result: ExpectationResult, actor: Any = None) -> tuple[Example, bool]:
    """Take what a judge was to read of a real case as an example; the example, and whether it is new.

    Criterion and rubric are those of the expectation. A rubric that is not there yet becomes a version, and
    the current one only where there was none: what a case was judged by need not be what is in force.

    Raises:
        RequestError: there is nothing to read, or nothing to file it under.
    """
    case = result.case
    if result.type != SEMANTIC:
        raise RequestError([f"{result.expectation_id} is graded by a rule, not by a judge: no one reads it"])
    output = (case.answer or {}).get("output")
    if not output:
        raise RequestError(["the agent gave no answer in this case: there is nothing to read"])
    scenario_version = case.pair.scenario_version
    scenario = scenario_of(scenario_version)
    planted = planted_secrets(case.pair.twin_version.document)
    hide = redactor([*hidden_secrets(scenario_version), *planted])
    written = next(one for one in scenario.expectations if one.id == result.expectation_id)
    name, rubric = written.category or DEFAULT_CRITERION, written.params["rubric"]
    problems = [criterion_problem(name), rubric_problem(rubric)]
    if hide(rubric) != rubric:
        problems.append("holds a planted secret, which is kept nowhere else")
    if told := [problem for problem in problems if problem]:
        raise RequestError([f"the rubric of {result.expectation_id}: {problem}" for problem in told])
    material = case_material(
        answer=output,
        customer_message=hide(scenario.message),
        records=[row.to_record() for row in case.tool_calls.order_by("seq")],
    )
    criterion = lock_parent(Criterion, name)
    version, _ = _version_with(criterion, rubric, actor)
    if criterion.current_version is None:
        _make_current(criterion, version, actor)
    source = f"case of {case.pair.scenario_name}, {case.run.side.lower()}"
    made = add_examples(version, [ExampleDraft(material, source)], actor=actor, result=result)
    return version.examples.get(digest=digest(material.to_json())), bool(made)


@transaction.atomic
def carry_over(version: CriterionVersion, *, actor: Any = None) -> int:
    """Take the examples of all other versions into this one, without labels; how many were new to it.

    A label says whether an answer meets one rubric; under other words people have to look again.
    """
    others = Example.objects.filter(criterion_version__criterion=version.criterion).exclude(
        criterion_version=version
    )
    lock_parent(Criterion, version.criterion.name)
    known = set(version.examples.values_list("digest", flat=True))
    rows: dict[str, Example] = {}
    for one in others.order_by("pk"):
        if one.digest not in known:
            rows.setdefault(
                one.digest,
                Example(
                    criterion_version=version,
                    digest=one.digest,
                    material=one.material,
                    source=one.source,
                    result_id=one.result_id,
                    created_by=actor,
                ),
            )
    Example.objects.bulk_create(rows.values())
    if rows:
        governance.send(
            sender=Criterion,
            action="examples_added",
            actor=actor,
            subject=f"criterion {version.criterion.name}",
            after={**_reference(version), "examples": len(rows)},
            note="from the other versions",
        )
    return len(rows)


def _version_with(criterion: Criterion, rubric: str, actor: Any) -> tuple[CriterionVersion, bool]:
    """The version with exactly these words, made if there is none. The criterion is locked."""
    sha256 = rubric_digest(rubric)
    version = criterion.versions.filter(rubric_sha256=sha256).first()
    if version is not None:
        return version, False
    last = criterion.versions.aggregate(last=Max("number"))["last"] or 0
    made = CriterionVersion.objects.create(
        criterion=criterion, number=last + 1, rubric=rubric, rubric_sha256=sha256, created_by=actor
    )
    return made, True


def _make_current(criterion: Criterion, version: CriterionVersion, actor: Any) -> None:
    before = criterion.current_version
    criterion.current_version = version
    criterion.save(update_fields=["current_version"])
    governance.send(
        sender=Criterion,
        action="criterion_version_set",
        actor=actor,
        subject=f"criterion {criterion.name}",
        before=before and _reference(before),
        after=_reference(version),
        note="",
    )


def current_version(name: str) -> CriterionVersion | None:
    """The current version of a criterion, with the criterion loaded."""
    return (
        CriterionVersion.objects.select_related("criterion")
        .filter(criterion__name=name, criterion__current_version__isnull=False)
        .filter(pk__in=Criterion.objects.filter(name=name).values("current_version"))
        .first()
    )


def _reference(version: CriterionVersion) -> dict[str, Any]:
    return {"version": version.number, "rubric_sha256": version.rubric_sha256}
