from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twins.engine.bounds import MAX_GROWTH, MAX_STATE_NESTING, MAX_VALUE
from twins.engine.paths import Flexible
from twins.engine.state import Draft, EffectError, apply_changes, changes_between, merge_patch
from twins.engine.values import canonical_json


def edited(state, *edits):
    draft = Draft(state)
    for op, segments, *operand in edits:
        getattr(draft, op)(segments, *operand)
    return draft.root


# --- merge patch: the examples of RFC 7396, appendix A ----------------------------------------------


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(target, patch, result):
    before = copy.deepcopy((target, patch))
    assert merge_patch(target, patch) == result
    assert (target, patch) == before


def test_merge_patch_shares_what_the_patch_does_not_mention():
    target = {"a": {"deep": [1]}, "b": {"x": 1}}
    assert merge_patch(target, {"b": {"y": 2}})["a"] is target["a"]


# --- edits ------------------------------------------------------------------------------------------

START = {
    "a": {"keep": 1},
    "list": [1, 2, 3],
    "rows": [{"x": 1}],
    "n": 5,
    "null": None,
    "text": "t",
    "flag": True,
}


@pytest.mark.parametrize(
    ("edit", "place", "value"),
    [
        (("set", ("a", "new"), {"x": 1}), "a", {"keep": 1, "new": {"x": 1}}),
        (("set", ("made", "on", "the", "way"), 1), "made", {"on": {"the": {"way": 1}}}),
        (("set", ("list", 0), 9), "list", [9, 2, 3]),
        (("set", ("list", -1), 9), "list", [1, 2, 9]),
        (("set", ("rows", 0, "x"), 2), "rows", [{"x": 2}]),
        (("set", ("list", Flexible(1)), 9), "list", [1, 9, 3]),
        (("set", ("a", Flexible(1)), 9), "a", {"keep": 1, "1": 9}),
        (("set", ("new", Flexible(1)), 9), "new", {"1": 9}),
        (("set", ("null",), 1), "null", 1),
        (("delete", ("a", "keep")), "a", {}),
        (("delete", ("list", 0)), "list", [2, 3]),
        (("delete", ("list", -1)), "list", [1, 2]),
        (("append", ("list",), {"y": 1}), "list", [1, 2, 3, {"y": 1}]),
        (("append", ("fresh", "list"), 1), "fresh", {"list": [1]}),
        (("append", ("a", "l"), None), "a", {"keep": 1, "l": [None]}),
        (("merge", ("a",), {"keep": {"z": 1}, "b": None}), "a", {"keep": {"z": 1}, "b": None}),
        (("merge", ("m", "n"), {"b": 1}), "m", {"n": {"b": 1}}),
        (("merge", ("a",), {}), "a", {"keep": 1}),
        (("increment", ("n",), 2), "n", 7),
        (("increment", ("n",), 0.5), "n", 5.5),
        (("decrement", ("n",), 2), "n", 3),
        (("increment", ("c", "d"), 2), "c", {"d": 2}),
        (("decrement", ("c",), 2), "c", -2),
        (("increment", ("list", 1), 1), "list", [1, 3, 3]),
    ],
)
def test_edits(edit, place, value):
    before = copy.deepcopy(START)
    after = edited(START, edit)
    assert after[place] == value
    assert before == START
    assert {key: item for key, item in after.items() if key != place} == {
        key: item for key, item in START.items() if key != place
    }


