"""The grading room and the rehearsal can be read, tested and run without Django."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PURE = [*sorted((ROOT / "evaluations" / "grading").rglob("*.py")), ROOT / "evaluations" / "rehearsal.py"]
ALLOWED = ("evaluations.grading", "scipy.stats", "scenarios.documents", "twins.documents", "twins.engine")


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_standard_library_and_pure_rooms_are_imported(path: Path) -> None:
    foreign = [
        name
        for name in imported(path)
        if name.partition(".")[0] not in sys.stdlib_module_names and not name.startswith(ALLOWED)
    ]
    assert foreign == []


def test_grading_knows_no_documents() -> None:
    names = set().union(*(imported(path) for path in PURE if path.name != "rehearsal.py"))
    assert not any(name.startswith(("scenarios", "twins.documents")) for name in names)


def test_a_rehearsal_runs_where_django_cannot_be_imported() -> None:
    code = (
        "import sys; sys.modules['django'] = None\n"
        "from evaluations.rehearsal import rehearse\n"
        "from tests.grading.building import scenario, twin\n"
        "print(rehearse(twin(), scenario([{'type': 'maxSteps', 'value': 1}]))['verdict'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("PASSED\n", "")
