"""Judging once more, on PostgreSQL: its locks and its columns are others."""

from pathlib import Path

from tests.on_postgresql import hold_on_postgresql

MODULES = ("test_claims", "test_sessions")


def test_the_same_holds_on_postgresql(tmp_path: Path) -> None:
    hold_on_postgresql(Path(__file__).parent, MODULES, tmp_path)
