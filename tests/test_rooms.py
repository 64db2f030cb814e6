"""The order of the rooms, read off their imports: lower rooms know no higher one, pure ones no framework."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Lowest first. The site stands above all and lends its fields, events and page helpers to the shells.
ROOMS = ("twins", "scenarios", "evaluations", "reviews")
PURE = (
    "twins/engine",
    "twins/documents",
    "scenarios/documents",
    "evaluations/grading",
    "evaluations/rehearsal.py",
    "demo/refund",
)
IMPURE_PACKAGES = {"django", "celery", "rest_framework", "kombu", "psycopg", "agenttwin_site"}


def _modules(place: str) -> list[Path]:
    path = ROOT / place
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def _imports(module: Path) -> Iterator[str]:
    package = module.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            yield ".".join([*above, *([node.module] if node.module else [])])


@pytest.mark.parametrize("place", PURE)
def test_a_pure_room_imports_no_framework(place: str) -> None:
    modules = _modules(place)
    assert modules
    found = {
        (module.name, name)
        for module in modules
        for name in _imports(module)
        if name.split(".")[0] in IMPURE_PACKAGES
    }
    assert found == set()


@pytest.mark.parametrize("room", ROOMS)
def test_a_lower_room_never_imports_a_higher_one(room: str) -> None:
    higher = {*ROOMS[ROOMS.index(room) + 1 :], "demo", "bench", "tests"}
    found = {
        (str(module.relative_to(ROOT)), name)
        for module in _modules(room)
        for name in _imports(module)
        if name.split(".")[0] in higher
    }
    assert found == set()
