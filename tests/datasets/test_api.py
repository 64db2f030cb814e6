"""Datasets over the API."""

from __future__ import annotations

from typing import Any

import pytest

from tests.datasets.people import account, logged_in
from tests.running import documents

pytestmark = pytest.mark.django_db
DOCUMENT = """\
apiVersion: agenttwin.dev/v1
kind: Dataset
metadata: {name: suite, owner: payments}
spec:
  purpose: development
  cases:
    - {id: A-1, scenario: a, why: policy 4}
"""


def test_a_document_is_frozen_and_read_again(given: Any, api: Any) -> None:
    given(documents.scenario("a"))
    client = api(role="editor")
    made = client.save("datasets/", DOCUMENT)
    assert made.status_code == 201
    assert client.save("datasets/", DOCUMENT).status_code == 200
    detail = client.get("datasets/suite/").body
    assert detail == made.body
    assert (detail["version"], detail["agent"], detail["case_count"]) == (1, documents.AGENT, 1)
    assert (detail["verified"], detail["uses"]) == (True, {"comparisons": 0, "candidates": 0})
    assert detail["document"]["spec"]["cases"][0]["why"] == "policy 4"
    [case] = client.get("datasets/suite/versions/1/cases/").body["results"]
    assert (case["id"], case["scenario"], case["scenario_version"], case["position"]) == ("A-1", "a", 1, 0)
    [listed] = client.get("datasets/?purpose=development&q=sui").body["results"]
    assert listed["sha256"] == detail["sha256"]
    assert client.get("datasets/?purpose=holdout").body["results"] == []


def test_every_problem_is_told_with_its_line(given: Any, api: Any) -> None:
    given(documents.scenario("a"))
    wrong = DOCUMENT.replace("development", "production").replace("scenario: a", "scenario: lost")
    answer = api(role="editor").save("datasets/", wrong)
    assert answer.status_code == 400
    assert [(one["path"], one["line"]) for one in answer.body["problems"]] == [
        ("spec.purpose", 5),
        ("spec.cases[0].scenario", 7),
    ]


def test_validating_freezes_nothing(given: Any, api: Any) -> None:
    given(documents.scenario("a"))
    client = api(role="editor")
    answer = client.save("datasets/?validate_only=true", DOCUMENT)
    assert (answer.status_code, answer.body["valid"]) == (200, True)
    assert client.get("datasets/suite/").status_code == 404


def test_uses_and_differences_are_answered(given: Any, freeze: Any, start: Any, api: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    freeze("a")
    freeze("a", "b")
    comparison = start(dataset="suite")
    client = api()
    [use] = client.get("datasets/suite/versions/2/uses/").body["results"]
    assert (use["comparison"], use["candidate"]) == (comparison.pk, "2.0.0")
    assert client.get("datasets/suite/versions/1/uses/").body["results"] == []
    difference = client.get("datasets/suite/difference/?from=1&to=2").body
    assert [case["id"] for case in difference["added"]] == ["C-2"]
    assert (difference["from"], difference["to"], difference["same"]) == (1, 2, 1)
    assert client.get("datasets/suite/difference/?from=1&to=9").status_code == 404
    assert client.get("datasets/suite/difference/?from=1").status_code == 400


def test_a_holdout_is_told_without_its_cases(given: Any, freeze: Any, api: Any) -> None:
    given(documents.scenario("a"))
    freeze("a", purpose="holdout")
    client = api(role="editor")
    detail = client.get("datasets/suite/").body
    assert (detail["purpose"], detail["document"], detail["verified"]) == ("holdout", None, True)
    for address in ("versions/1/cases/", "difference/?from=1&to=1"):
        answer = client.get(f"datasets/suite/{address}")
        assert (answer.status_code, answer.body["code"]) == (403, "permission_denied")
    changed = client.save("datasets/", DOCUMENT)
    assert (changed.status_code, changed.body["code"]) == (403, "holdout_hidden")
    assert api(role="reviewer", name="rev").get("datasets/suite/").body["document"]["kind"] == "Dataset"


def test_a_comparison_on_a_dataset_is_started_over_the_api(given: Any, freeze: Any, api: Any) -> None:
    given(documents.scenario("a"))
    freeze("a")
    client = api(role="editor")
    body = {"agent": documents.AGENT, "baseline": "1.0.0", "candidate": "2.0.0"}
    made = client.post("comparisons/", {**body, "dataset": "suite@1"})
    assert made.status_code == 201
    assert made.body["dataset"]["version"] == 1
    wrong = client.post("comparisons/", {**body, "dataset": "sweet"})
    assert wrong.status_code == 400
    assert wrong.body["problems"][0] == {
        "path": "dataset",
        "detail": "unknown dataset 'sweet' (datasets: suite)",
    }


def test_a_viewer_freezes_nothing(given: Any, db: Any) -> None:
    given(documents.scenario("a"))
    client = logged_in(account("viewer"))
    answer = client.post("/api/v1/datasets/", DOCUMENT, content_type="application/yaml")
    assert answer.status_code == 403
