"""The examples for CI systems are YAML, and each command in them is one the client takes."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.ci.client import CLIENT, ROOT

EXAMPLES = sorted((ROOT / "docs" / "ci").glob("*.yml"))
PAGES = [ROOT / "docs" / "ci.md", ROOT / "README.md"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_the_client_as_it_wants_to_be_run(example: Path) -> None:
    commands = [
        text for text in _texts(yaml.safe_load(example.read_text())) if "agenttwin_ci.py compare" in text
    ]
    assert len(commands) == 2
    for command in commands:
        assert _status(command) == 4, command


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_a_documented_command_is_one_the_client_takes(page: Path) -> None:
    commands = re.findall(r"^(?:\$ )?(python3 agenttwin_ci\.py compare .*)$", page.read_text(), re.MULTILINE)
    assert commands
    for command in commands:
        assert _status(command) == 4, command


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [value] if isinstance(value, str) else []


def _status(command: str) -> int:
    """With neither address nor token: 4 when the arguments are right, 2 when they are not."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    start = words.index("compare")
    end = next((n for n, word in enumerate(words) if n > start and word in (">", "|", "||", ";", "&&")), None)
    arguments = [
        word for word in words[start:end] if word != "--output" and not word.startswith("agenttwin.")
    ]
    return subprocess.run([sys.executable, str(CLIENT), *arguments], env={}, capture_output=True).returncode
