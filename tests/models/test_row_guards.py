"""What was written once stays: the database itself refuses, whatever the application would do.

Raw SQL only: the rules must hold for somebody who comes past the application. The whole module runs on the
configured database; `test_on_postgresql` runs it on a PostgreSQL server too.
"""

import importlib

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from evaluations.models import Case, ExpectationResult, StateSnapshot
from tests.models import factories
from tests.triggers import installed_triggers, triggers_lifted
from twins.row_guards import Frozen, trigger_names

pytestmark = pytest.mark.django_db

MIGRATIONS = (
    "twins.migrations.0002_versions_are_written_once",
    "scenarios.migrations.0002_versions_are_written_once",
    "evaluations.migrations.0002_records_are_written_once",
    "evaluations.migrations.0003_manual_sessions",
    "evaluations.migrations.0004_calibration",
    "evaluations.migrations.0008_release_gate",
    "scenarios.migrations.0003_datasets",
    "evaluations.migrations.0005_dataset_uses",
    "evaluations.migrations.0009_judging",
    "evaluations.migrations.0012_suite_checks",
    "scenarios.migrations.0004_generated_scenarios",
)
GUARDS: list[Frozen] = [guard for name in MIGRATIONS for guard in importlib.import_module(name).GUARDS]

# Table, the row a test writes, and one column with another value for it.
WRITTEN_ONCE = [
    ("twins_twinversion", factories.twin_version, "source_text"),
    ("twins_twinversion", factories.twin_version, "document"),
    ("twins_twinversion", factories.twin_version, "digest"),
    ("scenarios_scenarioversion", factories.scenario_version, "source_text"),
    ("scenarios_scenarioversion", factories.scenario_version, "twin_name"),
    ("scenarios_scenarioversion", factories.scenario_version, "source"),
    ("scenarios_scenarioapproval", factories.scenario_approval, "note"),
    ("scenarios_datasetversion", factories.dataset_version, "sha256"),
    ("scenarios_datasetversion", factories.dataset_version, "purpose"),
    ("scenarios_datasetcase", lambda: factories.dataset_version().cases.get(), "case_id"),
    ("scenarios_datasetcase", lambda: factories.dataset_version().cases.get(), "why"),
    ("evaluations_suitecheckcase", lambda: factories.suite_check().cases.get(), "reason"),
    ("evaluations_agentversion", factories.agent_version, "version"),
    ("evaluations_agentversion", factories.agent_version, "document"),
    ("evaluations_statesnapshot", lambda: factories.pair().initial_state, "state"),
    ("evaluations_toolcall", lambda: factories.finished_case().tool_calls.get(), "tool"),
    ("evaluations_toolcall", lambda: factories.finished_case().tool_calls.get(), "response"),
    ("evaluations_expectationresult", lambda: factories.finished_case().results.get(), "reason"),
    ("evaluations_expectationresult", lambda: factories.finished_case().results.get(), "evidence"),
    ("evaluations_judgeverdict", factories.judge_verdict, "shown"),
    ("evaluations_judgeverdict", factories.judge_verdict, "answered"),
    ("evaluations_judgeverdict", factories.judge_verdict, "score"),
    ("evaluations_criterionversion", factories.criterion_version, "rubric"),
    ("evaluations_example", factories.example, "material"),
    ("evaluations_example", factories.example, "source"),
    ("evaluations_label", factories.label, "label"),
    ("evaluations_calibration", factories.completed_calibration, "decision"),
    ("evaluations_gatepolicyversion", factories.gate_policy_version, "document"),
    ("evaluations_gatedecision", factories.gate_decision, "content"),
    ("evaluations_gatedecision", factories.gate_decision, "outcome"),
    ("evaluations_gateoverride", factories.gate_override, "reason"),
    ("evaluations_gateoverride", factories.gate_override, "ticket"),
    ("evaluations_calibrationresult", lambda: factories.completed_calibration().results.get(), "reason"),
]


