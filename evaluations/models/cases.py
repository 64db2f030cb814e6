"""What one side did in one case: the claim on it, the twin's records, the grades.

Records and results are written once; the database refuses to change them, and freezes what was measured of a
finished case (`twins.row_guards`). Only the *effective* verdicts follow a reviewer's decision.
"""

# ruff: noqa: DJ001 - NULL says "there was none", as in the records; an empty text can be a real value.

from dataclasses import fields
from typing import Self

from django.db import models
from django.db.models import Q

from agenttwin_site.fields import JSONField
from evaluations.querysets import CaseQuerySet
from twins.columns import ExactJSONField
from twins.engine.records import CallRecord, Record, RetrievalRecord
from twins.models import TwinVersion


class CaseState(models.TextChoices):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    # It ran and is stored; its semantic expectations wait for a judge, or are with one.
    JUDGING = "JUDGING"
    FINISHED = "FINISHED"
    CANCELLED = "CANCELLED"


# A case in one of these keeps its run from ending.
UNFINISHED = (CaseState.QUEUED, CaseState.RUNNING, CaseState.JUDGING)


class Verdict(models.TextChoices):
    PASSED = "PASSED"
    FAILED = "FAILED"
    ERRORED = "ERRORED"


class ResultStatus(models.TextChoices):
    PASS = "PASS"  # noqa: S105 - a grade, not a password
    FAIL = "FAIL"
    ERROR = "ERROR"
    SKIPPED = "SKIPPED"


class RecordKind(models.TextChoices):
    TOOL_CALL = "tool_call"
    RETRIEVAL = "retrieval"


class CallStatus(models.TextChoices):
    """How the call ended for its caller (FORMATS 2.1)."""

    OK = "ok"
    RATE_LIMITED = "rate_limited"
    DENIED = "denied"
    NOT_FOUND = "not_found"
    UNKNOWN_TOOL = "unknown_tool"
    TIMEOUT = "timeout"
    INVALID = "invalid"
    ERROR = "error"
    DROPPED = "dropped"
    PARTIAL = "partial"
    MALFORMED = "malformed"


class StateSnapshot(models.Model):
    """An initial state, stored once under the SHA-256 of its canonical JSON."""

    digest = models.CharField(max_length=64, primary_key=True)
    state = ExactJSONField()

    def __str__(self) -> str:
        return f"state {self.digest[:12]}"


