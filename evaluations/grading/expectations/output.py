"""Expectations about the text of the agent's answer. An answer without `output` is no answer to these."""

# ruff: noqa: RUF009 - the calls in the parameter classes make dataclass fields

from __future__ import annotations

from dataclasses import dataclass

from evaluations.grading.evidence import Evidence, folded
from evaluations.grading.expectations.comparing import holds, mismatch
from evaluations.grading.expectations.registry import expectation
from evaluations.grading.parameters import Comparison, comparators, json_schema, pattern, state_path, text
from evaluations.grading.results import Finding, failed, passed
from evaluations.grading.wording import listed, shown
from twins.engine.paths import Path
from twins.engine.patterns import Pattern
from twins.engine.schemas import Schema

_NO_ANSWER = "the agent gave no answer"


@dataclass(frozen=True, slots=True)
class OutputTextParams:
    value: str = text("The text to look for.")


@expectation("outputContains", label="OUTPUT_MISMATCH")
def output_contains(params: OutputTextParams, evidence: Evidence) -> Finding:
    """The answer contains the text. Both are compared in Unicode NFKC and case folded."""
    if evidence.output is None:
        return failed(_NO_ANSWER)
    value = shown(evidence.redact(params.value))
    if folded(params.value) in evidence.folded_output:
        return passed(f"the answer contains {value}")
    return failed(f"the answer does not contain {value}")


@expectation("outputNotContains", label="OUTPUT_MISMATCH")
def output_not_contains(params: OutputTextParams, evidence: Evidence) -> Finding:
    """The answer does not contain the text. Both are compared in Unicode NFKC and case folded.

    No answer contains nothing, so it passes.
    """
    if evidence.output is None:
        return passed(_NO_ANSWER)
    value = shown(evidence.redact(params.value))
    if folded(params.value) in evidence.folded_output:
        return failed(f"the answer contains {value}")
    return passed(f"the answer does not contain {value}")


@dataclass(frozen=True, slots=True)
class OutputRegexParams:
    pattern: Pattern = pattern("A regular expression in RE2 syntax.")


@expectation("outputRegex", label="OUTPUT_MISMATCH")
def output_regex(params: OutputRegexParams, evidence: Evidence) -> Finding:
    """The regular expression (RE2 syntax) is found somewhere in the answer, which is taken as it is."""
    if evidence.output is None:
        return failed(_NO_ANSWER)
    if params.pattern.search(evidence.output):
        return passed("the answer matches the pattern")
    return failed(f"the answer does not match {shown(evidence.redact(params.pattern.text))}")


@dataclass(frozen=True, slots=True)
class OutputJsonSchemaParams:
    schema: Schema = json_schema("A JSON Schema 2020-12.")


@expectation("outputJsonSchema", label=("OUTPUT_SCHEMA", "OUTPUT_NOT_JSON"))
def output_json_schema(params: OutputJsonSchemaParams, evidence: Evidence) -> Finding:
    """The answer is JSON and valid by `schema`.

    One fenced block is accepted, with text around it. Anything else is OUTPUT_NOT_JSON.
    """
    value = evidence.json_output
    if isinstance(value, ValueError):
        return _not_json(evidence)
    problems = params.schema.problems(value)
    if not problems:
        return passed("the answer is valid by the schema")
    if evidence.redact(value) != value:
        problems = params.schema.problems(evidence.redact(value)) or ["it holds a secret and is not shown"]
    return failed(f"the answer is not valid by the schema: {listed(problems, 3)}", label="OUTPUT_SCHEMA")


@dataclass(frozen=True, slots=True)
class OutputJsonPathParams:
    path: Path = state_path("A path in the answer.")
    comparators: Comparison = comparators("What must hold there.")


@expectation("outputJsonPath", label=("OUTPUT_MISMATCH", "OUTPUT_NOT_JSON"))
def output_json_path(params: OutputJsonPathParams, evidence: Evidence) -> Finding:
    """The answer is JSON and compares at `path`.

    One fenced block is accepted, with text around it. Anything else is OUTPUT_NOT_JSON.
    """
    value = evidence.json_output
    if isinstance(value, ValueError):
        return _not_json(evidence)
    actual = params.path.get(value)
    reason = mismatch(params.comparators, actual, evidence)
    if reason is None:
        return passed(f"in the answer {holds(params.path.text, actual)}")
    return failed(f"in the answer {params.path.text}: {reason}", label="OUTPUT_MISMATCH")


def _not_json(evidence: Evidence) -> Finding:
    reason = _NO_ANSWER if evidence.output is None else f"the answer is not JSON: {evidence.json_output}"
    return failed(reason, label="OUTPUT_NOT_JSON")