def execute(sql: str, *params: object) -> None:
    """Run raw SQL in a savepoint, so that the test can look at the rows after a refusal."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, params)


def value(table: str, column: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT "{column}" FROM "{table}"')
        return cursor.fetchone()[0]


def test_every_guard_is_installed() -> None:
    wanted = {name for guard in GUARDS for name in trigger_names(guard, connection.vendor)}
    assert wanted <= installed_triggers(connection)


@pytest.mark.parametrize(("table", "row", "column"), WRITTEN_ONCE)
def test_update_is_refused(table, row, column) -> None:
    row()
    before = value(table, column)
    with pytest.raises(IntegrityError, match=table):
        execute(f'UPDATE "{table}" SET "{column}" = %s', 0.25 if isinstance(before, float) else "new")
    assert value(table, column) == before


NOT_ONLY_TEXT = {"evaluations_case", "evaluations_datasetuse", "evaluations_suitecheck"}


@pytest.mark.parametrize("table", sorted({table for table, _, _ in WRITTEN_ONCE} | NOT_ONLY_TEXT))
def test_delete_is_refused(table) -> None:
    factories.finished_case()
    factories.label(factories.completed_calibration().results.get().example)
    factories.gate_override()
    factories.suite_check(dataset_version=factories.dataset_use().dataset_version)
    factories.judge_verdict()
    factories.scenario_approval()
    with pytest.raises(IntegrityError, match=table):
        execute(f'DELETE FROM "{table}"')
    assert value(table, "digest" if table == "evaluations_statesnapshot" else "id")


@pytest.mark.parametrize("table", sorted({guard.table for guard in GUARDS}))
def test_truncate_is_refused(table) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no TRUNCATE: an unconditional DELETE is the same and is refused above")
    factories.finished_case()
    # PostgreSQL also complains of deferred foreign key checks of this very transaction: settle them first.
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    with pytest.raises(DatabaseError, match="is written once"):
        execute(f'TRUNCATE "{table}" CASCADE')


@pytest.mark.parametrize(
    ("table", "row", "column"),
    # A snapshot has its own test below; another version of an agent and another calibration are new rows.
    [
        case
        for case in WRITTEN_ONCE
        if case[0] not in ("evaluations_statesnapshot", "evaluations_calibration") and case[2] != "version"
    ]
    + [("evaluations_case", factories.finished_case, "error_reason")],
)
def test_replacing_a_row_by_an_insert_is_refused(table, row, column) -> None:
    """SQLite's INSERT OR REPLACE deletes without firing a delete trigger, by any unique key."""
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL has no REPLACE: ON CONFLICT DO UPDATE is an update and is refused above")
    row()
    before = value(table, column)
    with connection.cursor() as cursor:
        columns = [c.name for c in connection.introspection.get_table_description(cursor, table)]
    for forget_id in (False, True):
        into = ", ".join(f'"{name}"' for name in columns if not (forget_id and name == "id"))
        chosen = into.replace(f'"{column}"', "'new'")
        with pytest.raises(IntegrityError, match=table):
            execute(f'INSERT OR REPLACE INTO "{table}" ({into}) SELECT {chosen} FROM "{table}"')
    assert value(table, column) == before


def test_a_use_of_a_dataset_is_not_moved_to_another_candidate() -> None:
    factories.dataset_use()
    factories.judge_verdict()
    other = factories.agent_version(version="2.0.0")
    with pytest.raises(IntegrityError, match="evaluations_datasetuse"):
        execute("UPDATE evaluations_datasetuse SET agent_version_id = %s", other.pk)


def test_a_snapshot_stored_again_changes_nothing_and_is_no_error() -> None:
    factories.pair()
    rows = [StateSnapshot(digest="5" * 64, state={"other": 1}), StateSnapshot(digest="6" * 64, state={})]
    StateSnapshot.objects.bulk_create(rows, ignore_conflicts=True)
    assert StateSnapshot.objects.get(digest="5" * 64).state == {"orders": {}}
    assert StateSnapshot.objects.filter(digest="6" * 64).exists()


