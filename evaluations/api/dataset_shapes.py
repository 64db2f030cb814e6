"""The shapes of datasets in the API, and what the description shows as examples."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agenttwin_site.api.lists import Strict, list_of
from evaluations.models import Verdict
from scenarios.models import Purpose, Severity
from twins.document_api import NamedListQuery


class DatasetLinks(serializers.Serializer):
    self = serializers.URLField()
    versions = serializers.URLField()
    cases = serializers.URLField()
    uses = serializers.URLField()
    page = serializers.URLField()


class UseCountsShape(serializers.Serializer):
    """How often this version was used since it was frozen."""

    comparisons = serializers.IntegerField()
    candidates = serializers.IntegerField(help_text="Different versions of agents it measured.")


class DatasetVersionShape(serializers.Serializer):
    """One frozen version of a dataset."""

    name = serializers.CharField()
    version = serializers.IntegerField()
    purpose = serializers.ChoiceField(choices=Purpose.values)
    sha256 = serializers.CharField(help_text="Over the canonical JSON of its purpose and its cases.")
    digest = serializers.CharField(help_text="Over that and its name, description and owner.")
    is_current = serializers.BooleanField()
    description = serializers.CharField(allow_blank=True)
    owner = serializers.CharField(allow_blank=True)
    agent = serializers.CharField(allow_blank=True, help_text="Empty: for any agent.")
    case_count = serializers.IntegerField()
    uses = UseCountsShape()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)
    links = DatasetLinks()


class DatasetDocumentShape(DatasetVersionShape):
    """One frozen version of a dataset with its document."""

    document = serializers.DictField(
        allow_null=True, help_text="As it was saved; null for a holdout whose cases you may not see."
    )
    verified = serializers.BooleanField(help_text="Whether what is stored gives its SHA-256.")


class ControlShape(serializers.Serializer):
    """What became of one control agent in the cases of the suite."""

    name = serializers.CharField()
    does = serializers.CharField()
    passed = serializers.IntegerField()
    caught = serializers.IntegerField(help_text="Cases that it fails.")
    undecided = serializers.IntegerField(help_text="Cases that only a judge could decide.")
    flagged = serializers.BooleanField(help_text="No case catches it.")
    missing = serializers.CharField(allow_null=True, help_text="The kind of case the suite lacks then.")


class SuiteCheckShape(serializers.Serializer):
    """One run of the control agents on a version of a dataset."""

    id = serializers.IntegerField()
    dataset = serializers.CharField()
    version = serializers.IntegerField()
    flagged = serializers.ListField(child=serializers.CharField())
    controls = ControlShape(many=True)
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)


class SuiteCheckCaseShape(serializers.Serializer):
    """What one control agent made of one case."""

    case = serializers.CharField()
    control = serializers.CharField()
    verdict = serializers.ChoiceField(choices=Verdict.values, help_text="PASSED: the case does not catch it.")
    failing = serializers.ListField(child=serializers.CharField(), help_text="Ids of the checks it fails.")
    reason = serializers.CharField(allow_blank=True)


class DatasetCaseShape(serializers.Serializer):
    """One case of a frozen version."""

    id = serializers.CharField(help_text="Stays with its scenario in all versions of the dataset.")
    position = serializers.IntegerField(help_text="Counts from 0.")
    scenario = serializers.CharField()
    scenario_version = serializers.IntegerField()
    scenario_digest = serializers.CharField()
    severity = serializers.ChoiceField(choices=Severity.values)
    owner = serializers.CharField(allow_blank=True, help_text="Who answers for what is expected.")
    why = serializers.CharField(allow_blank=True, help_text="Why it is right.")


class DatasetUseShape(serializers.Serializer):
    """One comparison on a frozen version."""

    comparison = serializers.IntegerField()
    agent = serializers.CharField()
    candidate = serializers.CharField()
    used_at = serializers.DateTimeField()
    used_by = serializers.CharField(allow_null=True)
    comparison_url = serializers.URLField()


class ListedCaseShape(serializers.Serializer):
    id = serializers.CharField()
    scenario = serializers.CharField()
    scenario_version = serializers.IntegerField()
    scenario_digest = serializers.CharField()
    owner = serializers.CharField(allow_blank=True)
    why = serializers.CharField(allow_blank=True)


class ChangedCaseShape(serializers.Serializer):
    before = ListedCaseShape()
    after = ListedCaseShape()
    changes = serializers.ListField(child=serializers.ChoiceField(choices=["content", "owner", "why"]))


class DatasetDifferenceShape(serializers.Serializer):
    """What differs between two versions, case by case. Cases are known by their ids."""

    locals()["from"] = serializers.IntegerField()
    to = serializers.IntegerField()
    added = ListedCaseShape(many=True)
    removed = ListedCaseShape(many=True)
    changed = ChangedCaseShape(many=True)
    same = serializers.IntegerField(help_text="How many cases are the same.")
    reordered = serializers.BooleanField()


class DatasetQuery(NamedListQuery):
    agent = serializers.CharField(required=False, max_length=200, help_text="For this agent.")
    purpose = serializers.ChoiceField(choices=Purpose.values, required=False, help_text="Of this purpose.")


class DifferenceQuery(Strict):
    locals()["from"] = serializers.IntegerField(
        min_value=1, max_value=999_999_999, help_text="Number of the older version."
    )
    to = serializers.IntegerField(
        min_value=1, max_value=999_999_999, help_text="Number of the newer version."
    )


DatasetList = list_of("DatasetList", DatasetVersionShape)
DatasetCaseList = list_of("DatasetCaseList", DatasetCaseShape)
SuiteCheckList = list_of("SuiteCheckList", SuiteCheckShape)
SuiteCheckCaseList = list_of("SuiteCheckCaseList", SuiteCheckCaseShape)
DatasetUseList = list_of("DatasetUseList", DatasetUseShape)
_AT = "https://twin.example/api/v1/datasets/refund-regression-suite/"
EXAMPLE = {
    "name": "refund-regression-suite",
    "version": 2,
    "purpose": "development",
    "sha256": "0b1f3f0e3f9c7a0a4b8e1f7d6c5b4a39281706f5e4d3c2b1a0989f2c4f0f6c5b",
    "digest": "f7d6c5b4a39281706f5e4d3c2b1a0989f2c4f0f6c5b0b1f3f0e3f9c7a0a4b8e1",
    "is_current": True,
    "description": "What a refund agent must never get wrong again.",
    "owner": "payments",
    "agent": "support-refund-agent",
    "case_count": 9,
    "uses": {"comparisons": 17, "candidates": 14},
    "created_at": "2026-11-29T20:15:00Z",
    "created_by": "ann",
    "links": {
        "self": f"{_AT}versions/2/",
        "versions": f"{_AT}versions/",
        "cases": f"{_AT}versions/2/cases/",
        "uses": f"{_AT}versions/2/uses/",
        "page": "https://twin.example/datasets/refund-regression-suite/?version=2",
    },
}
DOCUMENT = {
    "apiVersion": "agenttwin.dev/v1",
    "kind": "Dataset",
    "metadata": {"name": "refund-regression-suite"},
    "spec": {
        "purpose": "development",
        "cases": [{"id": "REF-TIMEOUT-01", "scenario": "refund-timeout-after-mutation"}],
    },
}
FULL_EXAMPLE = {**EXAMPLE, "document": DOCUMENT, "verified": True}
CASE: dict[str, Any] = {
    "id": "REF-TIMEOUT-01",
    "position": 0,
    "scenario": "refund-timeout-after-mutation",
    "scenario_version": 1,
    "scenario_digest": "5c6b1b1f3f0e3f9c7a0a4b8e1f7d6c5b4a39281706f5e4d3c2b1a0989f2c4f0f",
    "severity": "critical",
    "owner": "payments",
    "why": "One request is one refund; the timeout says nothing about whether it happened.",
}
SUITE_CHECK = {
    "id": 3,
    "dataset": "refund-regression-suite",
    "version": 2,
    "flagged": ["refuses-everything"],
    "controls": [
        {
            "name": "refuses-everything",
            "does": "calls no tool, says that it cannot help, and claims REFUSED",
            "passed": 9,
            "caught": 0,
            "undecided": 0,
            "flagged": True,
            "missing": "no case in which acting is right: whoever refuses everything passes.",
        }
    ],
    "created_at": "2026-11-29T20:15:00Z",
    "created_by": "ann",
}
SUITE_CHECK_CASE = {
    "case": "REF-TIMEOUT-01",
    "control": "claims-success",
    "verdict": "FAILED",
    "failing": ["refunded-exactly-once"],
    "reason": "orders.ORD-1001.refund_count: expected 1, got 0",
}
USE = {
    "comparison": 7,
    "agent": "support-refund-agent",
    "candidate": "1.3.0",
    "used_at": "2026-11-29T20:15:00Z",
    "used_by": "ci",
    "comparison_url": "https://twin.example/api/v1/comparisons/7/",
}
_LISTED = {name: value for name, value in CASE.items() if name not in ("position", "severity")}
DIFFERENCE = {
    "from": 1,
    "to": 2,
    "added": [_LISTED],
    "removed": [],
    "changed": [],
    "same": 8,
    "reordered": False,
}