class Case(models.Model):
    """One side of a paired case."""

    run = models.ForeignKey("Run", on_delete=models.PROTECT, related_name="cases", db_index=False)
    pair = models.ForeignKey("PairedCase", on_delete=models.PROTECT, related_name="cases")
    state = models.CharField(max_length=9, choices=CaseState, default=CaseState.QUEUED)
    # Measured from the results, and what reviewers made of it.
    verdict = models.CharField(max_length=7, choices=Verdict, null=True, blank=True)
    effective_verdict = models.CharField(max_length=7, choices=Verdict, null=True, blank=True)

    # The claim of the worker that runs or judges it; empty while nobody does.
    attempts = models.PositiveIntegerField(default=0)
    judging_attempts = models.PositiveIntegerField(default=0)
    claim_token = models.CharField(max_length=64, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)

    # What the worker actually used, held against the pins before anything is compared.
    used_scenario_version = models.ForeignKey(
        "scenarios.ScenarioVersion", on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    used_twin_version = models.ForeignKey(
        TwinVersion, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    used_seed = models.BigIntegerField(null=True, blank=True)
    initial_state_digest = models.CharField(max_length=64, blank=True)
    final_state_digest = models.CharField(max_length=64, blank=True)

    # The agent's own account: a claim, never graded as evidence of what happened.
    answer = ExactJSONField(null=True, blank=True)
    claimed_outcome = models.CharField(max_length=20, null=True, blank=True)
    contradiction = models.BooleanField(default=False)
    # Why it ended without a grade.
    error_reason = models.TextField(blank=True)

    tool_call_count = models.PositiveIntegerField(default=0)
    retry_count = models.PositiveIntegerField(default=0)
    metrics = JSONField(default=dict)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = CaseQuerySet.as_manager()

    class Meta:
        ordering = ["run", "pair"]
        constraints = [
            models.UniqueConstraint(fields=["run", "pair"], name="case_is_unique_in_its_run"),
            models.CheckConstraint(condition=Q(state__in=CaseState.values), name="case_state_is_known"),
            models.CheckConstraint(
                condition=Q(verdict__isnull=True) | Q(verdict__in=Verdict.values),
                name="case_verdict_is_known",
            ),
            models.CheckConstraint(
                condition=Q(effective_verdict__isnull=True) | Q(effective_verdict__in=Verdict.values),
                name="case_effective_verdict_is_known",
            ),
            models.CheckConstraint(
                condition=~Q(state=CaseState.FINISHED)
                | Q(verdict__isnull=False, effective_verdict__isnull=False, finished_at__isnull=False),
                name="case_finished_has_a_verdict",
            ),
            models.CheckConstraint(
                condition=~Q(state=CaseState.RUNNING)
                | Q(lease_expires_at__isnull=False) & ~Q(claim_token=""),
                name="case_running_has_a_lease",
            ),
            models.CheckConstraint(
                condition=~Q(state=CaseState.JUDGING)
                | Q(verdict__isnull=True)
                & (
                    Q(claim_token="", lease_expires_at__isnull=True)
                    | ~Q(claim_token="") & Q(lease_expires_at__isnull=False)
                ),
                name="case_judging_has_no_verdict_yet",
            ),
        ]
        indexes = [
            models.Index(
                fields=["state", "lease_expires_at"],
                condition=Q(state__in=[CaseState.QUEUED, CaseState.RUNNING]),
                name="case_waiting_or_running",
            ),
            models.Index(
                fields=["run", "lease_expires_at"],
                condition=Q(state=CaseState.JUDGING),
                name="case_to_be_judged",
            ),
        ]

    def __str__(self) -> str:
        return f"case {self.pk}"


class ToolCall(models.Model):
    """One record of the twin: a tool call, a second delivery of one, or a search of the knowledge base."""

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="tool_calls", db_index=False)
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=9, choices=RecordKind, default=RecordKind.TOOL_CALL)

    # Of a tool call; a retrieval leaves them empty.
    call_number = models.PositiveIntegerField(null=True, blank=True)
    tool = models.CharField(max_length=100, blank=True)
    arguments = ExactJSONField(null=True, blank=True)
    # 0: no answer reached the caller.
    http_status = models.PositiveSmallIntegerField(null=True, blank=True)
    status = models.CharField(max_length=12, choices=CallStatus, null=True, blank=True)
    error_code = models.TextField(null=True, blank=True)
    response = ExactJSONField(null=True, blank=True)
    risk = models.CharField(max_length=18, null=True, blank=True)
    fault = models.CharField(max_length=50, null=True, blank=True)
    mutated = models.BooleanField(default=False)
    expects_mutation = models.BooleanField(default=False)
    replayed = models.BooleanField(default=False)
    redelivered = models.BooleanField(default=False)
    effect_key = models.TextField(null=True, blank=True)
    idempotency_key = models.TextField(null=True, blank=True)
    cross_tenant = models.CharField(max_length=7, null=True, blank=True)
    policy_violation = models.CharField(max_length=50, null=True, blank=True)
    changes = ExactJSONField(default=list)
    delay_ms = models.PositiveIntegerField(default=0)

    # Of a retrieval; a tool call leaves them empty.
    query = models.TextField(null=True, blank=True)
    limit = models.PositiveIntegerField(null=True, blank=True)
    documents = ExactJSONField(null=True, blank=True)

    class Meta:
        ordering = ["case", "seq"]
        constraints = [
            models.UniqueConstraint(fields=["case", "seq"], name="tool_call_seq_is_unique"),
            models.CheckConstraint(condition=Q(seq__gte=1), name="tool_call_seq_counts_from_1"),
            models.CheckConstraint(condition=Q(kind__in=RecordKind.values), name="tool_call_kind_is_known"),
            models.CheckConstraint(
                condition=Q(status__isnull=True) | Q(status__in=CallStatus.values),
                name="tool_call_status_is_known",
            ),
            models.CheckConstraint(
                condition=Q(cross_tenant__isnull=True) | Q(cross_tenant__in=["denied", "allowed"]),
                name="tool_call_cross_tenant_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.seq}. {self.tool or 'search'}"

    @classmethod
    def from_record(cls, case: Case | int, record: Record) -> Self:
        """The unsaved row of a record of the twin. Redact the record first: a row is for everybody."""
        row = cls(case_id=case if isinstance(case, int) else case.pk, seq=record.seq, kind=record.kind)
        if isinstance(record, RetrievalRecord):
            row.query, row.limit = record.query, record.limit
            row.documents = record.to_json()["documents"]
            return row
        for name in _OF_A_CALL:
            setattr(row, name, getattr(record, name))
        return row

    def to_record(self) -> Record:
        """The record this row was made from."""
        if self.kind == RecordKind.RETRIEVAL:
            names = ("seq", "query", "limit", "documents")
            return RetrievalRecord.from_json({name: getattr(self, name) for name in names})
        values = {name: getattr(self, name) for name in _OF_A_CALL}
        values["changes"] = tuple(self.changes)
        return CallRecord(seq=self.seq, **values)


# What a row keeps of a call's record, beside `seq` and `kind`: all but what was too large.
_NOT_KEPT = {"seq", "kind", "sent_arguments", "sent_texts"}
_OF_A_CALL = tuple(field.name for field in fields(CallRecord) if field.name not in _NOT_KEPT)


class ExpectationResult(models.Model):
    """The grade of one expectation in one case; `effective_status` alone may follow a review."""

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="results", db_index=False)
    # In the order of the document, from 0.
    position = models.PositiveIntegerField()
    expectation_id = models.CharField(max_length=200)
    type = models.CharField(max_length=50)
    critical = models.BooleanField(default=False)
    status = models.CharField(max_length=7, choices=ResultStatus)
    effective_status = models.CharField(max_length=7, choices=ResultStatus)
    label = models.CharField(max_length=50, null=True, blank=True)
    reason = models.TextField(blank=True)
    # Numbers of calls and paths of the state that the grade rests on.
    evidence = ExactJSONField(default=dict)

    class Meta:
        ordering = ["case", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["case", "expectation_id"], name="expectation_result_id_is_unique"
            ),
            models.CheckConstraint(
                condition=Q(status__in=ResultStatus.values), name="expectation_result_status_is_known"
            ),
            models.CheckConstraint(
                condition=Q(effective_status__in=ResultStatus.values),
                name="expectation_result_effective_status_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.expectation_id}: {self.effective_status}"
