"""Storing cases once more, on PostgreSQL: rows go in by COPY there, and its columns have a length."""

from pathlib import Path

from tests.on_postgresql import hold_on_postgresql

MODULES = ("test_running", "test_storable", "test_rerunning", "test_statistics")


def test_the_same_holds_on_postgresql(tmp_path: Path) -> None:
    hold_on_postgresql(Path(__file__).parent, MODULES, tmp_path)
