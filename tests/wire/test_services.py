"""Sessions as rows: what is stored of them, and what closing takes away."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from tests.wire import documents
from tests.wire.documents import SECRET, fault
from twins.models import TwinVersion
from twins.services import save_twin
from twins.wire import services
from twins.wire.errors import NotAdmittedError, SessionClosedError, SessionGoneError
from twins.wire.models import WireRecord, WireSession
from twins.wire.specs import SessionSpec

pytestmark = pytest.mark.django_db


@pytest.fixture
def version() -> TwinVersion:
    return save_twin(document=documents.twin())[0]


def _open(version: TwinVersion, **spec: Any) -> tuple[WireSession, services.Admission]:
    whole = SessionSpec(twin_version_id=version.pk, **spec)
    session, token = services.open_session(spec=whole, label="a test", lifetime_seconds=60)
    return session, services.admit(session.public_id, token)


def test_only_the_hash_of_a_token_is_stored(version: TwinVersion) -> None:
    session, token = services.open_session(
        spec=SessionSpec(twin_version_id=version.pk), label="a test", lifetime_seconds=60
    )
    session.refresh_from_db()
    assert session.token_hash == hashlib.sha256(token.encode()).hexdigest()
    assert token not in repr(WireSession.objects.filter(pk=session.pk).values().get())
    assert len(token) >= 32


def test_two_sessions_have_nothing_in_common_but_their_case(version: TwinVersion) -> None:
    one, other = _open(version)[0], _open(version)[0]
    assert one.public_id != other.public_id
    assert one.token_hash != other.token_hash
    assert one.spec_digest == other.spec_digest


def test_a_spec_survives_being_stored(version: TwinVersion) -> None:
    spec = SessionSpec(
        twin_version_id=version.pk,
        seed=7,
        state_patch={"count": 3, "orders": {"A-2": None}},
        faults=(fault("http_500"),),
        allowed_tools=("count",),
        tenant="a",
        now="2027-01-01T00:00:00Z",
        documents=({"id": "d", "title": "d", "text": "t", "trusted": False},),
        max_calls=9,
    )
    session, _ = services.open_session(spec=spec, label="a test", lifetime_seconds=60)
    session.refresh_from_db()
    assert SessionSpec.from_json(session.spec) == spec
    case = spec.case_spec()
    assert case.initial_state["count"] == 3
    assert set(case.initial_state["orders"]) == {"A-1"}
    assert (case.seed, case.tenant, case.allowed_tools) == (7, "a", frozenset({"count"}))


def test_an_empty_list_of_allowed_tools_allows_nothing(version: TwinVersion) -> None:
    assert (
        SessionSpec.from_json(
            SessionSpec(twin_version_id=version.pk, allowed_tools=()).to_json()
        ).allowed_tools
        == ()
    )


def test_a_spec_that_does_not_compile_opens_nothing(version: TwinVersion) -> None:
    with pytest.raises(KeyError):
        _open(version, faults=({"target": "*", "behavior": {"type": "unheard_of"}},))
    with pytest.raises(TwinVersion.DoesNotExist):
        services.open_session(spec=SessionSpec(twin_version_id=0), label="x", lifetime_seconds=1)
    assert WireSession.objects.count() == 0


def test_closing_hands_over_real_values_and_keeps_none(version: TwinVersion) -> None:
    session, admission = _open(version)
    services.call(admission, "echo", {"text": SECRET})
    services.search(admission, SECRET)
    closed = services.close_session(session.pk)
    assert closed.records[0].arguments == {"text": SECRET}
    assert closed.records[1].query == SECRET
    assert closed.state.seq == 2
    assert WireRecord.objects.count() == 0
    assert WireSession.objects.get().spec is None


def test_arguments_too_large_to_keep_are_there_for_the_checks(version: TwinVersion) -> None:
    session, admission = _open(version)
    services.call(admission, "echo", {"text": SECRET + "x" * 300_000})
    [record] = services.close_session(session.pk).records
    assert record.sent_arguments["text"].startswith(SECRET)


def test_what_is_recorded_in_part_is_there_for_the_checks(version: TwinVersion) -> None:
    session, admission = _open(version)
    services.call(admission, "x" * 100 + SECRET, {})
    services.search(admission, "x" * 20_000 + SECRET)
    records = services.close_session(session.pk).records
    assert [[text[-len(SECRET) :] for text in record.sent_texts] for record in records] == [[SECRET]] * 2


def test_the_key_of_a_call_is_handed_over(version: TwinVersion) -> None:
    session, admission = _open(version)
    services.call(admission, "refund", {"order_id": "A-1", "amount": 1, "key": "k"})
    assert services.close_session(session.pk).records[0].idempotency_key == "k"


def test_a_closed_session_is_gone(version: TwinVersion) -> None:
    session, admission = _open(version)
    services.close_session(session.pk)
    with pytest.raises(SessionGoneError):
        services.close_session(session.pk)
    with pytest.raises(SessionClosedError):
        services.call(admission, "count", {})
    with pytest.raises(SessionClosedError):
        services.check_open(admission)


def test_evidence_that_is_not_stored_is_not_taken(version: TwinVersion) -> None:
    """Closing inside a transaction that fails leaves the session as it was."""
    session, admission = _open(version)
    services.call(admission, "count", {})
    with transaction.atomic():
        services.close_session(session.pk)
        transaction.set_rollback(True)
    assert len(services.close_session(session.pk).records) == 1


def test_ended_early_says_why(version: TwinVersion) -> None:
    session, admission = _open(version, max_calls=1)
    services.call(admission, "count", {})
    assert services.ended_early(session.pk) is None
    with pytest.raises(SessionClosedError, match="more than 1 tool calls"):
        services.call(admission, "count", {})
    assert services.ended_early(session.pk) == "more than 1 tool calls"


def test_searches_have_a_limit_of_their_own(version: TwinVersion) -> None:
    session, admission = _open(version, max_calls=1)
    for _ in range(services.FEWEST_SEARCHES):
        services.search(admission, "refund")
    with pytest.raises(SessionClosedError, match="more than 200 searches"):
        services.search(admission, "refund")
    assert len(services.close_session(session.pk).records) == services.FEWEST_SEARCHES


def test_a_state_that_was_never_committed_is_not_remembered(version: TwinVersion) -> None:
    session, admission = _open(version)
    with transaction.atomic():
        services.call(admission, "count", {})
        transaction.set_rollback(True)
    assert services.call(admission, "count", {}).reply.body == {"result": {"count": 1}}
    assert services.close_session(session.pk).state.root["count"] == 1


def test_a_session_is_never_emptied_while_its_token_works(version: TwinVersion) -> None:
    session, _ = _open(version)
    with pytest.raises(IntegrityError), transaction.atomic():
        WireSession.objects.filter(pk=session.pk).update(emptied_at=timezone.now(), spec=None)


def test_a_record_is_there_once(version: TwinVersion) -> None:
    session, admission = _open(version)
    services.call(admission, "count", {})
    with pytest.raises(IntegrityError), transaction.atomic():
        WireRecord.objects.create(session=session, seq=1, record={})


@pytest.mark.parametrize("token", ["", "wrong", "\ud800", "ü"])
def test_another_token_is_not_admitted(version: TwinVersion, token: str) -> None:
    session, _ = _open(version)
    for known in (session.public_id, "nobody"):
        with pytest.raises(NotAdmittedError):
            services.admit(known, token)
