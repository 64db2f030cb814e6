from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twins.engine.paths import Flexible, PathSyntaxError
from twins.engine.templates import (
    MAX_TEXT,
    MissingArgument,
    Scope,
    TemplateError,
    TemplateSyntaxError,
    parse_path_template,
    parse_template,
    template_problems,
)
from twins.engine.values import MISSING, compact_json, json_equal


def scope(**more):
    args = {
        "order_id": "ORD-1",
        "n": 7,
        "flag": False,
        "none": None,
        "deep": {"list": [1, "two"], "a.b": 1},
        "id": "mine",
        "state": "arg",
    }
    fields = {
        "args": args,
        "state": {"policy": {"limit": 3}, "rows": [{"x": 1}, {"x": 2}], "odd key": 9},
        "value": {"total": 130.5},
        "tenant": "north",
        "idempotency_key": "k-1",
        "now": "2026-03-05T10:00:00Z",
        "seq": 3,
        "number": 2,
    }
    return Scope(**{**fields, **more})


@pytest.mark.parametrize(
    ("template", "rendered"),
    [
        ("{order_id}", "ORD-1"),
        ("{args.order_id}", "ORD-1"),
        ("{n}", 7),
        ("{flag}", False),
        ("{none}", None),
        ("{deep}", {"list": [1, "two"], "a.b": 1}),
        ("{deep.list}", [1, "two"]),
        ("{args.deep.list[-1]}", "two"),
        ("{args.deep.list.length()}", 2),
        ("{deep['a.b']}", 1),
        ("{state.policy.limit}", 3),
        ("{state.rows[1].x}", 2),
        ("{state['odd key']}", 9),
        ("{value}", {"total": 130.5}),
        ("{value.total}", 130.5),
        ("{tenant}", "north"),
        ("{idempotency_key}", "k-1"),
        ("{now}", "2026-03-05T10:00:00Z"),
        ("{id}", "0003"),
        ("{args.id}", "mine"),
        ("{args.state}", "arg"),
        ("{call.number}", 2),
        ("{call.seq}", 3),
        ("{reason?}", None),
        ("{state.nowhere?}", None),
        ("{order_id?}", "ORD-1"),
        ("n={n}, {flag}, {none}, {deep.list}", 'n=7, false, , [1,"two"]'),
        ("because: {reason?}.", "because: ."),
        ("TU-{id}", "TU-0003"),
        ("{n}{n}", "77"),
        ("{{n}} is {n}", "{n} is 7"),
        ("{{}}", "{}"),
        ("{{{n}}}", "{7}"),
        ("}}{{", "}{"),
        ("plain", "plain"),
        ("", ""),
        (5, 5),
        (None, None),
        ({"{n}": "{n}", "list": [{"x": "{n}"}, 1]}, {"{n}": 7, "list": [{"x": 7}, 1]}),
    ],
)
def test_rendering(template, rendered):
    assert parse_template(template).render(scope()) == rendered


def test_types_are_kept_exactly():
    assert parse_template("{flag}").render(scope()) is False
    assert type(parse_template("{n}").render(scope())) is int


def test_an_id_of_more_than_four_digits_is_not_cut():
    assert parse_template("{id}").render(scope(seq=12345)) == "12345"


@pytest.mark.parametrize(
    "template", ["{nope}", "{args.nope}", "x {nope}", "{deep.nope}", "{order_id.x}", "{deep[0]}"]
)
def test_a_missing_required_argument_is_the_callers_fault(template):
    with pytest.raises(MissingArgument):
        parse_template(template).render(scope())


def test_a_missing_argument_is_named_as_the_caller_knows_it():
    with pytest.raises(MissingArgument) as caught:
        parse_template("{args.a.b}").render(scope())
    assert caught.value.name == "a.b"


@pytest.mark.parametrize(
    ("template", "fields"),
    [
        ("{state.nope}", {}),
        ("{value}", {"value": MISSING}),
        ("{value.nope}", {}),
        ("{result}", {}),
        ("{tenant}", {"tenant": MISSING}),
        ("{idempotency_key}", {"idempotency_key": MISSING}),
    ],
)
def test_anything_else_missing_is_the_twins_fault(template, fields):
    with pytest.raises(TemplateError) as caught:
        parse_template(template).render(scope(**fields))
    assert not isinstance(caught.value, MissingArgument)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "}",
        "{}",
        "a{b",
        "a}b",
        "{ n }",
        "{n",
        "{a..b}",
        "{call}",
        "{call.x}",
        "{call.number.x}",
        "{tenant.x}",
        "{now.length()}",
        "{id.x}",
        "{idempotency_key.x}",
        "{$.x}",
        "{[0]}",
        "{?}",
        "{a[*]}",
        "{a.count()}",
        "{a|b c}",
        "{n}}",
        "{{n}",
    ],
)
def test_syntax_errors_are_problems_of_the_document(text):
    with pytest.raises(TemplateSyntaxError):
        parse_template(text)


def test_every_problem_is_found_with_its_place():
    problems = template_problems({"ok": "{n}", "a b": ["{n}", "{"], "x": {"y": "}"}})
    assert [problem.path for problem in problems] == ["['a b'][1]", "x.y"]
    with pytest.raises(TemplateSyntaxError) as caught:
        parse_template({"x": {"y": "}"}})
    assert caught.value.path == "x.y"
    assert template_problems("{")[0].path == ""


