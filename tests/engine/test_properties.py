"""What holds for every case, whatever is called under whatever goes wrong."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.builders import Case, mutate, read, static, twin
from twins.engine import FAULTS, apply_changes, begin, call_tool, canonical_json, search

STATE = {
    "rows": {
        "a": {"tenant": "north", "n": 1, "tags": ["x"], "odd key": {"deep": 1}},
        "b": {"tenant": "south", "n": 2, "tags": []},
    },
    "untouched": {"big": [{"x": index} for index in range(20)]},
    "log": [],
    "kb": [{"id": "d-1", "title": "Fees", "text": "A fee is due."}],
}
TOOLS: dict[str, Any] = {
    "get": {"tenantPath": "rows.{ref}", **read("rows.{ref}")},
    "list": read("rows", response={"all": "{value}", "n": "{value.length()}"}),
    "add": {
        "idempotency": {"argument": "key", "header": "Idempotency-Key"},
        "effectKey": "add:{ref}",
        "inputSchema": {"properties": {"n": {"type": ["number", "string", "null"]}}},
        **mutate(
            {"op": "increment", "path": "rows.{ref}.n", "by": "{n}"},
            {"op": "append", "path": "rows.{ref}.tags", "value": {"id": "{id}", "by": "{n}"}},
            {"op": "append", "path": "log", "value": "{value}"},
            path="rows.{ref}",
            preconditions=[{"path": "args.n", "lt": 50}],
        ),
    },
    "put": mutate({"op": "set", "path": "rows.{ref}.sub.{n}", "value": {"at": "{now}", "what": "{args}"}}),
    "drop": mutate(
        {"op": "delete", "path": "rows.{ref}"},
        {"op": "merge", "path": "rows", "value": {"c": {"gone": "{ref}"}}},
    ),
    "shift": mutate(
        {"op": "delete", "path": "log[0]"}, {"op": "set", "path": "log[-1]", "value": "{state.rows}"}
    ),
    "wipe": {"risk": "ADMIN", **mutate({"op": "set", "path": "rows", "value": {}})},
    "say": static("{ref} {n}"),
    "echo": {"handler": {"kind": "echo"}},
}

refs = st.sampled_from(["a", "b", "c", "zzz", "odd key", "a.n", "..", ""])
numbers = st.one_of(st.integers(-5, 60), st.sampled_from([0.5, "lots", None, True]))
arguments = st.one_of(
    st.fixed_dictionaries(
        {}, optional={"ref": refs, "n": numbers, "key": st.sampled_from(["k", "l", "", None])}
    ),
    st.sampled_from([None, [], "x", {"n": float("nan")}, {"ref": "\0"}, {1: 2}]),
)
calls = st.lists(st.tuples(st.sampled_from([*TOOLS, "nowhere"]), arguments), max_size=8)
rules = st.lists(
    st.fixed_dictionaries(
        {
            "target": st.sampled_from(["*", "add", "get", "drop"]),
            "when": st.fixed_dictionaries(
                {}, optional={"callNumber": st.integers(1, 3), "probability": st.sampled_from([0.3, 0.8])}
            ),
            "behavior": st.fixed_dictionaries(
                {"type": st.sampled_from(sorted(FAULTS))},
                optional={
                    "body": st.sampled_from(["{result}", {"x": "{state.log}"}, 1]),
                    "message": st.just("m {ref?}"),
                },
            ),
        }
    ),
    max_size=3,
)


DEFINITION = twin(TOOLS, copy.deepcopy(STATE), tenantKey="tenant")


def new_case(faults: list[dict[str, Any]], seed: int = 0) -> Case:
    return Case(TOOLS, faults=faults, seed=seed, definition=DEFINITION, tenant="north")


def bytes_of(steps: list[Any]) -> str:
    return "\n".join(
        json.dumps([step.reply.to_json(), [one.to_json() for one in step.records], step.state.to_json()])
        for step in steps
    )


def run(case: Case, sequence: list[tuple[str, Any]]) -> list[Any]:
    state, steps = begin(case.spec), []
    for tool, args in sequence:
        step = call_tool(case.spec, state, tool, args)
        steps.append(step)
        state = step.state
    steps.append(search(case.spec, state, "fee"))
    return steps


@settings(max_examples=100, deadline=None)
@given(calls, rules, st.integers(0, 3))
def test_the_same_case_gives_the_same_bytes(sequence, faults, seed):
    assert bytes_of(run(new_case(faults, seed), sequence)) == bytes_of(run(new_case(faults, seed), sequence))


@settings(max_examples=100, deadline=None)
@given(calls, rules)
def test_no_state_is_ever_changed_in_place(sequence, faults):
    case = new_case(faults)
    state = begin(case.spec)
    for tool, args in sequence:
        before = copy.deepcopy((state.root, state.to_json(), args))
        step = call_tool(case.spec, state, tool, args)
        assert canonical_json(state.root) == canonical_json(before[0])
        assert json.dumps(state.to_json()) == json.dumps(before[1])
        state = step.state
    assert case.spec.definition.initial_state == STATE


@settings(max_examples=100, deadline=None)
@given(calls, rules)
def test_records_tell_the_whole_story(sequence, faults):
    """Every state follows from the recorded changes; only a call that says `mutated` has any."""
    case = new_case(faults)
    state = begin(case.spec)
    for tool, args in sequence:
        step = call_tool(case.spec, state, tool, args)
        rebuilt = state.root
        for record in step.records:
            assert record.mutated or not record.changes
            assert not (record.mutated and record.replayed)
            rebuilt = apply_changes(rebuilt, record.changes)
        assert canonical_json(rebuilt) == canonical_json(step.state.root)
        if not any(record.mutated for record in step.records):
            assert step.state.root is state.root
        assert [record.seq for record in step.records] == list(range(state.seq + 1, step.state.seq + 1))
        state = step.state


@settings(max_examples=100, deadline=None)
@given(calls, rules)
def test_what_no_effect_touches_stays_the_same_object(sequence, faults):
    case = new_case(faults)
    for step in run(case, sequence):
        assert step.state.root["untouched"] is case.spec.initial_state["untouched"]
        assert step.state.root["kb"] is case.spec.initial_state["kb"]


@settings(max_examples=100, deadline=None)
@given(calls, rules, refs, st.integers(1, 40))
def test_a_replay_never_changes_the_state(sequence, faults, ref, amount):
    case = new_case(faults)
    state = run(case, sequence)[-1].state
    calm = new_case([]).spec
    first = call_tool(calm, state, "add", {"ref": ref, "n": amount, "key": "once"})
    second = call_tool(calm, first.state, "add", {"ref": ref, "n": amount, "key": "once"})
    if first.reply.status == 200:
        assert second.records[0].replayed
        assert second.reply.body == first.reply.body
        assert second.state.root is first.state.root
    else:
        assert first.state.root is state.root


@settings(max_examples=100, deadline=None)
@given(calls, rules)
def test_every_reply_and_record_is_storable_json(sequence, faults):
    for step in run(new_case(faults), sequence):
        text = json.dumps([step.reply.to_json(), [one.to_json() for one in step.records]], allow_nan=False)
        assert "\\u0000" not in text
        assert "\\ud8" not in text


anything = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.builds(object)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.text(), st.integers()), inner, max_size=3),
        st.tuples(inner),
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.sampled_from(sorted(TOOLS)), anything), anything, anything, anything)
def test_nothing_a_caller_sends_raises(tool, args, headers, limit):
    case = new_case([])
    reply = case.call(tool, args, headers)
    assert 200 <= reply.status < 600
    case.search(args, limit)
    json.dumps([one.to_json() for one in case.records], allow_nan=False).encode()


@settings(max_examples=60, deadline=None)
@given(st.text(), st.text())
def test_an_argument_reaches_only_its_own_record(ref, other):
    case = new_case([])
    case.call("put", {"ref": ref, "n": other})
    changed = {key for key in case.root if case.root[key] is not STATE.get(key)} - {"log", "kb", "untouched"}
    assert changed <= {"rows"}
    assert {key for key in case.root["rows"] if case.root["rows"][key] != STATE["rows"].get(key)} <= {ref}


_PRINT_A_CASE = """
from tests.engine.test_properties import bytes_of, new_case, run
faults = [{"target": "*", "when": {"probability": 0.4}, "behavior": {"type": "timeout_after_mutation"}},
          {"target": "add", "when": {"probability": 0.5}, "behavior": {"type": "message_duplication"}}]
calls = [("add", {"ref": ref, "n": n}) for ref in "abz" for n in (1, "x", 70, None)]
calls += [("drop", {"ref": "a"}), ("list", {}), ("add", {"unexpected": True, "n": []})]
print(bytes_of(run(new_case(faults, 9), calls)))
"""


def test_the_bytes_do_not_depend_on_the_process():
    """Python's `hash()` differs between processes; nothing of it may show."""
    root = Path(__file__).parents[2]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _PRINT_A_CASE],
            cwd=root,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 5_000
