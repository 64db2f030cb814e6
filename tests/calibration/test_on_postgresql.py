"""The rules about rows once more, on PostgreSQL: its triggers, constraints and locks are others."""

from pathlib import Path

from tests.on_postgresql import hold_on_postgresql

MODULES = ("test_criteria", "test_labelling", "test_calibrating", "test_standing")


def test_the_same_holds_on_postgresql(tmp_path: Path) -> None:
    hold_on_postgresql(Path(__file__).parent, MODULES, tmp_path)
