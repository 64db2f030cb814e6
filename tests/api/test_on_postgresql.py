"""The tests of this folder that ask for rows, once more on PostgreSQL."""

from pathlib import Path

from tests.on_postgresql import hold_on_postgresql

MODULES = ("test_tokens", "test_comparisons", "test_cases", "test_errors")


def test_the_same_holds_on_postgresql(tmp_path: Path) -> None:
    hold_on_postgresql(Path(__file__).parent, MODULES, tmp_path)
