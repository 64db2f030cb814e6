"""The audit log: a chain that breaks visibly, in rows the database keeps."""

import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import IntegrityError, connection, transaction
from django.db.models import ProtectedError

from agenttwin_site.events import governance
from reviews import audit
from reviews.chain import FIELDS, GENESIS, entry_hash
from reviews.errors import AuditLogError
from reviews.filters import AuditFilter
from reviews.models import AuditEntry, AuditHead
from tests.reviews.conftest import person
from tests.reviews.tampering import tamper

pytestmark = pytest.mark.django_db


def write(count: int = 1, **fields) -> list[AuditEntry]:
    values = {"action": "thing_done", "subject_type": "thing", **fields}
    return [audit.record(subject_id=number, **values) for number in range(count)]


def broken() -> tuple[int, str]:
    found = audit.verify().broken
    assert found is not None
    return found.sequence, found.kind


# ---------------------------------------------------------------------------------------------- the chain


def test_each_entry_is_chained_to_the_one_before():
    first, second = write(2)
    assert (first.sequence, first.previous_hash) == (1, GENESIS)
    assert (second.sequence, second.previous_hash) == (2, first.entry_hash)
    head = AuditHead.objects.get()
    assert (head.sequence, head.entry_hash) == (2, second.entry_hash)


def test_an_empty_log_is_intact():
    report = audit.verify()
    assert (report.is_intact, report.entries, report.head_hash) == (True, 0, GENESIS)


def test_what_was_written_verifies_whatever_it_holds():
    audit.record(
        action="thing_done",
        subject_type="thing",
        subject_label="a\x00b\ud800",
        before={"tuple": (1, 2.0, -0.0), "large": 10**30, "small": 1e-9, 5: None},
        after=["ünï", "\x00", "\ud800", True],
        note="Zeile\r\nzwei  ",
    )
    entry = AuditEntry.objects.get()
    assert entry.note == "Zeile\nzwei"
    assert entry.before == {"tuple": [1, 2.0, 0.0], "large": 10**30, "small": 1e-9, "5": None}
    assert audit.verify().is_intact