def test_a_snapshot_cannot_be_replaced() -> None:
    factories.pair()
    if connection.vendor == "sqlite":
        execute("INSERT OR REPLACE INTO evaluations_statesnapshot (digest, state) VALUES (%s, '1')", "5" * 64)
    else:
        with pytest.raises(IntegrityError):
            execute(
                "INSERT INTO evaluations_statesnapshot (digest, state) VALUES (%s, '1') "
                "ON CONFLICT (digest) DO UPDATE SET state = '1'",
                "5" * 64,
            )
    assert StateSnapshot.objects.get().state == {"orders": {}}


def test_effective_status_alone_may_change() -> None:
    row = factories.finished_case().results.get()
    execute("UPDATE evaluations_expectationresult SET effective_status = 'PASS'")
    row.refresh_from_db()
    assert (row.status, row.effective_status) == ("FAIL", "PASS")


@pytest.mark.parametrize(
    ("column", "other"),
    [("status", "PASS"), ("critical", False), ("label", "X"), ("expectation_id", "e2"), ("position", 9)],
)
def test_nothing_rides_along_with_the_effective_status(column, other) -> None:
    factories.finished_case()
    with pytest.raises(IntegrityError, match="written once"):
        execute(
            f"UPDATE evaluations_expectationresult SET effective_status = 'PASS', \"{column}\" = %s", other
        )
    assert ExpectationResult.objects.get().effective_status == "FAIL"


MEASURED = [
    ("state", "QUEUED"),
    ("verdict", "PASSED"),
    ("attempts", 2),
    ("used_seed", 8),
    ("initial_state_digest", "x"),
    ("final_state_digest", "x"),
    ("answer", "{}"),
    ("claimed_outcome", None),
    ("contradiction", True),
    ("error_reason", "x"),
    ("tool_call_count", 0),
    ("retry_count", 4),
    ("metrics", '{"steps": 1}'),
    ("finished_at", None),
    ("started_at", "2026-01-01T00:00:00Z"),
]


@pytest.mark.parametrize(("column", "other"), MEASURED)
def test_what_was_measured_of_a_finished_case_is_frozen(column, other) -> None:
    factories.finished_case()
    with pytest.raises(IntegrityError, match="evaluations_case"):
        execute(f"UPDATE evaluations_case SET effective_verdict = 'PASSED', \"{column}\" = %s", other)
    assert Case.objects.get().effective_verdict == "FAILED"


def test_effective_verdict_and_lease_of_a_finished_case_may_change() -> None:
    row = factories.finished_case(claim_token="t")
    execute(
        "UPDATE evaluations_case SET effective_verdict = 'PASSED', claim_token = '', lease_expires_at = NULL"
    )
    row.refresh_from_db()
    assert (row.verdict, row.effective_verdict, row.claim_token) == ("FAILED", "PASSED", "")


def test_an_unfinished_case_is_open_to_its_worker() -> None:
    row = factories.case()
    execute(
        "UPDATE evaluations_case SET state = 'FINISHED', verdict = 'PASSED', effective_verdict = 'PASSED', "
        "finished_at = '2026-01-01T00:00:00Z', answer = '{}'"
    )
    row.refresh_from_db()
    assert row.verdict == "PASSED"


@pytest.mark.django_db(transaction=True)
def test_lifting_the_triggers_for_a_flush_brings_every_one_back() -> None:
    before = installed_triggers(connection)
    factories.finished_case()
    with triggers_lifted(connection):
        assert not installed_triggers(connection)
    assert installed_triggers(connection) == before
    with pytest.raises(IntegrityError):
        execute("DELETE FROM evaluations_toolcall")
