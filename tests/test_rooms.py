"""The order of the rooms, read off their imports: lower rooms know no higher one, pure ones no framework."""

import ast
import os
import subprocess
import sys
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
    "evaluations/gate",
    "evaluations/judges",
    "evaluations/labelling",
    "evaluations/rehearsal.py",
    "evaluations/controls",
    "demo",
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


# The settings name classes that frameworks import when first asked for, in an order that differs from one
# process to the next (Django's checks are a set of functions, ordered by address): a cycle fails at random.
_IMPORT_EACH_FIRST = """
import os, sys
import django
django.setup()
for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        try:
            __import__(name)
        except ImportError as problem:
            print(f"{name}: {problem}", flush=True)
            os._exit(1)
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_each_module_that_a_framework_asks_for_can_be_the_first_one_imported() -> None:
    modules = [*_modules("agenttwin_site/api"), ROOT / "reviews/api/credentials.py"]
    names = {".".join(module.relative_to(ROOT).with_suffix("").parts) for module in modules}
    names = {name for name in names if "__init__" not in name} | {"agenttwin_site.error_pages"}
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_EACH_FIRST, *sorted(names)],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "agenttwin_site.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