def test_a_record_that_is_rolled_back_with_its_action_leaves_no_gap():
    write(1)
    with transaction.atomic():
        write(1)
        transaction.set_rollback(True)
    write(1)
    assert audit.verify().entries == 2


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE reviews_auditentry SET note = 'x'",
        "DELETE FROM reviews_auditentry",
        "UPDATE reviews_auditentry SET sequence = sequence + 10",
        "DELETE FROM reviews_audithead",
    ],
)
def test_the_database_refuses_to_change_the_log(statement):
    write(2)
    with (
        pytest.raises(IntegrityError, match="written once"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    assert audit.verify().is_intact


# ------------------------------------------------------------------------------------------------ breaking it


@pytest.mark.parametrize(
    "column", ["note", "action", "actor_name", "subject_id", "subject_label", "via", "before", "after"]
)
def test_a_changed_entry_is_found_where_it_is(column):
    write(5, before={"a": 1}, after={"a": 2})
    tamper(f"UPDATE reviews_auditentry SET {column} = '7' WHERE sequence = 3")
    assert broken() == (3, "changed")


def test_a_changed_time_is_found():
    write(3)
    tamper("UPDATE reviews_auditentry SET at = '2020-01-01 00:00:00' WHERE sequence = 2")
    assert broken() == (2, "changed")


def test_an_actor_put_in_somebody_elses_place_is_found(ann, bob):
    start = AuditEntry.objects.count()
    write(2, actor=ann)
    tamper("UPDATE reviews_auditentry SET actor_id = %s WHERE sequence = %s", bob.pk, start + 1)
    assert broken() == (start + 1, "changed")


def test_a_value_that_is_no_json_any_more_is_a_finding_and_no_crash():
    write(3, after={"a": 1})
    tamper("UPDATE reviews_auditentry SET after = '{' WHERE sequence = 2")
    assert broken() == (2, "changed")


def test_an_entry_changed_and_sealed_again_is_found_by_the_next_one():
    entries = write(4)
    fields = audit.hashed_fields(entries[1]) | {"note": "nothing happened"}
    tamper(
        "UPDATE reviews_auditentry SET note = 'nothing happened', entry_hash = %s WHERE sequence = 2",
        entry_hash(fields),
    )
    assert broken() == (2, "changed")


def test_the_last_entry_changed_and_sealed_again_is_found_by_the_head():
    entries = write(3)
    fields = audit.hashed_fields(entries[2]) | {"note": "nothing happened"}
    tamper(
        "UPDATE reviews_auditentry SET note = 'nothing happened', entry_hash = %s WHERE sequence = 3",
        entry_hash(fields),
    )
    assert broken() == (3, "changed")


@pytest.mark.parametrize("removed", [1, 2, 4, 5])
def test_a_removed_entry_is_missed(removed):
    write(5)
    tamper("DELETE FROM reviews_auditentry WHERE sequence = %s", removed)
    assert broken() == (removed, "missing")


def test_a_removed_entry_is_missed_also_when_the_rest_is_numbered_anew():
    write(6)
    tamper("DELETE FROM reviews_auditentry WHERE sequence = 3")
    for number in (4, 5, 6):
        tamper("UPDATE reviews_auditentry SET sequence = %s WHERE sequence = %s", number - 1, number)
    assert broken() == (3, "missing")


def test_entries_that_changed_places_are_called_reordered():
    write(5)
    for old, new in ((2, 99), (3, 2), (99, 3)):
        tamper("UPDATE reviews_auditentry SET sequence = %s WHERE sequence = %s", new, old)
    assert broken() == (2, "reordered")


def test_an_entry_moved_to_the_end_is_called_reordered():
    write(5)
    tamper("UPDATE reviews_auditentry SET sequence = 9 WHERE sequence = 2")
    assert broken() == (2, "reordered")


def test_an_entry_whose_link_alone_was_changed_is_called_changed():
    write(4)
    tamper("UPDATE reviews_auditentry SET previous_hash = %s WHERE sequence = 3", "f" * 64)
    assert broken() == (3, "changed")


def test_a_log_emptied_together_with_its_head_is_found_by_an_anchor():
    noted = write(3)[1]
    anchor = (noted.sequence, noted.entry_hash)
    assert audit.verify(anchor).is_intact
    tamper("DELETE FROM reviews_auditentry")
    tamper("UPDATE reviews_audithead SET sequence = 0, entry_hash = %s", GENESIS)
    assert audit.verify().is_intact
    assert audit.verify(anchor).broken.kind == "missing"
    write(3)
    assert (audit.verify(anchor).broken.sequence, audit.verify(anchor).broken.kind) == (2, "changed")


def test_a_log_without_its_head_is_not_continued():
    write(1)
    tamper("DELETE FROM reviews_audithead")
    with pytest.raises(AuditLogError):
        write(1)
    assert broken()[1] in ("reordered", "missing")


def test_verifying_reads_in_chunks(monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(audit, "CHUNK", 10)
    write(35)
    # The end, the head, and four chunks and the look behind the last.
    with django_assert_num_queries(7):
        assert audit.verify().entries == 35


# ---------------------------------------------------------------------------------------------- the command


def run_command(*arguments: str) -> tuple[int, str]:
    out = io.StringIO()
    try:
        call_command("verify_audit", *arguments, stdout=out, stderr=out)
    except SystemExit as left:
        return int(left.code or 0), out.getvalue()
    return 0, out.getvalue()


def test_the_command_says_intact_and_where_the_log_ends():
    last = write(3)[-1]
    assert run_command() == (
        0,
        f"intact: 3 entries, and every decision is as it was recorded\nhead 3:{last.entry_hash}\n",
    )
    assert run_command("--anchor", f"3:{last.entry_hash}")[0] == 0


def test_the_command_fails_and_says_where_and_why():
    write(3)
    tamper("UPDATE reviews_auditentry SET note = 'x' WHERE sequence = 2")
    status, text = run_command()
    assert status == 1
    assert "BROKEN at entry 2 (changed)" in text


def test_an_anchor_that_is_none_is_a_wrong_argument():
    with pytest.raises(CommandError) as refusal:
        run_command("--anchor", "3")
    assert refusal.value.returncode == 2


# ------------------------------------------------------------------------------------------- what is recorded


def test_what_other_rooms_announce_is_recorded(ann):
    from twins.models import Twin

    governance.send(
        sender=Twin,
        action="twin_version_created",
        actor=ann,
        subject="twin shop",
        before=None,
        after={"version": 1, "digest": "d"},
        note="",
    )
    entry = AuditEntry.objects.get(action="twin_version_created")
    assert (entry.actor, entry.subject_type, entry.subject_id, entry.via) == (ann, "twin", "shop", "command")
    assert entry.after == {"version": 1, "digest": "d"}


def test_saving_a_twin_leaves_one_record_per_version(ann):
    from twins.services import save_twin

    handler = {"kind": "static", "response": 1}
    document = {
        "apiVersion": "agenttwin.dev/v1",
        "kind": "TwinDefinition",
        "metadata": {"name": "shop"},
        "spec": {"tools": {"look": {"handler": handler}}},
    }
    save_twin(document=document, actor=ann)
    save_twin(document=document, actor=ann)
    entry = AuditEntry.objects.get(action="twin_version_created")
    assert (entry.actor_name, entry.subject_id, entry.after["version"]) == ("ann", "shop", 1)


def test_an_account_with_entries_cannot_be_deleted(ann):
    write(1, actor=ann)
    with pytest.raises(ProtectedError):
        ann.delete()


def test_the_name_stays_when_the_account_is_renamed_and_deactivated(ann):
    write(1, actor=ann)
    ann.username, ann.is_active = "former", False
    ann.save()
    entry = AuditEntry.objects.get(action="thing_done")
    assert (entry.actor_name, entry.actor.username) == ("ann", "former")


# -------------------------------------------------------------------------------------------------- filters


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, 3),
        ({"actor": "ann"}, 1),
        ({"action": "b_done"}, 1),
        ({"subject_type": "thing"}, 2),
        ({"subject_type": "thing", "subject_id": "7"}, 1),
        ({"text": "REFUND"}, 1),
        ({"via": "token ci"}, 1),
        ({"since": "2000-01-01", "until": "2999-01-01"}, 3),
        ({"since": "2999-01-01"}, 0),
        ({"until": "2000-01-01"}, 0),
        ({"actor": "ann", "action": "b_done"}, 0),
    ],
)
def test_entries_are_filtered(db, query, found):
    ann = person("ann")
    start = AuditEntry.objects.count()
    audit.record(action="a_done", subject_type="thing", subject_id=7, actor=ann)
    audit.record(action="b_done", subject_type="thing", note="A refund went out.", via="token ci")
    audit.record(action="c_done", subject_type="other")
    entries = AuditEntry.objects.filter(sequence__gt=start)
    assert entries.matching(AuditFilter.from_query(query)).count() == found


