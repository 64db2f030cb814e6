"""The audit log as files: nothing a spreadsheet would run, nothing loaded whole."""

import csv
import io
import json

import pytest

from reviews import audit
from reviews.exports import COLUMNS, csv_lines, json_lines, safe_cell
from reviews.models import AuditEntry
from scenarios.holdouts import EVERYTHING


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "=cmd|' /C calc'!A0",
        "  =1",
        "＝1",
        "－1",
        "\u00a0=1",
        "-",
    ],
)
def test_a_cell_that_looks_like_a_formula_starts_with_an_apostrophe(text):
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "refund", "1=1", "a\t=b", "'quoted", "{}", "2026-01-01"])
def test_other_cells_stay_as_they_are(text):
    assert safe_cell(text) == text


@pytest.mark.django_db
def test_the_csv_holds_every_entry_with_safe_cells():
    audit.record(
        action="a",
        subject_type="t",
        subject_label='=HYPERLINK("http://x")',
        note='say "no", then\n=2',
        after={"a": 1},
    )
    audit.record(action="b", subject_type="t", note="+49 30")
    rows = list(
        csv.DictReader(io.StringIO("".join(csv_lines(AuditEntry.objects.all(), EVERYTHING)), newline=""))
    )
    assert tuple(rows[0]) == COLUMNS
    assert [row["sequence"] for row in rows] == ["1", "2"]
    assert rows[0]["subject_label"] == '\'=HYPERLINK("http://x")'
    assert rows[0]["note"] == 'say "no", then\n=2'
    assert json.loads(rows[0]["after"]) == {"a": 1}
    assert (rows[0]["before"], rows[1]["note"]) == ("", "'+49 30")


@pytest.mark.django_db
def test_the_json_holds_what_was_hashed_unchanged():
    entry = audit.record(action="a", subject_type="t", note="=1+1", before=None, after={"ü": [1]})
    (exported,) = json.loads("".join(json_lines(AuditEntry.objects.all(), EVERYTHING)))
    assert (exported["note"], exported["before"], exported["after"]) == ("=1+1", None, {"ü": [1]})
    assert exported["entry_hash"] == entry.entry_hash


@pytest.mark.django_db
def test_an_empty_log_is_an_empty_list_and_a_header():
    assert json.loads("".join(json_lines(AuditEntry.objects.none(), EVERYTHING))) == []
    assert len(list(csv_lines(AuditEntry.objects.none(), EVERYTHING))) == 1


@pytest.mark.django_db
def test_exports_read_in_chunks_and_obey_the_filter(monkeypatch, django_assert_num_queries):
    from reviews import exports

    monkeypatch.setattr(exports, "CHUNK", 10)
    for number in range(25):
        audit.record(action="even" if number % 2 == 0 else "odd", subject_type="t")
    with django_assert_num_queries(3):
        lines = list(csv_lines(AuditEntry.objects.filter(action="even"), EVERYTHING))
    assert len(lines) == 14
