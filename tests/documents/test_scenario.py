"""What a scenario's document may say (FORMATS 3), alone, in a rehearsal and against its twin."""

from __future__ import annotations

from typing import Any

import pytest

from scenarios.documents.scenario import SCENARIO_SCHEMA, load_scenario, validate_scenario
from tests.documents.samples import expecting, faulting, only, said, scenario, twin, with_metadata, without
from twins.documents.problems import DocumentError
from twins.documents.source import read_source
from twins.documents.twin import load_twin
from twins.engine.faults import FAULTS

EXAMPLES: dict[str, dict[str, Any]] = {
    "state": {"path": "a.b", "equals": None, "matches": "^a{2}$"},
    "stateUnchanged": {"path": "$"},
    "onlyChanged": {"paths": []},
    "stateCount": {"path": "a", "where": 5, "gte": 1},
    "goalState": {"actions": [{"tool": "refund"}], "ignore": ["x"]},
    "finalOutcome": {"equals": "REFUSED"},
    "outcomeVerified": {},
    "toolCalled": {"tool": "refund", "min": 2},
    "toolNotCalled": {"tool": "drop_database"},
    "maxToolCalls": {"value": 0},
    "toolArgs": {"tool": "refund", "path": "$", "call": 1, "ifCalled": True},
    "toolStatus": {"tool": "refund", "status": 0},
    "order": {"mustCall": ["get_order"], "before": ["refund"]},
    "maxRetries": {"tool": "refund", "value": 1},
    "maxSteps": {"value": 3},
    "maxLatencyMs": {"value": 1.5},
    "maxCostUsd": {"value": 0},
    "requiredEscalation": {},
    "noPolicyViolation": {"value": 1},
    "noIrreversibleAction": {},
    "approvalRequired": {"tool": "refund"},
    "noDuplicateSideEffect": {"tool": "refund"},
    "noFreshWriteIdentity": {},
    "repeatSafe": {},
    "proposal": {"path": "amount", "lte": 5},
    "outputContains": {"value": ""},
    "outputNotContains": {"value": "sorry"},
    "outputRegex": {"pattern": "(?i)paid"},
    "outputJsonSchema": {"schema": {"type": "object"}},
    "outputJsonPath": {"path": "a[0]", "exists": True},
    "noSecretDisclosure": {"secrets": ["abcd"]},
    "noCrossTenantAccess": {"attempts": "fail"},
    "semantic": {"rubric": "Is it kind?", "threshold": 1, "judge": "fake"},
}


@pytest.mark.parametrize("kind", EXAMPLES)
def test_every_type_of_expectation_can_be_written(kind: str) -> None:
    shared = {"id": "x", "critical": True, "description": "d", "category": "c"}
    document = expecting(**{"type": kind, **shared, **EXAMPLES[kind]})
    assert said(validate_scenario(document, twin=load_twin(twin()))) == ""
    (loaded,) = load_scenario(document).expectations
    assert (loaded.type, loaded.id, loaded.critical, loaded.category) == (kind, "x", True, "c")
    assert loaded.params == EXAMPLES[kind]


def test_the_examples_cover_every_type() -> None:
    types = SCENARIO_SCHEMA.schema["$defs"]["expectation"]["properties"]["type"]["enum"]
    assert set(types) == set(EXAMPLES)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_can_be_written(fault: str) -> None:
    document = faulting(
        behavior={"type": fault, "body": {"x": "{result}"}, "delayMs": 99999, "message": "{id}"}
    )
    assert said(validate_scenario(document)) == ""
    assert load_scenario(document).faults[0].type == fault


@pytest.mark.parametrize(
    "document",
    [
        scenario(),
        without(scenario(), "spec", "agent"),
        without(scenario(), "spec", "twin"),
        with_metadata(
            scenario(),
            name="a" * 99, severity="low", tags=["x"], owner="o", description="d", source="imported",
            sourceTraceId="t", generated=True,
        ),
        scenario(input={"message": "x" * 20_000, "context": {"now": "2026-03-05", "free": [1]}}),
        scenario(input={"message": "x", "context": {"tenant": None}}),
        scenario(input={"message": "", "documents": [{"id": "d", "content": "c", "trusted": True}]}),
        scenario(state={"orders": None}, allowedTools=[]),
        scenario(covers=["tool:refund", "fault:delay", "policy:x", "threat:y"]),
        scenario(seed=0, timeoutSeconds=0.5, trials=8, simulationMode="replay", faults=[]),
        faulting(target="*", when={}),
        faulting(when={"callNumber": 1, "callNumbers": [1, 2], "firstN": 1, "everyCall": False}),
        faulting(when={"argsMatch": {"a": {"b": 1}}, "probability": 0.5}),
        faulting(behavior={"type": "semantic_bad_response", "body": None}),
    ],
)  # fmt: skip
def test_a_valid_scenario_has_no_problem_and_loads(document: Any) -> None:
    assert said(validate_scenario(document, twin=load_twin(twin()))) == ""
    assert load_scenario(document, twin=load_twin(twin())).name == document["metadata"]["name"]


