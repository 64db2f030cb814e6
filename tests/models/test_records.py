"""A record of the twin survives the database exactly, on both databases."""

from dataclasses import replace

import pytest

from evaluations.models import ToolCall
from tests.models import factories
from twins.engine.records import CallRecord, RetrievalRecord

pytestmark = pytest.mark.django_db

CALL = CallRecord(
    seq=1,
    call_number=1,
    tool="refund_payment",
    arguments={"z": 1.0, "a": [None, True, "ü"]},
    http_status=504,
    status="timeout",
    error_code="TIMEOUT",
    response={"error": {"code": "TIMEOUT", "message": "too late"}},
    risk="WRITE_IRREVERSIBLE",
    fault="timeout_after_mutation",
    mutated=True,
    expects_mutation=True,
    replayed=False,
    redelivered=True,
    effect_key="",
    cross_tenant=None,
    policy_violation=None,
    changes=({"op": "changed", "path": "a.b", "before": 1, "after": 2.5},),
    delay_ms=20,
    idempotency_key="k-1",
)


@pytest.mark.parametrize(
    "record",
    [CALL, RetrievalRecord(seq=1, query="refund policy", limit=3, documents=(("d1", True), ("d2", False)))],
)
def test_a_record_comes_back_as_it_was(record) -> None:
    case = factories.case()
    ToolCall.objects.bulk_create([ToolCall.from_record(case, record)])
    stored = ToolCall.objects.get().to_record()
    assert stored == record
    assert repr(stored.to_json()) == repr(record.to_json())  # the order of keys and 1.0 too


def test_arguments_too_large_to_keep_are_not_kept() -> None:
    case = factories.case()
    record = replace(CALL, sent_arguments={"big": 1})
    ToolCall.objects.bulk_create([ToolCall.from_record(case.pk, record)])
    assert ToolCall.objects.get().to_record().sent_arguments is None
