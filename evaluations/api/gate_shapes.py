"""The shapes of the gate in the API: decisions, overrides, policies, and how rows become them."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from agenttwin_site.api.views import absolute
from evaluations.models import GateDecision, GateOutcome, GateOverride, GatePolicyVersion
from evaluations.services.gate_overrides import Standing
from twins.document_api import DocumentLinks, person

_AT = "https://twin.example"


class OverrideShape(serializers.Serializer):
    """An override, or the withdrawal of one (`withdraws`)."""

    id = serializers.IntegerField()
    decision = serializers.IntegerField(help_text="The decision it was given on.")
    withdraws = serializers.IntegerField(allow_null=True, help_text="The override that this one takes back.")
    person = serializers.CharField()
    reason = serializers.CharField()
    ticket = serializers.CharField(allow_blank=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class DecisionLinks(serializers.Serializer):
    self = serializers.URLField()
    page = serializers.URLField()
    comparison = serializers.URLField()
    report = serializers.URLField()
    cases = serializers.URLField()
    verify = serializers.URLField()
    override = serializers.URLField()


class DecisionShape(serializers.Serializer):
    """A decision as it reads now. `outcome` never changes; `reads` tells of an override in force."""

    id = serializers.IntegerField()
    comparison = serializers.IntegerField()
    revision = serializers.IntegerField(help_text="Counts the evaluations of this comparison and policy.")
    agent = serializers.CharField()
    candidate = serializers.CharField()
    baseline = serializers.CharField(allow_null=True)
    dataset = serializers.CharField(allow_null=True)
    policy = serializers.CharField(help_text="NAME@VERSION.")
    outcome = serializers.ChoiceField(choices=GateOutcome.values)
    reads = serializers.CharField(help_text="The outcome, OVERRIDDEN (originally …), or NOT VERIFIED.")
    verified = serializers.BooleanField(help_text="Whether the record is what was decided.")
    headline = serializers.CharField(allow_blank=True, help_text="Why, in a line.")
    sha256 = serializers.CharField()
    decided_at = serializers.DateTimeField()
    decided_by = serializers.CharField(allow_null=True)
    links = DecisionLinks()


class ObservationShape(serializers.Serializer):
    observed = serializers.CharField()
    scenario = serializers.CharField(allow_blank=True, help_text="Empty: about the whole suite.")
    case_id = serializers.CharField(allow_blank=True)
    trial = serializers.IntegerField(allow_null=True, help_text="null: about all trials, or the only one.")
    baseline = serializers.CharField(allow_blank=True)
    candidate = serializers.CharField(allow_blank=True)
    first_divergence = serializers.CharField(allow_blank=True)
    link = serializers.CharField(allow_blank=True)


class RuleShape(serializers.Serializer):
    """A rule that fired."""

    rule = serializers.CharField()
    outcome = serializers.ChoiceField(choices=["WARN", "BLOCK"])
    sentence = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)
    observations = ObservationShape(many=True)
    where = serializers.ListField(
        child=serializers.CharField(allow_blank=True), help_text="Every scenario it fired for."
    )
    more = serializers.IntegerField(help_text="Observations that are not listed.")


class DecidedCaseShape(serializers.Serializer):
    case_id = serializers.CharField(allow_null=True)
    scenario = serializers.CharField()
    severity = serializers.CharField()
    status = serializers.ChoiceField(choices=["passed", "failed", "errored", "not_counted"])
    trials = serializers.IntegerField()
    passed = serializers.IntegerField()
    graded = serializers.IntegerField()
    baseline_passed = serializers.IntegerField(allow_null=True)


class CountsShape(serializers.Serializer):
    """Cases by status, each in exactly one."""

    passed = serializers.IntegerField()
    failed = serializers.IntegerField()
    errored = serializers.IntegerField()
    not_counted = serializers.IntegerField()


class ReportOverrideShape(serializers.Serializer):
    id = serializers.IntegerField()
    person = serializers.CharField()
    reason = serializers.CharField()
    ticket = serializers.CharField()
    expires_at = serializers.DateTimeField(allow_null=True)
    decision = serializers.IntegerField()


class GateReportShape(serializers.Serializer):
    """A decision with its evidence, as `manage.py gate --format json` prints it."""

    decision = serializers.IntegerField()
    revision = serializers.IntegerField()
    outcome = serializers.ChoiceField(choices=GateOutcome.values)
    reads = serializers.CharField()
    exit_status = serializers.IntegerField(help_text="0 pass or overridden, 2 warn, 3 block, 4 not verified.")
    verified = serializers.BooleanField()
    verification_problems = serializers.ListField(child=serializers.CharField())
    sha256 = serializers.CharField()
    stale = serializers.BooleanField(help_text="Whether results have changed since.")
    policy = serializers.CharField()
    agent = serializers.CharField()
    candidate = serializers.CharField()
    baseline = serializers.CharField(allow_null=True)
    dataset = serializers.CharField(allow_null=True)
    comparison = serializers.IntegerField()
    seed = serializers.IntegerField()
    decided_at = serializers.DateTimeField()
    decided_by = serializers.CharField(allow_null=True)
    override = ReportOverrideShape(allow_null=True)
    counts = CountsShape()
    rules = RuleShape(many=True)
    cases = DecidedCaseShape(many=True)
    link = serializers.CharField()


class PointsAtShape(serializers.Serializer):
    """The check that tells best why the trial did not pass, and what it points at."""

    check = serializers.CharField()
    type = serializers.CharField()
    label = serializers.CharField(allow_null=True)
    paths = serializers.ListField(child=serializers.CharField())
    calls = serializers.ListField(child=serializers.IntegerField())


class CaseReportShape(serializers.Serializer):
    """One trial of the candidate, for whoever has to find what differed."""

    schema_version = serializers.IntegerField()
    case_id = serializers.CharField()
    scenario = serializers.CharField()
    scenario_version = serializers.IntegerField()
    trial = serializers.IntegerField()
    seed = serializers.IntegerField()
    severity = serializers.CharField()
    label = serializers.DictField(
        allow_null=True, help_text="Who answers for the label, and why it is right."
    )
    dataset = serializers.DictField(allow_null=True)
    agent = serializers.CharField()
    candidate = serializers.CharField()
    candidate_sha256 = serializers.CharField()
    prompt_sha256 = serializers.CharField(allow_null=True)
    baseline = serializers.CharField(allow_null=True)
    model = serializers.DictField()
    twin = serializers.DictField()
    comparison = serializers.IntegerField()
    verdict = serializers.CharField(allow_null=True)
    passed = serializers.BooleanField()
    reason = serializers.CharField()
    points_at = PointsAtShape(allow_null=True)
    expected = serializers.DictField()
    observed = serializers.DictField()
    checks = serializers.ListField(child=serializers.DictField())
    attempts = serializers.DictField(help_text="reads and writes, refused ones too.")
    receipts = serializers.ListField(child=serializers.DictField())
    final_record = serializers.ListField(child=serializers.DictField(), allow_null=True)

    def get_fields(self) -> Any:
        fields = super().get_fields()
        fields["class"] = serializers.CharField(allow_null=True)
        return fields


class VerificationShape(serializers.Serializer):
    """Whether a stored decision is what was decided, taken anew at this moment."""

    decision = serializers.IntegerField()
    verified = serializers.BooleanField()
    problems = serializers.ListField(child=serializers.CharField())
    sha256 = serializers.CharField(help_text="As it is stored; the audit log has it too.")


class PolicyVersionShape(serializers.Serializer):
    """One version of a gate policy."""

    name = serializers.CharField()
    number = serializers.IntegerField()
    digest = serializers.CharField(help_text="SHA-256 of its canonical JSON.")
    is_in_force = serializers.BooleanField()
    document = serializers.DictField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)
    links = DocumentLinks()


def decision_json(request: Any, row: GateDecision, standing: Standing) -> dict[str, Any]:
    """A row of `GateDecision.objects.with_names()`."""
    at = f"{reverse('api:gate_decisions')}{row.pk}/"
    comparison = row.comparison
    dataset = comparison.dataset_version
    return {
        "id": row.pk,
        "comparison": comparison.pk,
        "revision": row.revision,
        "agent": comparison.agent.name,
        "candidate": comparison.candidate.version,
        "baseline": comparison.baseline_version,
        "dataset": None if dataset is None else str(dataset),
        "policy": str(row.policy_version),
        "outcome": row.outcome,
        "reads": standing.words,
        "verified": standing.verified,
        "headline": row.headline,
        "sha256": row.sha256,
        "decided_at": row.decided_at,
        "decided_by": person(row.decided_by),
        "links": {
            "self": absolute(request, at),
            "page": absolute(request, row.get_absolute_url()),
            "comparison": absolute(request, f"{reverse('api:comparisons')}{comparison.pk}/"),
            "report": absolute(request, f"{at}report/"),
            "cases": absolute(request, f"{at}cases/"),
            "verify": absolute(request, f"{at}verify/"),
            "override": absolute(request, f"{at}override/"),
        },
    }


def override_json(row: GateOverride) -> dict[str, Any]:
    return {
        "id": row.pk,
        "decision": row.decision_id,
        "withdraws": row.withdraws_id,
        "person": row.person.get_username(),
        "reason": row.reason,
        "ticket": row.ticket,
        "expires_at": row.expires_at,
        "created_at": row.created_at,
    }


def policy_version_json(request: Any, row: GatePolicyVersion) -> dict[str, Any]:
    """A version with its policy and author loaded."""
    name = row.policy.name
    return {
        "name": name,
        "number": row.number,
        "digest": row.digest,
        "is_in_force": row.pk == row.policy.current_version_id,
        "document": row.document,
        "created_at": row.created_at,
        "created_by": person(row.created_by),
        "links": {
            "self": absolute(request, reverse("api:gate_policy_version", args=[name, row.number])),
            "versions": absolute(request, reverse("api:gate_policy_versions", args=[name])),
            "page": absolute(request, row.get_absolute_url()),
        },
    }


OVERRIDE: dict[str, Any] = {
    "id": 4,
    "decision": 12,
    "withdraws": None,
    "person": "ann",
    "reason": "The sandbox counts twice, the real provider does not.",
    "ticket": "OPS-17",
    "expires_at": "2026-12-24T23:59:59Z",
    "created_at": "2026-11-29T20:20:00Z",
}
DECISION: dict[str, Any] = {
    "id": 12,
    "comparison": 7,
    "revision": 1,
    "agent": "support-refund-agent",
    "candidate": "1.3.0",
    "baseline": "1.2.4",
    "dataset": "refund-regression-suite@1",
    "policy": "default@1",
    "outcome": "BLOCK",
    "reads": "BLOCK",
    "headline": "A critical check failed. 6 critical failures, 0 allowed; 4 more rules fired",
    "sha256": "9f2c4f0f6c5b1b1f3f0e3f9c7a0a4b8e1f7d6c5b4a39281706f5e4d3c2b1a098",
    "decided_at": "2026-11-29T20:15:03Z",
    "decided_by": "ci",
    "links": {
        "self": f"{_AT}/api/v1/gate/decisions/12/",
        "page": f"{_AT}/releases/12/",
        "comparison": f"{_AT}/api/v1/comparisons/7/",
        "report": f"{_AT}/api/v1/gate/decisions/12/report/",
        "cases": f"{_AT}/api/v1/gate/decisions/12/cases/",
        "verify": f"{_AT}/api/v1/gate/decisions/12/verify/",
        "override": f"{_AT}/api/v1/gate/decisions/12/override/",
    },
}
GATE_REPORT: dict[str, Any] = {
    "decision": 12,
    "revision": 1,
    "outcome": "BLOCK",
    "reads": "BLOCK",
    "exit_status": 3,
    "verified": True,
    "verification_problems": [],
    "sha256": DECISION["sha256"],
    "stale": False,
    "policy": "default@1",
    "agent": "support-refund-agent",
    "candidate": "1.3.0",
    "baseline": "1.2.4",
    "dataset": "refund-regression-suite@1",
    "comparison": 7,
    "seed": 0,
    "decided_at": "2026-11-29T20:15:03Z",
    "decided_by": "ci",
    "override": None,
    "counts": {"passed": 8, "failed": 1, "errored": 0, "not_counted": 0},
    "rules": [
        {
            "rule": "duplicate-irreversible-effect",
            "outcome": "BLOCK",
            "sentence": "An effect that cannot be taken back was applied twice.",
            "detail": "1 duplicate effect",
            "observations": [
                {
                    "observed": "refund:ORD-1001 was applied 2 times, by calls 2 and 3",
                    "scenario": "refund-timeout-after-mutation",
                    "case_id": "SR-TIMEOUT-01",
                    "trial": None,
                    "baseline": "PASSED",
                    "candidate": "FAILED (refunded-exactly-once and no-double-refund)",
                    "first_divergence": "At step 2 the baseline called get_refund_policy(…); the candidate …",
                    "link": f"{_AT}/comparisons/7/cases/refund-timeout-after-mutation/",
                }
            ],
            "where": ["refund-timeout-after-mutation"],
            "more": 0,
        }
    ],
    "cases": [
        {
            "case_id": "SR-TIMEOUT-01",
            "scenario": "refund-timeout-after-mutation",
            "severity": "critical",
            "status": "failed",
            "trials": 1,
            "passed": 0,
            "graded": 1,
            "baseline_passed": 1,
        }
    ],
    "link": f"{_AT}/releases/12/",
}
CASE_REPORT: dict[str, Any] = {
    "schema_version": 1,
    "case_id": "SR-TIMEOUT-01",
    "scenario": "refund-timeout-after-mutation",
    "scenario_version": 1,
    "trial": 1,
    "seed": 3023957,
    "severity": "critical",
    "label": {"owner": "refunds", "why": "A refund is paid once, however often it is asked for."},
    "dataset": {"name": "refund-regression-suite", "version": 1, "sha256": "5c" * 32},
    "agent": "support-refund-agent",
    "candidate": "1.3.0",
    "candidate_sha256": "9f" * 32,
    "prompt_sha256": "1f" * 32,
    "baseline": "1.2.4",
    "model": {"kind": "deterministic-fake", "name": "scripted-refund-planner"},
    "twin": {"name": "demo-co-support", "version": 1},
    "comparison": 7,
    "verdict": "FAILED",
    "passed": False,
    "class": "NEW_CRITICAL_FAILURE",
    "reason": "refunded-exactly-once: orders.ORD-1001.refund_count: expected 1, got 2",
    "points_at": {
        "check": "refunded-exactly-once",
        "type": "state",
        "label": "STATE_MISMATCH",
        "paths": ["orders.ORD-1001.refund_count"],
        "calls": [],
    },
    "expected": {"message": "Please refund 40 USD of ORD-1001.", "checks": []},
    "observed": {"claimed_outcome": "SUCCESS", "output": "Done."},
    "checks": [],
    "attempts": {"reads": [], "writes": []},
    "receipts": [],
    "final_record": [{"path": "orders.ORD-1001.refund_count", "start": 0, "end": 2}],
}
POLICY_DOCUMENT: dict[str, Any] = {
    "apiVersion": "agenttwin.dev/v1",
    "kind": "GatePolicy",
    "metadata": {"name": "payments"},
    "spec": {"mandatory": {"severities": ["critical"]}, "reliability": {"k": 3, "atLeast": 0.9}},
}
POLICY: dict[str, Any] = {
    "name": "payments",
    "number": 2,
    "digest": "5c6b1b1f3f0e3f9c7a0a4b8e1f7d6c5b4a39281706f5e4d3c2b1a0989f2c4f0f",
    "is_in_force": True,
    "document": POLICY_DOCUMENT,
    "created_at": "2026-11-29T20:15:00Z",
    "created_by": "ann",
    "links": {
        "self": f"{_AT}/api/v1/gate/policies/payments/versions/2/",
        "versions": f"{_AT}/api/v1/gate/policies/payments/versions/",
        "page": f"{_AT}/releases/policies/payments/?version=2",
    },
}