def test_a_constant_value_is_shared_and_not_rebuilt():
    template = parse_template({"a": [1, "{{}}"]})
    assert template.constant
    assert template.render(scope()) is template.render(scope())


def test_reads_names_the_roots():
    template = parse_template({"a": "{n} {state.x?}", "b": ["{result}"]})
    assert template.reads == {"args", "state", "result"}
    assert not template.constant


def test_a_rendered_text_has_a_bound():
    big = "x" * (MAX_TEXT // 2)
    template = parse_template("{n}{n}")
    assert len(template.render(scope(args={"n": big}))) == MAX_TEXT
    with pytest.raises(TemplateError, match="longer than"):
        template.render(scope(args={"n": big + "x"}))


PATHS = [
    ("orders.{order_id}", ("orders", "ORD-1")),
    ("orders.{order_id}.total", ("orders", "ORD-1", "total")),
    ("orders.ORD-{n}", ("orders", "ORD-7")),
    ("{order_id}", ("ORD-1",)),
    ("$.{order_id}", ("ORD-1",)),
    ("list.{n}", ("list", Flexible(7))),
    ("list[{n}]", ("list", Flexible(7))),
    ("orders['{order_id}'].x", ("orders", "ORD-1", "x")),
    ("orders['no {n}.x']", ("orders", "no 7.x")),
    ("a.{args.deep.list[1]}.b", ("a", "two", "b")),
    ("a.{flag}", ("a", "false")),
    ("a.{n}{n}", ("a", "77")),
    ("a.{{n}}", ("a", "{n}")),
    ("a['{{n}}']", ("a", "{n}")),
    ("a[-1].b", ("a", -1, "b")),
    ("{tenant}.{idempotency_key}.{now}", ("north", "k-1", "2026-03-05T10:00:00Z")),
]


@pytest.mark.parametrize(("text", "segments"), PATHS)
def test_path_template(text, segments):
    rendered = parse_path_template(text).render(scope())
    assert rendered == segments
    assert [type(one) for one in rendered] == [type(one) for one in segments]


@pytest.mark.parametrize("value", [None, {"a": 1}, [1]])
@pytest.mark.parametrize("text", ["a.{x}", "a.pre-{x}", "a['{x}']"])
def test_null_object_or_list_cannot_be_in_a_path(text, value):
    with pytest.raises(TemplateError, match="cannot be part of a path"):
        parse_path_template(text).render(scope(args={"x": value}))


def test_a_missing_optional_in_a_path_is_null_and_so_refused():
    with pytest.raises(TemplateError, match="cannot be part of a path"):
        parse_path_template("a.{x?}").render(scope(args={}))


def test_a_missing_argument_in_a_path_is_the_callers_fault():
    with pytest.raises(MissingArgument):
        parse_path_template("a.{x}").render(scope(args={}))


@given(st.text(), st.text())
def test_a_placeholder_is_exactly_one_segment_whatever_it_contains(first, second):
    template = parse_path_template("orders.{a}.sub.x-{b}.end")
    rendered = template.render(scope(args={"a": first, "b": second}))
    assert rendered == ("orders", first, "sub", f"x-{second}", "end")


@pytest.mark.parametrize(
    "hostile", ["ORD-1.tenant", "..", "$", "['x']", "a[0]", "length()", "{state}", "{{", ""]
)
def test_a_hostile_argument_stays_in_its_segment(hostile):
    assert parse_path_template("orders.{x}").render(scope(args={"x": hostile})) == ("orders", hostile)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a..{n}",
        "a.",
        "{n}}",
        "a.{",
        "a.{n}{",
        "a[{n}",
        "a[x{n}]",
        "a b.{n}",
        "a.*.{n}",
        "a.{ n }",
        "a.x()",
    ],
)
def test_path_template_syntax_errors(text):
    with pytest.raises((TemplateSyntaxError, PathSyntaxError)):
        parse_path_template(text)


def test_path_template_limits():
    assert len(parse_path_template(".".join(["{n}"] * 64)).render(scope())) == 64
    with pytest.raises(PathSyntaxError, match="64 segments"):
        parse_path_template(".".join(["{n}"] * 65))
    with pytest.raises(PathSyntaxError, match="500 characters"):
        parse_path_template("a" * 501)
    with pytest.raises(PathSyntaxError, match="a path is a text"):
        parse_path_template(None)  # type: ignore[arg-type]


def test_first_segment_and_length_are_known_before_rendering():
    assert parse_path_template("state.{n}").first == "state"
    assert parse_path_template("{n}.x").first is None
    assert parse_path_template("$").first is None
    assert parse_path_template("[0].x").first == 0
    assert parse_path_template("items.length()").length
    assert parse_path_template("items.{n}.length()").length
    assert not parse_path_template("items['length()']").length


@given(st.text(max_size=30))
def test_any_text_is_a_template_or_refused(text):
    """Nothing else comes out, and what is rendered is JSON."""
    try:
        rendered = parse_template(text).render(scope())
    except (TemplateSyntaxError, TemplateError):
        return
    assert json_equal(json.loads(compact_json(rendered)), rendered)


@given(st.text(alphabet="ab.[]{}'\"0$ ?*()", max_size=20))
def test_any_text_is_a_path_template_or_refused(text):
    """Nothing else comes out, and what is rendered is a way through a value."""
    try:
        segments = parse_path_template(text).render(scope())
    except (TemplateSyntaxError, PathSyntaxError, TemplateError):
        return
    assert all(isinstance(segment, str | int) for segment in segments)