def test_a_day_that_is_none_is_said_and_filters_nothing():
    wanted = AuditFilter.from_query({"since": "yesterday", "until": "2026-02-30", "text": " a\x00 "})
    assert [problem.split(":")[0] for problem in wanted.problems] == ["since", "until"]
    assert (wanted.since, wanted.before) == (None, None)
    assert AuditFilter.from_query({}).is_empty


def test_a_filter_survives_the_address():
    wanted = AuditFilter.from_query({"actor": "ann & bob", "until": "2026-01-31"})
    assert wanted.to_query() == "actor=ann+%26+bob&until=2026-01-31"
    assert wanted.before.isoformat() == "2026-02-01T00:00:00+00:00"


def test_the_list_of_a_hundred_entries_takes_one_query(ann, django_assert_num_queries):
    write(100, actor=ann)
    with django_assert_num_queries(1):
        rows = list(AuditEntry.objects.matching(AuditFilter(actor="ann")).for_list())
        assert {row.actor.username for row in rows} == {"ann"}
    assert len(rows) == 100
    assert [row.sequence for row in AuditEntry.objects.for_list().older_than(rows[1].sequence)[:1]] == [
        rows[2].sequence
    ]


def test_an_outsider_can_check_the_export_with_a_few_lines():
    import hashlib

    from reviews.exports import json_lines
    from scenarios.holdouts import EVERYTHING

    write(3, before={"ü": [1, 2.5]}, note="ünï")
    previous = GENESIS
    for entry in json.loads("".join(json_lines(AuditEntry.objects.all(), EVERYTHING))):
        claimed = entry.pop("entry_hash")
        assert set(entry) == set(FIELDS)
        text = json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(text.encode()).hexdigest() == claimed
        assert entry["previous_hash"] == previous
        previous = claimed