PROBLEMS: list[tuple[Any, str]] = [
    (without(scenario(), "metadata", "name"), "metadata.name: is required"),
    (with_metadata(scenario(), name="a" * 100), "metadata.name: found"),
    (
        with_metadata(scenario(), severity="urgent"),
        'metadata.severity: found "urgent", allowed critical, high, medium',
    ),
    (with_metadata(scenario(), source="x"), "metadata.source: found"),
    (with_metadata(scenario(), labels={}), "metadata.labels: is not a known field here"),
    (without(scenario(), "spec", "input"), "spec.input.message: is required"),
    (without(scenario(), "spec", "input", "message"), "spec.input.message: is required"),
    (without(scenario(), "spec", "expectations"), "spec.expectations: is required"),
    (without(scenario(), "metadata"), "metadata.name: is required"),
    (scenario(expectations=[]), "spec.expectations: must have at least 1 entry, found 0"),
    (
        scenario(expectations=[{"type": "maxSteps", "value": 1}] * 101),
        "spec.expectations: must have at most 100 entries, found 101",
    ),
    (
        scenario(faults=[{"target": "*", "behavior": {"type": "delay"}}] * 51),
        "spec.faults: must have at most 50 entries, found 51",
    ),
    (
        scenario(input={"message": "x" * 20_001}),
        "spec.input.message: must have at most 20,000 characters, found 20,001",
    ),
    (scenario(input={"message": "x", "docs": []}), "spec.input.docs: is not a known field here"),
    (
        scenario(input={"message": "x", "context": {"tenant": 5}}),
        "spec.input.context.tenant: must be text or null",
    ),
    (
        scenario(input={"message": "x", "documents": [{"id": "a"}]}),
        "spec.input.documents[0].content: is required",
    ),
    (scenario(state=[]), "spec.state: must be an object, found a list"),
    (
        scenario(covers=["refund"]),
        'spec.covers[0]: found "refund", allowed tool:NAME, fault:TYPE, policy:NAME',
    ),
    (scenario(covers=["fault:rate_limits"]), "did you mean rate_limit?"),
    (scenario(seed="1"), "spec.seed: must be a whole number"),
    (scenario(seed=-1), "spec.seed: must be at least 0, found -1"),
    (scenario(trials=0), "spec.trials: must be at least 1, found 0"),
    (scenario(timeoutSeconds=0), "spec.timeoutSeconds: must be more than 0, found 0"),
    (scenario(expectation=[]), "spec.expectation: is not a known field here"),
    (
        faulting(behavior={"type": "http_501"}),
        'spec.faults[0].behavior.type: found "http_501", allowed timeout_before',
    ),
    (faulting(behavior={"type": "http_501"}), "did you mean http_50"),
    (faulting(behavior={}), "spec.faults[0].behavior.type: is required"),
    (
        faulting(behavior={"type": "semantic_bad_response"}),
        "spec.faults[0].behavior.body: type semantic_bad_response needs a body",
    ),
    (faulting(behavior={"type": "http_500", "body": {"a": "{"}}), "spec.faults[0].behavior.body.a: '{'"),
    (
        faulting(behavior={"type": "http_500", "delayMs": -1}),
        "behavior.delayMs: must be at least 0, found -1",
    ),
    (faulting(when={"probability": 1.5}), "spec.faults[0].when.probability: must be at most 1, found 1.5"),
    (faulting(when={"callNumber": 0}), "spec.faults[0].when.callNumber: must be at least 1, found 0"),
    (
        faulting(when={"callNumber": True}),
        "spec.faults[0].when.callNumber: must be a whole number, found true",
    ),
    (faulting(when={"argsMatch": [1]}), "spec.faults[0].when.argsMatch: must be an object"),
    (faulting(when={"everyNth": 1}), "spec.faults[0].when.everyNth: is not a known field here"),
    (expecting(id="x"), "spec.expectations[0].type: is required"),
    (expecting(type="toolcalled", tool="refund"), "did you mean toolCalled?"),
    (expecting(type="toolCalled"), "spec.expectations[0].tool: is required"),
    (
        expecting(type="toolCalled", tool="refund", value=1),
        "spec.expectations[0].value: is not a known field here",
    ),
    (expecting(type="toolCalled", tool="refund", critical="yes"), "critical: must be true or false"),
    (expecting(type="state", path="a[x]"), "spec.expectations[0].path: 'a[x]'"),
    (expecting(type="state", path="a" * 501), "a path has at most 500 characters, this one 501"),
    (expecting(type="state", path=".".join("a" * 65)), "a path has at most 64 segments, this one 65"),
    (expecting(type="state", path="a", equal=1), "spec.expectations[0].equal: is not a known field here"),
    (
        expecting(type="state", path="a", matches="(?<!x)y"),
        "spec.expectations[0].matches: '(?<!x)y' is not an RE2",
    ),
    (expecting(type="state", path="a", exists="no"), "spec.expectations[0].exists: must be true or false"),
    (
        expecting(type="stateCount", path="a"),
        "spec.expectations[0]: stateCount needs at least one comparator",
    ),
    (expecting(type="stateCount", path="a", where={}), "stateCount needs at least one comparator"),
    (expecting(type="outcomeVerified", equals=1), "spec.expectations[0].path: is required to compare"),
    (expecting(type="onlyChanged", paths="a"), 'spec.expectations[0].paths: must be a list, found "a"'),
    (expecting(type="onlyChanged", paths=["a", "b."]), "spec.expectations[0].paths[1]: 'b.'"),
    (expecting(type="order", mustCall="get_order", before=["refund"]), "mustCall: must be a list"),
    (expecting(type="order", mustCall=["get_order"], before="refund"), "before: must be a list"),
    (expecting(type="order", mustCall=["get_order"]), "spec.expectations[0].before: is required"),
    (expecting(type="finalOutcome", equals="DONE"), 'equals: found "DONE", allowed SUCCESS, PARTIAL'),
    (
        expecting(type="outputRegex", pattern="paid(?= in full)"),
        "spec.expectations[0].pattern: 'paid(?= in full)'",
    ),
    (
        expecting(type="outputJsonSchema", schema={"type": 5}),
        "spec.expectations[0].schema.type: is not JSON Schema",
    ),
    (expecting(type="outputJsonSchema", schema={"pattern": "\\1"}), "is not an RE2 pattern"),
    (
        expecting(type="noSecretDisclosure", secrets=["abc"]),
        "secrets[0]: must have at least 4 characters, found 3",
    ),
    (expecting(type="noCrossTenantAccess", attempts="deny"), 'attempts: found "deny", allowed allow, fail'),
    (expecting(type="semantic", rubric="x", threshold=2), "threshold: must be at most 1, found 2"),
    (
        expecting(type="goalState", actions=[{"arguments": {}}]),
        "spec.expectations[0].actions[0].tool: is required",
    ),
    (expecting(type="maxSteps", value=-1), "spec.expectations[0].value: must be at least 0, found -1"),
    (expecting(type="maxSteps", value=1, id=""), "spec.expectations[0].id: must not be empty"),
]


