"""The engine is pure: what it may import is written down here, and nothing else."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ENGINE = Path(__file__).parents[2] / "twins" / "engine"
MODULES = sorted(ENGINE.glob("*.py"))
ALLOWED = {
    "__future__",
    "ast",
    "collections",
    "dataclasses",
    "enum",
    "functools",
    "hashlib",
    "json",
    "jsonschema",
    "math",
    "operator",
    "re",
    "re2",
    "referencing",
    "threading",
    "types",
    "typing",
}


def imported_roots(module: Path) -> set[str]:
    roots: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            roots.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 1, f"{module.name} reaches out of the room"
    return roots


def test_there_are_modules_to_look_at():
    assert len(MODULES) > 15


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_module_imports_only_what_a_pure_room_may(module: Path):
    assert imported_roots(module) <= ALLOWED


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_module_opens_prints_and_reads_no_clock(module: Path):
    names = {node.id for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Name)}
    assert not names & {"open", "print", "input", "time", "datetime", "random", "hash", "logging", "os"}


def test_importing_the_engine_loads_no_django():
    code = (
        "import sys, twins.engine; print([m for m in sys.modules if m.split('.')[0] in ('django', 'celery')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ENGINE.parents[1], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
