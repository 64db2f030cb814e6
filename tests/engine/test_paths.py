from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twins.engine.paths import Flexible, PathSyntaxError, format_path, lookup, parse_path, split_path
from twins.engine.values import MISSING

PARSED = [
    ("orders.ORD-1001.refund_count", ("orders", "ORD-1001", "refund_count"), False),
    ("refunds[0].amount", ("refunds", 0, "amount"), False),
    ("$.items[-1].id", ("items", -1, "id"), False),
    ("orders['ORD 1'].total", ("orders", "ORD 1", "total"), False),
    ('orders["ORD.1"]', ("orders", "ORD.1"), False),
    ("emails.length()", ("emails",), True),
    ("$", (), False),
    ("$.length()", (), True),
    ("length()", (), True),
    ("$['a']", ("a",), False),
    ("$[0]", (0,), False),
    ("[0][1]", (0, 1), False),
    ("$ref.x", ("$ref", "x"), False),
    ("a['it''s']", ("a", "it's"), False),
    ('a["say ""so"""]', ("a", 'say "so"'), False),
    ("a['']", ("a", ""), False),
    ("a['length()']", ("a", "length()"), False),
    ("1.-2", ("1", "-2"), False),
    ("größe.日本", ("größe", "日本"), False),
    ("a['*']", ("a", "*"), False),
    ("a['[0].b']", ("a", "[0].b"), False),
]


@pytest.mark.parametrize(("text", "segments", "length"), PARSED)
def test_path_is_parsed(text, segments, length):
    path = parse_path(text)
    assert (path.segments, path.length, path.text) == (segments, length, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "a.",
        ".a",
        "a..b",
        "$.",
        "$x y",
        "a b",
        "a[",
        "a[]",
        "a]",
        "a[0",
        "a[x]",
        "a[1.5]",
        "a[+1]",
        "a['x",
        "a['x'",
        "a['x'y']",
        "a[0]b",
        "a'b",
        'a"b',
        "a.length().b",
        "a.length()[0]",
        "a.count()",
        "a.*",
        "*",
        "**.a",
        "a[*]",
        "a[0:2]",
        "a[?(@.b>1)]",
        "a[(1)]",
        "a\tb",
        "a\nb",
    ],
)
def test_what_is_no_path_is_refused(text):
    with pytest.raises(PathSyntaxError):
        parse_path(text)


def test_a_path_is_a_text():
    with pytest.raises(PathSyntaxError, match="a path is a text"):
        parse_path(5)  # type: ignore[arg-type]


def test_at_most_500_characters():
    assert parse_path("a" * 500).segments == ("a" * 500,)
    with pytest.raises(PathSyntaxError, match="500 characters"):
        parse_path("a" * 501)


def test_at_most_64_segments():
    assert len(parse_path(".".join(["a"] * 64)).segments) == 64
    with pytest.raises(PathSyntaxError, match="64 segments"):
        parse_path(".".join(["a"] * 65))


STATE = {
    "items": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
    "map": {"1": "of the map", "BK 1": 5, "": "empty"},
    "name": "Größe",
    "count": 4,
    "none": None,
    "length()": "odd",
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("items[0].id", "a"),
        ("items[-1].id", "c"),
        ("items[-3].id", "a"),
        ("items[-4]", MISSING),
        ("items[3]", MISSING),
        ("items.0", MISSING),  # a name never indexes a list
        ("map[1]", MISSING),  # an index never reads an object
        ("map.1", "of the map"),
        ("map['BK 1']", 5),
        ("map['']", "empty"),
        ("items.length()", 3),
        ("map.length()", 3),
        ("name.length()", 5),
        ("count.length()", MISSING),
        ("none.length()", MISSING),
        ("nowhere.length()", MISSING),
        ("['length()']", "odd"),
        ("$", STATE),
        ("none", None),
        ("none.x", MISSING),
        ("count[3].x", MISSING),
        ("name[0]", MISSING),
        ("obj.a.b.c", MISSING),
    ],
)
def test_lookup(text, value):
    found = parse_path(text).get(STATE)
    assert found is value or found == value


def test_a_flexible_integer_reads_a_list_or_an_object():
    assert lookup(STATE, ("items", Flexible(1), "id")) == "b"
    assert lookup(STATE, ("map", Flexible(1))) == "of the map"
    assert lookup(STATE, ("items", Flexible(9))) is MISSING
    assert lookup(STATE, ("map", Flexible(9))) is MISSING


@pytest.mark.parametrize(
    ("segments", "text"),
    [
        ((), "$"),
        (("a", "ORD-1", 0, "b"), "a.ORD-1[0].b"),
        (("a b",), "['a b']"),
        (("a", "x.y"), "a['x.y']"),
        (("a", "x[0]"), "a['x[0]']"),
        (("BK'3",), '["BK\'3"]'),
        (('say "so"',), "['say \"so\"']"),
        (("both ' and \"",), "['both '' and \"']"),
        (("",), "['']"),
        (("a", ""), "a['']"),
        (("$",), "['$']"),
        (("*",), "['*']"),
        (("length()",), "['length()']"),
        (("a", "count()"), "a['count()']"),
        (("a\u00a0b",), "['a\u00a0b']"),
        ((Flexible(2), "a"), "[2].a"),
    ],
)
def test_canonical_text_quotes_only_where_it_must(segments, text):
    assert format_path(segments) == text


segment = st.one_of(st.text(max_size=8), st.text("a.[]'\"$ *()", max_size=6), st.integers(-50, 50))


@given(st.lists(segment, min_size=1, max_size=6))
def test_what_is_written_is_read_back(segments):
    read, length = split_path(format_path(segments))
    assert (read, length) == (segments, False)


@given(st.text(max_size=40))
def test_any_text_is_a_path_or_refused(text):
    try:
        path = parse_path(text)
    except PathSyntaxError:
        return
    assert (split_path(text)[0], path.get({})) == (list(path.segments), path.get({}))