@pytest.mark.parametrize(("document", "problem"), PROBLEMS, ids=range(len(PROBLEMS)))
def test_a_wrong_scenario_is_refused_with_place_and_reason(document: Any, problem: str) -> None:
    assert problem in only(validate_scenario(document))
    with pytest.raises(DocumentError) as refused:
        load_scenario(document)
    assert problem in str(refused.value.problems[0])


@pytest.mark.parametrize(
    ("ids", "place"),
    [(["a", "a"], "[1].id"), ([None, "e1"], "[1].id"), (["e2", None], "[1]"), (["e3", "e3", None], "[1].id")],
)
def test_two_expectations_with_one_id_are_a_problem(ids: list[str | None], place: str) -> None:
    check = {"type": "maxSteps", "value": 1}
    written = [check if name is None else {**check, "id": name} for name in ids]
    problems = validate_scenario(scenario(expectations=written))
    assert problems[0].path == f"spec.expectations{place}"
    assert "is taken by spec.expectations[0]" in problems[0].detail


def test_ids_are_given_by_position() -> None:
    check = {"type": "maxSteps", "value": 1}
    loaded = load_scenario(scenario(expectations=[check, {**check, "id": "mine"}, check]))
    assert [one.id for one in loaded.expectations] == ["e1", "mine", "e3"]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (scenario(twin="other"), 'spec.twin: found "other", the given twin is shop'),
        (
            faulting(target="refunds"),
            'spec.faults[0].target: the twin has no tool "refunds"; it has get_order, refund',
        ),
        (faulting(target="nowhere"), 'spec.faults[0].target: the twin has no tool "nowhere"'),
        (scenario(allowedTools=["refund", "pay"]), 'spec.allowedTools[1]: the twin has no tool "pay"'),
        (scenario(covers=["tool:pay"]), 'spec.covers[0]: the twin has no tool "pay"'),
        (expecting(type="toolCalled", tool="pay"), 'spec.expectations[0].tool: the twin has no tool "pay"'),
        (
            expecting(type="order", mustCall=["pay"], before=["refund"]),
            "spec.expectations[0].mustCall[0]: the twin",
        ),
        (
            expecting(type="goalState", actions=[{"tool": "pay"}]),
            "spec.expectations[0].actions[0].tool: the twin",
        ),
        (expecting(type="toolNotCalled", tool="refunds"), "did you mean refund?"),
        (expecting(type="order", mustCall=["refund"], before=["get_orders"]), "did you mean get_order?"),
    ],
)
def test_a_scenario_names_its_twin_and_only_tools_that_exist(document: Any, problem: str) -> None:
    assert validate_scenario(document) == []
    assert problem in only(validate_scenario(document, twin=load_twin(twin())))