@pytest.mark.parametrize(
    "segments",
    [
        ("nope",),
        ("a", "nope"),
        ("no", "such", "place"),
        ("list", 9),
        ("list", "x"),
        ("a", 0),
        ("n", "x"),
        ("null", "x"),
    ],
)
def test_delete_of_nothing_does_nothing(segments):
    draft = Draft(START)
    draft.delete(segments)
    assert draft.root is START
    assert draft.touched == []


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (("set", ("n", "x"), 1), "n is a number"),
        (("set", ("null", "x"), 1), "null is null"),
        (("set", ("text", "x"), 1), "text is a text"),
        (("set", ("list", 3), 1), "list has no item 3"),
        (("set", ("list", -4), 1), "no item -4"),
        (("set", ("list", "x"), 1), "list is a list"),
        (("set", ("a", 0), 1), "a is an object"),
        (("set", ("queue", 0), 1), "queue is an object"),
        (("set", ("queue", 0, "x"), 1), "queue is an object"),
        (("set", (), [1]), "must stay an object"),
        (("delete", ()), "cannot be deleted"),
        (("append", ("n",), 1), "needs a list at n"),
        (("append", ("null",), 1), "needs a list at null"),
        (("append", (), 1), "needs a list"),
        (("merge", ("list",), {"a": 1}), "needs an object at list"),
        (("merge", ("null",), {"a": 1}), "needs an object at null"),
        (("merge", ("a",), [1]), "needs an object as its value"),
        (("increment", ("text",), 1), "a number is needed at text"),
        (("increment", ("flag",), 1), "a number is needed at flag"),
        (("increment", ("null",), 1), "a number is needed at null"),
        (("increment", ("n",), "1"), "by needs a number"),
        (("decrement", ("n",), True), "by needs a number"),
        (("decrement", ("n",), None), "by needs a number"),
    ],
)
def test_edits_that_cannot_be_applied(edit, words):
    before = copy.deepcopy(START)
    with pytest.raises(EffectError, match=words):
        edited(START, edit)
    assert before == START


def test_sums_stay_numbers_that_json_can_write():
    for state in ({"n": 1.7e308}, {"n": 10**308}):
        with pytest.raises(EffectError, match="beyond the range"):
            edited(state, ("increment", ("n",), 1.7e308), ("increment", ("n",), 1.7e308))


def test_merge_at_the_root_and_set_of_the_root():
    assert edited({"a": 1}, ("merge", (), {"b": 2})) == {"a": 1, "b": 2}
    assert edited({"a": 1}, ("set", (), {"b": 2})) == {"b": 2}


def test_only_the_containers_on_the_way_are_copied():
    state = {"orders": {"a": {"n": 1, "deep": {}}, "b": {"n": 2}}, "users": {"u": {}}, "log": []}
    after = edited(state, ("increment", ("orders", "a", "n"), 1))
    assert after is not state
    assert after["users"] is state["users"]
    assert after["log"] is state["log"]
    assert after["orders"]["b"] is state["orders"]["b"]
    assert after["orders"]["a"]["deep"] is state["orders"]["a"]["deep"]


def test_a_container_is_copied_once_per_draft():
    draft = Draft({"a": {"n": 1}})
    draft.set(("a", "n"), 2)
    first = draft.root
    draft.set(("a", "m"), 3)
    assert draft.root is first


def test_a_part_put_elsewhere_does_not_change_with_its_source():
    draft = Draft({"a": {"n": 1}})
    draft.set(("a", "n"), 2)
    draft.set(("b",), draft.root["a"])
    draft.set(("a", "n"), 3)
    draft.append(("l",), draft.root["a"])
    draft.set(("a", "n"), 4)
    assert draft.root == {"a": {"n": 4}, "b": {"n": 2}, "l": [{"n": 3}]}


def test_one_value_has_a_bound():
    assert edited({}, ("set", ("a",), "x" * (MAX_VALUE - 2)))
    with pytest.raises(EffectError, match="too large"):
        edited({}, ("set", ("a",), "x" * MAX_VALUE))


def test_the_growth_of_a_case_has_a_bound():
    draft = Draft({}, MAX_GROWTH - 10)
    with pytest.raises(EffectError, match="have added more than"):
        draft.set(("a",), "x" * 10)


def test_the_state_cannot_become_deeper_than_it_can_be_read():
    state = {"a": {}}
    for _ in range(MAX_STATE_NESTING - 2):
        state = edited(state, ("set", ("a",), {"a": state["a"]}))
    with pytest.raises(EffectError, match="deeper"):
        edited(state, ("set", ("a",), {"a": state["a"]}))


# --- changes ----------------------------------------------------------------------------------------


