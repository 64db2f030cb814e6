from __future__ import annotations

import pytest

from twins.engine.tenants import carries_foreign, is_foreign


@pytest.mark.parametrize(
    ("value", "foreign"),
    [
        ({"t": "south"}, True),
        ({"t": "north"}, False),
        ({"t": None}, False),
        ({"t": ""}, False),
        ({"x": "south"}, False),
        ({"t": 5}, True),
        ({"t": ["north"]}, True),
        ({}, False),
        ("south", False),
        ([{"t": "south"}], False),
        (None, False),
    ],
)
def test_a_record_is_foreign_when_it_has_another_owner(value, foreign):
    assert is_foreign(value, "t", "north") is foreign


@pytest.mark.parametrize(
    ("body", "carries"),
    [
        ({"result": {"t": "south"}}, True),
        ({"result": [{"a": {"b": [{"t": "south"}]}}]}, True),
        ({"result": {"t": "north", "inner": {"t": "south"}}}, True),
        ({"result": [{"t": "north"}, {"t": None}, {"x": 1}]}, False),
        ({"error": {"code": "X"}}, False),
        ('{"result":{"t":"south"', False),
        (None, False),
    ],
)
def test_objects_are_found_at_any_depth(body, carries):
    assert carries_foreign(body, "t", "north") is carries
