"""Remote cases and manual sessions once more on PostgreSQL, where rows are really locked."""

from pathlib import Path

from tests.on_postgresql import hold_on_postgresql

MODULES = ("test_remote", "test_manual")


def test_the_same_holds_on_postgresql(tmp_path: Path) -> None:
    hold_on_postgresql(Path(__file__).parent, MODULES, tmp_path)
