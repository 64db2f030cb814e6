"""Every vector through the function, through the command in this process, and some as a real process."""

from __future__ import annotations

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from evaluations.rehearsal import DocumentError, rehearse
from tests.conformance.vectors import Vector, disagreement, vectors

VECTORS = vectors()
ROOT = Path(__file__).parents[2]
#: One per exit status, one with raw text, one with redaction.
AS_PROCESS = {
    "scenario-smallest-for-a-rehearsal": 0,
    "story-reminders-outbox-never-delivers": 1,
    "verdict-critical-skipped-is-errored": 1,
    "problems-line-numbers": 2,
    "redaction-of-the-printed-output": 1,
}

every_vector = pytest.mark.parametrize("vector", VECTORS, ids=[vector.name for vector in VECTORS])


def expected_status(vector: Vector, verdict: str | None) -> int:
    if vector.expects_refusal:
        return 2
    return 1 if verdict in ("FAILED", "ERRORED") else 0


def run_command(arguments: list[str]) -> tuple[int, str, str]:
    """(exit status, stdout, stderr) of the command in this process."""
    out, err = StringIO(), StringIO()
    try:
        call_command("rehearse", *arguments, stdout=out, stderr=err)
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    return status, out.getvalue(), err.getvalue()


def missing_problems(vector: Vector, lines: list[str]) -> list[str]:
    return [text for text in vector.fields["expect_problems"] if not any(text in line for line in lines)]


def test_there_are_vectors() -> None:
    assert len(VECTORS) >= 60
    assert {vector.fields["name"] for vector in VECTORS} == {vector.name for vector in VECTORS}


@every_vector
def test_function_agrees(vector: Vector) -> None:
    if vector.expects_refusal:
        with pytest.raises(DocumentError) as refused:
            rehearse(**vector.values(), seed=vector.seed, trial=vector.trial)
        assert refused.value.problems
        return
    result = rehearse(**vector.values(), seed=vector.seed, trial=vector.trial)
    assert disagreement(vector.fields["expect"], result) is None
    assert list(result) == ["seed", "replies", "records", "final_state", "results", "verdict"]


@every_vector
def test_command_agrees(vector: Vector, tmp_path: Path) -> None:
    status, out, err = run_command(vector.write(tmp_path))
    if vector.expects_refusal:
        assert status == 2
        assert out == ""
        assert missing_problems(vector, err.splitlines()) == []
        return
    result = json.loads(out)
    assert disagreement(vector.fields["expect"], result) is None
    assert status == expected_status(vector, result["verdict"])
    assert err == ""


@every_vector
def test_same_bytes_again(vector: Vector) -> None:
    if not vector.expects_refusal:
        first, again = (
            json.dumps(rehearse(**vector.values(), seed=vector.seed, trial=vector.trial)) for _ in range(2)
        )
        assert first == again


@pytest.mark.parametrize("name", sorted(AS_PROCESS))
def test_process_agrees(name: str, tmp_path: Path) -> None:
    vector = next(vector for vector in VECTORS if vector.name == name)
    done = subprocess.run(
        [sys.executable, "manage.py", "rehearse", *vector.write(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == AS_PROCESS[name], done.stderr
    if vector.expects_refusal:
        assert done.stdout == ""
        assert missing_problems(vector, done.stderr.splitlines()) == []
    else:
        assert disagreement(vector.fields["expect"], json.loads(done.stdout)) is None