@pytest.mark.parametrize("kind", ["maxToolCalls", "maxRetries"])
def test_a_check_that_passes_where_a_tool_is_not_called_names_one_that_exists(kind: str) -> None:
    document = expecting(type=kind, **{**EXAMPLES[kind], "tool": "drop_database"})
    assert "has no tool" in only(validate_scenario(document, twin=load_twin(twin())))


@pytest.mark.parametrize("kind", ["toolNotCalled", "toolStatus"])
def test_a_check_that_forbids_calls_may_name_a_tool_an_agent_could_make_up(kind: str) -> None:
    document = expecting(type=kind, **{**EXAMPLES[kind], "tool": "drop_database"})
    assert validate_scenario(document, twin=load_twin(twin())) == []


def test_the_state_is_measured_after_the_patch() -> None:
    shop = load_twin(twin(initialState={"old": "x" * 600_000}))
    assert validate_scenario(scenario(state={"old": "y" * 600_000}), twin=shop) == []
    problem = only(validate_scenario(scenario(state={"new": "y" * 600_000}), twin=shop))
    assert problem.startswith("spec.state: the twin's initial state with this patch is larger than 1 MiB")


def test_a_rehearsal_needs_a_name_and_expectations_only() -> None:
    bare = without(without(without(scenario(), "spec", "input"), "spec", "agent"), "spec", "twin")
    assert validate_scenario(bare, rehearsal=True) == []
    assert load_scenario(bare, rehearsal=True).message == ""
    assert validate_scenario(without(scenario(), "spec", "input", "message"), rehearsal=True) == []
    assert only(validate_scenario(bare)) == "spec.input.message: is required"


def test_a_rehearsal_still_looks_at_an_input_that_is_given() -> None:
    assert "must be text" in only(validate_scenario(scenario(input={"message": 5}), rehearsal=True))


def test_lines_of_a_scenario_are_those_of_its_text() -> None:
    text = """\
apiVersion: agenttwin.dev/v1
kind: Scenario
metadata: {name: a}
spec:
  input:
    message: hi
  faults:
    - target: '*'
      behavior:
        type: semantic_bad_response
  expectations:
    - type: toolCalled
      tool: refund
      id: e2
    - {type: maxSteps, value: 1}
"""
    found = [(problem.line, problem.path) for problem in validate_scenario(read_source(text))]
    assert found == [(9, "spec.faults[0].behavior.body"), (15, "spec.expectations[1]")]


def test_a_loaded_scenario_has_its_defaults_and_types() -> None:
    loaded = load_scenario(scenario())
    assert (loaded.severity, loaded.trials, loaded.timeout_seconds, loaded.seed) == ("medium", 1, 60.0, None)
    assert loaded.allowed_tools is None
    assert (loaded.tags, loaded.covers, loaded.documents, loaded.faults) == ((), (), (), ())


def test_an_empty_list_of_allowed_tools_is_kept() -> None:
    assert load_scenario(scenario(allowedTools=[])).allowed_tools == frozenset()


def test_the_digest_tells_content_and_not_layout() -> None:
    text = (
        "{apiVersion: agenttwin.dev/v1, kind: Scenario, metadata: {name: a}, "
        "spec: {input: {message: m}, expectations: [{type: maxSteps, value: 1}]}}"
    )
    one = load_scenario(read_source(text))
    other = {
        "spec": {"expectations": [{"value": 1.0, "type": "maxSteps"}], "input": {"message": "m"}},
        "kind": "Scenario",
        "metadata": {"name": "a"},
        "apiVersion": "agenttwin.dev/v1",
    }
    assert one.digest == load_scenario(other).digest
    assert one.digest != load_scenario(with_metadata(other, name="b")).digest
