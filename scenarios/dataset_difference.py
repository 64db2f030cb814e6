"""What differs between two frozen contents of a dataset, case by case. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ListedCase:
    """A case of a frozen version. `digest` is that of its scenario's content."""

    case_id: str
    scenario: str
    scenario_number: int
    digest: str
    owner: str
    why: str


@dataclass(frozen=True, slots=True)
class ChangedCase:
    """A case that both have, and what of it is not the same: content, owner, why."""

    before: ListedCase
    after: ListedCase
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DatasetDifference:
    added: tuple[ListedCase, ...]
    removed: tuple[ListedCase, ...]
    changed: tuple[ChangedCase, ...]
    same_count: int
    # Whether the cases both have stand in another order.
    is_reordered: bool

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.is_reordered)


def dataset_difference(before: Sequence[ListedCase], after: Sequence[ListedCase]) -> DatasetDifference:
    """From one list of cases to the other; a case is known by its id."""
    old, new = ({case.case_id: case for case in cases} for cases in (before, after))
    changed = [
        ChangedCase(old[case_id], case, changes)
        for case_id, case in new.items()
        if case_id in old and (changes := _changes(old[case_id], case))
    ]
    kept = [case_id for case_id in old if case_id in new]
    return DatasetDifference(
        added=tuple(case for case_id, case in new.items() if case_id not in old),
        removed=tuple(case for case_id, case in old.items() if case_id not in new),
        changed=tuple(changed),
        same_count=len(kept) - len(changed),
        is_reordered=kept != [case_id for case_id in new if case_id in old],
    )


def _changes(before: ListedCase, after: ListedCase) -> tuple[str, ...]:
    named = (
        ("content", before.digest != after.digest),
        ("owner", before.owner != after.owner),
        ("why", before.why != after.why),
    )
    return tuple(name for name, differs in named if differs)
