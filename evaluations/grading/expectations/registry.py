"""The registry of expectation types, and grading with it.

A type is one function `check(params, evidence) -> Finding` with a frozen dataclass of parameters. Its
docstring is the catalogue entry a scenario author reads. Everything else (validation, schema, documentation,
tests over all types) follows from this registry.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evaluations.grading.evidence import Evidence
from evaluations.grading.parameters import read_parameters
from evaluations.grading.results import FAIL, Finding, Result, not_evaluated
from evaluations.grading.wording import clean, cut, storable

MAX_REASON = 600
MAX_CALLS = 100
MAX_PATHS = 20
MAX_PATH = 200

Check = Callable[[Any, Evidence], Finding]
Redact = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class ExpectationType:
    """One row of the catalogue (FORMATS 3.1). `labels` are those a FAIL may carry, the usual one first."""

    name: str
    parameters: type
    check: Check
    labels: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class CompiledExpectation:
    """One expectation of a scenario, ready to be checked any number of times."""

    id: str
    type: ExpectationType
    critical: bool
    params: Any
    hidden: tuple[str, ...] = ()


EXPECTATION_TYPES: dict[str, ExpectationType] = {}


def expectation(name: str, *, label: str | tuple[str, ...] = ()) -> Callable[[Check], Check]:
    """Register the decorated check under the name a document gives as `type`.

    Raises:
        ValueError: the name is taken, or the check has no docstring.
    """

    def register(check: Check) -> Check:
        if name in EXPECTATION_TYPES:
            raise ValueError(f"expectation type {name} is registered twice")
        description = inspect.getdoc(check)
        if not description:
            raise ValueError(f"expectation type {name} needs a docstring: it is its catalogue entry")
        parameters = typing.get_type_hints(check)["params"]
        labels = (label,) if isinstance(label, str) else label
        EXPECTATION_TYPES[name] = ExpectationType(name, parameters, check, labels, description)
        return check

    return register


def expectation_type(name: str) -> ExpectationType:
    """The registered type.

    Raises:
        ValueError: an unknown name; the message lists the known ones.
    """
    known = EXPECTATION_TYPES.get(name)
    if known is None:
        raise ValueError(f"unknown expectation type {name!r}, known: {', '.join(sorted(EXPECTATION_TYPES))}")
    return known


def compile_expectations(expectations: Iterable[Any]) -> tuple[CompiledExpectation, ...]:
    """Read the expectations of a valid scenario once: paths, patterns and schemas are parsed here.

    Each has `id`, `type`, `critical` and `params` (`scenarios.documents.Expectation`). Keep what this returns
    per scenario version; it is immutable.
    """
    compiled = []
    for item in expectations:
        kind = expectation_type(item.type)
        params = read_parameters(kind.parameters, item.params)
        hidden = tuple(getattr(params, "secrets", ()))
        compiled.append(CompiledExpectation(item.id, kind, item.critical, params, hidden))
    return tuple(compiled)


def grade(compiled: Iterable[CompiledExpectation], evidence: Evidence) -> tuple[Result, ...]:
    """The result of every expectation, in order. Nothing a check does can end grading.

    An exception inside a check is an ERROR of that check alone. Planted secrets, and the further ones that an
    expectation names, are redacted in every result.
    """
    compiled = tuple(compiled)
    hidden = tuple(text for item in compiled for text in item.hidden)
    if hidden:
        evidence = replace(evidence, hidden=(*evidence.hidden, *hidden))
    return tuple([_graded(item, evidence) for item in compiled])


def _graded(item: CompiledExpectation, evidence: Evidence) -> Result:
    kind = item.type
    try:
        finding = kind.check(item.params, evidence)
    except Exception as problem:  # a bug in a check is an ERROR of that check, whatever it is
        finding = not_evaluated(f"{kind.name} could not be evaluated: {type(problem).__name__}: {problem}")
    return result_of(item, finding, evidence.redact)


def result_of(item: CompiledExpectation, finding: Finding, redact: Redact) -> Result:
    """What is kept of a finding on an expectation, without the secrets that `redact` hides."""
    kind = item.type
    label = None
    if finding.status == FAIL:
        label = finding.label or (kind.labels[0] if kind.labels else None)
    return Result(
        id=item.id,
        type=kind.name,
        critical=item.critical,
        status=finding.status,
        label=label,
        reason=cut(clean(redact(finding.reason)), MAX_REASON),
        evidence=_bounded(finding, redact),
    )


def _bounded(finding: Finding, redact: Redact) -> dict[str, Any]:
    evidence: dict[str, Any] = {
        "calls": list(finding.calls[:MAX_CALLS]),
        "paths": [cut(storable(redact(path)), MAX_PATH) for path in finding.paths[:MAX_PATHS]],
    }
    if finding.more:
        evidence.update(_shortened(redact(dict(finding.more))))
    return evidence


def _shortened(more: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _short(value) for name, value in more.items()}


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(item) for item in value]
    return cut(storable(value), MAX_PATH) if isinstance(value, str) else value
