"""The tests of this folder once more, on PostgreSQL."""

from pathlib import Path

from tests.on_postgresql import hold_on_postgresql

MODULES = ("test_row_guards", "test_constraints", "test_version_services", "test_records", "test_importing")


def test_the_same_holds_on_postgresql(tmp_path: Path) -> None:
    hold_on_postgresql(Path(__file__).parent, MODULES, tmp_path)
