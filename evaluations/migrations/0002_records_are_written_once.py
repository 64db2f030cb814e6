"""The database refuses to change what was registered, recorded and graded."""

from django.db import migrations

from twins.row_guards import Frozen, install, remove

GUARDS = [
    Frozen("evaluations_agentversion", unique=(("id",), ("agent_id", "version"))),
    # Its key is a hash of its content: storing it again changes nothing and is no error.
    Frozen("evaluations_statesnapshot", unique=(("digest",),), same_key_is_ignored=True),
    Frozen("evaluations_toolcall", unique=(("id",), ("case_id", "seq"))),
    # A review moves the effective status and nothing else.
    Frozen(
        "evaluations_expectationresult",
        except_columns=("effective_status",),
        unique=(("id",), ("case_id", "expectation_id")),
    ),
    # A finished case keeps what was measured; a lease may still be cleared and a review moves the effective verdict.
    Frozen(
        "evaluations_case",
        when="state = 'FINISHED'",
        except_columns=("effective_verdict", "claim_token", "lease_expires_at"),
        unique=(("id",), ("run_id", "pair_id")),
    ),
]


def forwards(apps, schema_editor):
    for guard in GUARDS:
        install(guard, schema_editor)


def backwards(apps, schema_editor):
    for guard in GUARDS:
        remove(guard, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("evaluations", "0001_initial")]
    operations = [migrations.RunPython(forwards, backwards)]
