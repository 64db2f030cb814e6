"""Rehearsal of a twin and a scenario: no agent, nothing stored, no delay slept (FORMATS 6).

Pure: documents in, one plain object out. The command `manage.py rehearse` reads files and prints it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evaluations.grading import Answer, Evidence, case_verdict, compile_expectations, grade
from evaluations.grading.evidence import result_redactor
from scenarios.documents.calls import Calls, SearchRequest, load_calls
from scenarios.documents.cases import case_spec
from scenarios.documents.scenario import Scenario, load_scenario
from twins.documents.problems import DocumentError, Problem
from twins.documents.source import CALLS_BYTES, DOCUMENT_BYTES, Source, as_source
from twins.documents.twin import load_twin, planted_secrets
from twins.engine.case import CaseSpec, CaseState, begin, call_tool, search
from twins.engine.definition import Definition
from twins.engine.records import CUT
from twins.engine.redaction import Redactor
from twins.engine.values import copy_json

__all__ = ["DocumentError", "Prepared", "Problem", "prepare", "rehearse", "run"]

# What of a printed record may hold a planted secret. The rest are words of the formats, and a secret that
# happens to be one of them must not break the shape of the object.
_FREE_RECORD_FIELDS = ("tool", "arguments", "error_code", "response", "effect_key", "query")


@dataclass(frozen=True, slots=True)
class Prepared:
    """Valid documents, or the problems of each by what it is: `twin`, `scenario`, `calls`.

    `redact` hides the twin's planted secrets, also those of a twin that is refused.
    """

    problems: dict[str, tuple[Problem, ...]]
    redact: Redactor
    definition: Definition | None = None
    scenario: Scenario | None = None
    calls: Calls = field(default_factory=Calls)


def rehearse(
    twin: Any, scenario: Any = None, calls: Any = None, seed: int = 0, trial: int = 1
) -> dict[str, Any]:
    """Make the calls in order on a fresh case, then grade: exactly the object of FORMATS 6.

    The documents are parsed values (or `Source`s, which know their lines). `seed` is the run seed, `trial`
    counts from 1. The result shares nothing with the documents; planted secrets in it are redacted.

    Raises:
        DocumentError: a document is invalid; `problems` holds every problem of every document.
        Exception: whatever a custom adapter of the twin raised, because that is a bug of the twin.
    """
    prepared = prepare(
        _own(twin),
        None if scenario is None else _own(scenario),
        None if calls is None else _own(calls, limit=CALLS_BYTES),
    )
    problems = [problem for found in prepared.problems.values() for problem in found]
    if problems:
        raise DocumentError(problems)
    return run(prepared, seed=seed, trial=trial)


def prepare(twin: Source | None, scenario: Source | None = None, calls: Source | None = None) -> Prepared:
    """Read all documents, so that every problem of each is known at once. None repeats a planted secret.

    A scenario is held against the twin's tools only if there is a valid twin; `run` needs one.
    """
    problems: dict[str, tuple[Problem, ...]] = {}
    redact = result_redactor(() if twin is None else planted_secrets(twin.value))

    def loaded(what: str, load: Callable[[], Any]) -> Any:
        try:
            return load()
        except DocumentError as error:
            problems[what] = tuple(
                replace(one, path=redact(one.path), detail=redact(one.detail)) for one in error.problems
            )
            return None

    definition = None if twin is None else loaded("twin", lambda: load_twin(twin))
    read_scenario, read_calls = None, Calls()
    if scenario is not None:
        read_scenario = loaded("scenario", lambda: load_scenario(scenario, twin=definition, rehearsal=True))
    if calls is not None:
        read_calls = loaded("calls", lambda: load_calls(calls, with_scenario=scenario is not None))
    return Prepared(problems, redact, definition, read_scenario, read_calls or Calls())


def run(prepared: Prepared, *, seed: int = 0, trial: int = 1) -> dict[str, Any]:
    """The rehearsal of valid documents; see `rehearse`."""
    if prepared.definition is None:
        raise ValueError("there is no valid twin to rehearse")
    scenario, calls = prepared.scenario, prepared.calls
    spec = case_spec(
        prepared.definition,
        scenario,
        run_seed=seed,
        trial=trial,
        tenant=calls.tenant,
        caller_role=calls.caller_role,
    )
    final, replies, records = _made(spec, calls)
    results: list[dict[str, Any]] = []
    verdict = None
    if scenario is not None:
        evidence = Evidence(
            spec=spec,
            final=final,
            records=tuple(records),
            answer=None if calls.answer is None else Answer.from_json(calls.answer),
            customer_message=scenario.message,
        )
        graded = grade(compile_expectations(scenario.expectations), evidence)
        verdict = case_verdict(graded)
        results = [result.to_json() for result in graded]
    redact = prepared.redact
    shown = {
        "seed": spec.seed,
        "replies": [_shown_reply(reply.to_json(), redact) for reply in replies],
        "records": [_shown_record(record.to_json(), redact) for record in records],
        "final_state": redact(final.root),
        "results": [{**result, "id": redact(result["id"])} for result in results],
        "verdict": verdict,
    }
    copy: dict[str, Any] = copy_json(shown)
    return copy


def _own(document: Any, limit: int = DOCUMENT_BYTES) -> Source:
    """A Source whose value is a copy: compiled twins are cached by content, so nobody else may change it."""
    if isinstance(document, Source):
        return document
    source = as_source(document, limit=limit)
    return replace(source, value=copy_json(source.value)) if source.readable else source


def _made(spec: CaseSpec, calls: Calls) -> tuple[CaseState, list[Any], list[Any]]:
    state = begin(spec)
    replies: list[Any] = []
    records: list[Any] = []
    for request in calls.calls:
        if isinstance(request, SearchRequest):
            step = search(spec, state, request.query, request.limit)
        else:
            step = call_tool(spec, state, request.tool, request.arguments, request.headers)
        state = step.state
        replies.append(step.reply)
        records.extend(step.records)
    return state, replies, records


def _shown_reply(reply: Mapping[str, Any], redact: Redactor) -> dict[str, Any]:
    if "documents" in reply:
        return {"documents": [_values(document, redact) for document in reply["documents"]]}
    body = reply["body"]
    hidden = redact.cut(body) if reply["transport"] in CUT else redact(body)
    return {**reply, "headers": _values(reply["headers"], redact), "body": hidden}


def _shown_record(record: Mapping[str, Any], redact: Redactor) -> dict[str, Any]:
    shown = {**record, **{name: redact(record[name]) for name in _FREE_RECORD_FIELDS if name in record}}
    if record.get("status") in CUT:
        shown["response"] = redact.cut(record["response"])
    if "changes" in record:
        shown["changes"] = [_values(change, redact) for change in record["changes"]]
    if "documents" in record:
        shown["documents"] = [{**one, "id": redact(one["id"])} for one in record["documents"]]
    return shown


def _values(fields: Mapping[str, Any], redact: Redactor) -> dict[str, Any]:
    """Redact the values and keep the names, which are words of the formats."""
    return {name: redact(value) if name != "op" else value for name, value in fields.items()}