def test_changes_are_the_smallest_places_sorted_by_text():
    before = {"a": {"keep": 1, "x": {"deep": True}}, "list": [1, 2, 3], "z": 0}
    after = {"a": {"keep": 1, "odd key": {"made": [1]}}, "list": [2, 3], "z": 9}
    assert changes_between(before, after) == (
        {"op": "removed", "path": "a.x", "before": {"deep": True}},
        {"op": "added", "path": "a['odd key']", "after": {"made": [1]}},
        {"op": "changed", "path": "list[0]", "before": 1, "after": 2},
        {"op": "changed", "path": "list[1]", "before": 2, "after": 3},
        {"op": "removed", "path": "list[2]", "before": 3},
        {"op": "changed", "path": "z", "before": 0, "after": 9},
    )


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (1, 1.0, ()),
        (True, 1, ("changed",)),
        (0, False, ("changed",)),
        (1, 1 + 1e-12, ("changed",)),
        (None, 0, ("changed",)),
        ({}, [], ("changed",)),
        ({"a": 1}, "x", ("changed",)),
        ([1], {"0": 1}, ("changed",)),
        ([], [], ()),
        ({"x": None}, {}, ("removed",)),
        ({}, {"x": None}, ("added",)),
    ],
)
def test_what_counts_as_a_change(before, after, changes):
    found = changes_between({"v": before}, {"v": after})
    assert tuple(one["op"] for one in found) == changes
    for one in found:
        assert ("before" in one) is (one["op"] != "added")
        assert ("after" in one) is (one["op"] != "removed")


def test_identical_subtrees_are_not_looked_into():
    class Watched(dict):
        def __iter__(self):
            raise AssertionError("looked into")

        keys = items = __iter__  # type: ignore[assignment]

    shared = Watched(a=1)
    assert changes_between({"s": shared, "n": 1}, {"s": shared, "n": 2}) == (
        {"op": "changed", "path": "n", "before": 1, "after": 2},
    )


def test_items_of_a_long_list_are_put_back_by_number_not_by_text():
    before, after = {"l": list(range(12))}, {"l": []}
    assert apply_changes(before, changes_between(before, after)) == after
    assert apply_changes(after, changes_between(after, before)) == before


def test_changes_that_do_not_belong_to_the_state_are_refused():
    with pytest.raises(ValueError, match="at the end"):
        apply_changes({"l": []}, [{"op": "added", "path": "l[3]", "after": 1}])


keys = st.sampled_from(["a", "b", "odd key", "x.y", "it's", "", "1", "*", "length()", "$", "both ' and \""])
scalars = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from([0.5, 1.0, "", "t"]))
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=14,
)
states = st.dictionaries(keys, trees, max_size=4)


@settings(max_examples=300)
@given(states, states)
def test_changes_rebuild_the_later_state_exactly(before, after):
    kept = copy.deepcopy((before, after))
    changes = changes_between(before, after)
    assert canonical_json(apply_changes(before, changes)) == canonical_json(after)
    assert (before, after) == kept
    assert [one["path"] for one in changes] == sorted({one["path"] for one in changes})


segments = st.lists(
    st.one_of(keys, st.integers(-3, 3), st.builds(Flexible, st.integers(-2, 2))), max_size=4
).map(tuple)
edits = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["set", "append", "merge"]), segments, trees),
        st.tuples(st.sampled_from(["increment", "decrement"]), segments, scalars),
        st.tuples(st.just("delete"), segments, st.none()),
    ),
    max_size=6,
)


@settings(max_examples=300)
@given(states, edits)
def test_touched_places_hold_every_change_and_the_start_is_never_changed(state, steps):
    kept = copy.deepcopy(state)
    draft = Draft(state)
    for op, place, operand in steps:
        before = copy.deepcopy(draft.root)
        attempt = Draft(draft.root)
        try:
            getattr(attempt, op)(place, operand)
        except EffectError:
            assert draft.root == before  # dropping the draft is the rollback
            continue
        getattr(draft, op)(place, operand)
    assert state == kept
    assert changes_between(state, draft.root, draft.touched) == changes_between(kept, draft.root)
