"""The rules about rows once more, on PostgreSQL: its triggers, constraints and locks are others."""

from pathlib import Path

from tests.on_postgresql import hold_on_postgresql

MODULES = (
    "test_deciding",
    "test_queueing",
    "test_audit",
    "test_reconciling",
    "test_people",
    "test_policy",
    "test_two_reviewers",
    "test_judged_queue",
)


def test_the_same_holds_on_postgresql(tmp_path: Path) -> None:
    hold_on_postgresql(Path(__file__).parent, MODULES, tmp_path)
