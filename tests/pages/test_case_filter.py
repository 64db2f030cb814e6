"""The filter of the comparison page as an address."""

from __future__ import annotations

import pytest
from django.http import QueryDict

from evaluations.case_filter import CLASSES, CaseFilter


@pytest.mark.parametrize(
    "query",
    [
        "",
        "class=REGRESSED",
        "class=NEW_CRITICAL_FAILURE&class=UNCHANGED",
        "class=REGRESSED&severity=high&tag=a+b&tool=x.y&check=e%261&q=50%25",
    ],
)
def test_an_address_survives_being_read_and_written(query: str) -> None:
    assert CaseFilter.from_query(QueryDict(query)).query == query


def test_the_order_of_classes_in_the_address_does_not_matter() -> None:
    one, other = QueryDict("class=REGRESSED&class=IMPROVED"), QueryDict("class=IMPROVED&class=REGRESSED")

    assert CaseFilter.from_query(one) == CaseFilter.from_query(other)


@pytest.mark.parametrize("name", CLASSES)
def test_pressing_a_tile_twice_is_as_before(name: str) -> None:
    chosen = CaseFilter(classes=("REGRESSED",), tag="smoke")

    assert chosen.with_class_toggled(name).with_class_toggled(name) == chosen


def test_unknown_names_and_overlong_texts_are_left_out_or_cut() -> None:
    chosen = CaseFilter.from_query(QueryDict("class=X&severity=Y&page=3&q=" + "z" * 5000))

    assert (chosen.classes, chosen.severity, len(chosen.text)) == ((), "", 200)
