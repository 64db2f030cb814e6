"""`manage.py import_examples`: files of examples, all or none, every problem on a line of its own."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from evaluations.models import Criterion, Example

pytestmark = pytest.mark.django_db

DOCUMENT = "criterion: handover\nrubric: It says so.\nexamples: [{answer: One.}]\n"


def run(*arguments: str) -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    try:
        call_command("import_examples", *arguments, stdout=out, stderr=err)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def test_files_are_stored_in_their_order_and_known_ones_are_told(tmp_path: Path) -> None:
    document, lines = tmp_path / "a.yaml", tmp_path / "b.jsonl"
    document.write_text(DOCUMENT)
    lines.write_text('{"answer": "One."}\n{"answer": "Two."}\n')
    status, out, _ = run(str(document), str(lines), "--criterion", "handover")
    assert status == 0
    assert out.splitlines() == [
        f"handover version 1: 1 new, 0 known ({document})",
        f"handover version 1: 1 new, 1 known ({lines})",
    ]
    assert list(Example.objects.order_by("pk").values_list("source", flat=True)) == [
        "from a.yaml",
        "from b.jsonl",
    ]


def test_a_problem_anywhere_stores_nothing_and_all_are_told(tmp_path: Path) -> None:
    good, bad = tmp_path / "a.yaml", tmp_path / "b.jsonl"
    good.write_text(DOCUMENT)
    bad.write_text('{"answer": "One."}\n{"answr": "Two."}\n')
    nowhere = str(tmp_path / "nowhere.yaml")
    status, out, err = run(str(good), str(bad), nowhere)
    assert (status, out) == (2, "")
    assert [line.partition(": ")[0] for line in err.splitlines()] == [f"{bad}:2", f"{bad}:2", nowhere]
    assert "cannot be read: No such file or directory" in err
    assert not Criterion.objects.exists()


def test_lines_without_a_criterion_are_refused(tmp_path: Path) -> None:
    lines = tmp_path / "b.jsonl"
    lines.write_text('{"answer": "One."}\n')
    status, _, err = run(str(lines))
    assert (status, err) == (2, f"{lines}: criterion: is required: nothing else says it\n")
