"""What differs between two frozen contents, case by case."""

from __future__ import annotations

from scenarios.dataset_difference import ListedCase, dataset_difference


def case(case_id: str, digest: str = "d", owner: str = "ann", why: str = "because") -> ListedCase:
    return ListedCase(case_id, f"scenario-{case_id}", 1, digest, owner, why)


def test_cases_are_known_by_their_ids() -> None:
    found = dataset_difference([case("a"), case("b"), case("c")], [case("a"), case("c", "e"), case("d")])
    assert [one.case_id for one in found.added] == ["d"]
    assert [one.case_id for one in found.removed] == ["b"]
    assert [(one.after.case_id, one.changes) for one in found.changed] == [("c", ("content",))]
    assert (found.same_count, found.is_reordered) == (1, False)


def test_every_part_of_a_case_that_changed_is_named() -> None:
    (one,) = dataset_difference([case("a")], [case("a", "e", "bob", "why not")]).changed
    assert one.changes == ("content", "owner", "why")


def test_another_order_is_a_difference() -> None:
    found = dataset_difference([case("a"), case("b")], [case("b"), case("a")])
    assert found.is_reordered
    assert bool(found)
    assert not dataset_difference([case("a")], [case("a")])


def test_a_case_that_came_between_reorders_nothing() -> None:
    assert not dataset_difference([case("a"), case("b")], [case("a"), case("x"), case("b")]).is_reordered
