"""The gate over the API: decide, read, verify, report, override; policies."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.utils import timezone

from evaluations.models import GateDecision, GateOverride
from scenarios.services.datasets import save_dataset
from tests.api.conftest import api  # noqa: F401 - a fixture
from tests.documents.samples import gate_policy
from tests.gate.test_command import COVERED, dataset
from tests.gate.test_deciding import ALONE, changed
from tests.running import documents
from twins.documents.yaml_writer import to_yaml

pytestmark = pytest.mark.django_db
WHY = "The sandbox counts twice, the real provider does not."


@pytest.fixture
def client(api: Any) -> Any:  # noqa: F811
    return api("read", "run", "review", "edit")


def body(**changes: Any) -> dict[str, Any]:
    until = (timezone.now() + timedelta(days=7)).isoformat()
    return {"reason": WHY, "ticket": "OPS-1", "expires_at": until, **changes}


def test_a_comparison_is_decided_on_and_the_decision_read(given: Any, compared: Any, client: Any) -> None:
    given(ALONE)
    comparison = compared()
    made = client.post("gate/decisions/", {"comparison": comparison.pk})
    assert (made.status_code, made.body["outcome"], made.body["policy"]) == (201, "BLOCK", "default@1")
    assert made.body["decided_by"] == "ci"
    again = client.post("gate/decisions/", {"comparison": comparison.pk, "policy": "default"})
    assert (again.status_code, again.body["revision"]) == (201, 2)
    assert client.get(made.body["links"]["self"]).body == made.body
    listed = client.get(f"gate/decisions/?comparison={comparison.pk}&outcome=BLOCK").body["results"]
    assert [one["revision"] for one in listed] == [2, 1]
    assert client.get("gate/decisions/?agent=nobody").body["results"] == []


def test_the_report_is_that_of_the_command_with_whole_links(decided: Any, client: Any) -> None:
    decision = decided(ALONE)
    at = f"gate/decisions/{decision.pk}/report/"
    report = client.get(at).body
    assert (report["exit_status"], report["verified"], report["outcome"]) == (3, True, "BLOCK")
    assert report["link"] == f"http://testserver/releases/{decision.pk}/"
    assert report["rules"][0]["observations"][0]["link"].startswith("http://testserver/comparisons/")
    assert client.get(f"{at}?as=text").content.startswith(b"BLOCK: step-agent 2.0.0 against 1.0.0\n")
    assert ET.fromstring(client.get(f"{at}?as=junit").content).tag == "testsuites"
    assert client.get(f"{at}?as=markdown").content.startswith(b"### BLOCK")
    assert client.get(f"{at}?as=yaml").status_code == 400


def test_verifying_says_what_does_not_fit(decided: Any, client: Any) -> None:
    decision = decided(ALONE)
    at = f"gate/decisions/{decision.pk}/verify/"
    assert client.get(at).body["verified"] is True
    changed(decision, outcome="PASS")
    answer = client.get(at).body
    assert answer["verified"] is False
    assert answer["problems"] == ["its outcome is not the one that was hashed"]
    assert client.get(f"gate/decisions/{decision.pk}/report/").body["exit_status"] == 4


def test_an_override_is_given_once_under_a_key_and_withdrawn(decided: Any, client: Any) -> None:
    decision = decided(ALONE)
    at = f"gate/decisions/{decision.pk}/override/"
    sent, key = body(), {"headers": {"Idempotency-Key": "ops-1"}}
    made = client.post(at, sent, **key)
    assert (made.status_code, made.body["ticket"], made.body["person"]) == (201, "OPS-1", "ci")
    assert client.post(at, sent, **key).status_code == 200
    assert GateOverride.objects.count() == 1
    assert client.get(f"gate/decisions/{decision.pk}/").body["reads"] == "OVERRIDDEN (originally BLOCK)"
    assert client.get(f"gate/decisions/{decision.pk}/report/").body["exit_status"] == 0
    over = f"gate/overrides/{made.body['id']}/withdraw/"
    assert client.post(over, {"reason": WHY}).body["withdraws"] == made.body["id"]
    assert client.post(over, {"reason": WHY}).body["code"] == "not_in_force"
    assert client.get(f"gate/decisions/{decision.pk}/").body["reads"] == "BLOCK"


@pytest.mark.parametrize(
    ("wrong", "paths"),
    [
        ({"reason": "short"}, ["reason"]),
        ({"ticket": "", "expires_at": "2020"}, ["expires_at", "ticket"]),
        ({"expires_at": "2020-01-01T00:00:00Z"}, ["expires_at"]),
        ({"expires_at": "2999-01-01T00:00:00Z"}, ["expires_at"]),
        ({"who": "me"}, ["who"]),
    ],
)
def test_a_wrong_override_is_refused_with_every_problem(
    decided: Any, client: Any, wrong: dict[str, Any], paths: list[str]
) -> None:
    answer = client.post(f"gate/decisions/{decided(ALONE).pk}/override/", body(**wrong))
    assert answer.status_code == 400
    assert sorted(one["path"] for one in answer.body["problems"]) == paths
    assert not GateOverride.objects.exists()


def test_a_builds_token_cannot_let_itself_through(decided: Any, api: Any) -> None:  # noqa: F811
    decision = decided(ALONE)
    build = api("run", name="build")
    answer = build.post(f"gate/decisions/{decision.pk}/override/", body())
    assert (answer.status_code, answer.body["detail"]) == (403, "This token lacks the scope review.")
    for role in ("viewer", "reviewer", "editor"):
        other = api(role=role, name=role)
        assert other.post(f"gate/decisions/{decision.pk}/override/", body()).status_code == 403
    assert api(role="viewer", name="v").post("gate/decisions/", {"comparison": 1}).status_code == 403


def test_what_cannot_be_decided_says_so(given: Any, start: Any, client: Any) -> None:
    given()
    running = start()
    answer = client.post("gate/decisions/", {"comparison": running.pk})
    assert (answer.status_code, answer.body["code"]) == (409, "not_ended")
    assert client.post("gate/decisions/", {"comparison": 99999}).status_code == 404
    assert client.get("gate/decisions/99999/").status_code == 404
    assert not GateDecision.objects.exists()


def test_an_unknown_policy_is_told_at_its_field(given: Any, compared: Any, client: Any) -> None:
    given()
    answer = client.post("gate/decisions/", {"comparison": compared().pk, "policy": "strict"})
    assert answer.status_code == 400
    assert [one["path"] for one in answer.body["problems"]] == ["policy"]


def test_case_reports_are_paged_and_point_at_what_differed(given: Any, compared: Any, client: Any) -> None:
    given(documents.scenario("one", **COVERED), documents.scenario("two", **COVERED))
    save_dataset(document=dataset("one", "two"))
    comparison = compared(dataset="refunds", trials=2)
    made = client.post("gate/decisions/", {"comparison": comparison.pk}).body
    page = client.get(f"{made['links']['cases']}?limit=3").body
    assert [(one["case_id"], one["trial"]) for one in page["results"]] == [
        ("REF-1", 1),
        ("REF-1", 2),
        ("REF-2", 1),
    ]
    assert page["results"][0]["reason"] == "once: orders.A.count: expected 1, got 2"
    rest = client.get(page["next"]).body["results"]
    assert [(one["case_id"], one["trial"]) for one in rest] == [("REF-2", 2)]


def test_a_holdouts_cases_are_for_those_who_may_look(given: Any, compared: Any, api: Any) -> None:  # noqa: F811
    given(documents.scenario("one", **COVERED))
    document = dataset("one")
    document["spec"]["purpose"] = "holdout"
    save_dataset(document=document)
    comparison = compared(dataset="refunds")
    editor, reviewer = api(role="editor", name="e"), api(role="reviewer", name="r")
    made = editor.post("gate/decisions/", {"comparison": comparison.pk}).body
    assert editor.get(made["links"]["cases"]).status_code == 403
    assert len(reviewer.get(made["links"]["cases"]).body["results"]) == 1
    for kind in ("json", "text", "junit", "markdown"):
        told = editor.get(f"{made['links']['report']}?as={kind}").content.decode()
        for detail in ("REF-1", "/cases/one/", "expected 1, got 2", "At step"):
            assert detail not in told, kind
        assert "BLOCK" in told


# ------------------------------------------------------------------------------- policies


def test_a_policy_is_saved_waits_and_is_put_in_force(client: Any) -> None:
    first = client.save("gate/policies/", to_yaml(gate_policy()))
    assert (first.status_code, first.body["is_in_force"]) == (201, True)
    second = client.save("gate/policies/", to_yaml(gate_policy(minimumTrials=2)))
    assert (second.status_code, second.body["number"], second.body["is_in_force"]) == (201, 2, False)
    assert client.save("gate/policies/", to_yaml(gate_policy(minimumTrials=2))).status_code == 200
    assert client.get("gate/policies/careful/").body["number"] == 1
    put = client.post("gate/policies/careful/activate/", {"version": 2, "note": "agreed"})
    assert (put.status_code, put.body["is_in_force"]) == (200, True)
    assert client.get("gate/policies/careful/").body["number"] == 2
    numbers = [one["number"] for one in client.get("gate/policies/careful/versions/").body["results"]]
    assert numbers == [2, 1]
    assert client.get("gate/policies/careful/versions/1/").body["document"] == gate_policy()
    assert [one["name"] for one in client.get("gate/policies/?q=care").body["results"]] == ["careful"]


def test_policies_are_refused_validated_and_kept_from_others(client: Any, api: Any) -> None:  # noqa: F811
    wrong = client.save("gate/policies/", to_yaml(gate_policy(minimumTrials=0, tolerance=1)))
    assert wrong.status_code == 400
    assert len(wrong.body["problems"]) == 2
    tried = client.save("gate/policies/?validate_only=true", to_yaml(gate_policy()))
    assert tried.body["valid"] is True
    assert client.get("gate/policies/careful/").status_code == 404
    client.save("gate/policies/", to_yaml(gate_policy()))
    late = client.save("gate/policies/?based_on=7", to_yaml(gate_policy(minimumTrials=2)))
    assert late.status_code == 409
    assert client.post("gate/policies/careful/activate/", {"version": 9}).status_code == 404
    editor = api(role="editor", name="e")
    assert editor.save("gate/policies/", to_yaml(gate_policy(minimumTrials=2))).status_code == 201
    assert editor.post("gate/policies/careful/activate/", {"version": 2}).status_code == 403
    assert json.loads(client.get("gate/policies/careful/").content)["number"] == 1
