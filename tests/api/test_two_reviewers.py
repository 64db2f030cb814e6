"""Two reviewers over the API, and the policy that asks for them."""

from __future__ import annotations

from typing import Any

import pytest

from evaluations.models import ExpectationResult
from reviews.models import BlindDecision, Review

pytestmark = pytest.mark.django_db
NOTE = "The second refund is the one the customer asked for."
POLICY = {
    "two_reviewers": ["NEW_CRITICAL_FAILURE"],
    "sample_percent": 5,
    "confidence_below": 0.6,
    "note": "Two people look before it is lifted.",
    "seen_number": 0,
}


@pytest.fixture
def failing(given: Any, compared: Any, api: Any) -> int:
    """A critical result that newly fails, under a policy that asks for two."""
    given()
    compared()
    assert api("edit", name="adam").post("review-policy/", POLICY).status_code == 201
    rows = ExpectationResult.objects.filter(case__run__side="CANDIDATE", status="FAIL", critical=True)
    return rows.first().pk


def decide(client: Any, result: int, decision: str = "PASS", **options: Any) -> Any:
    return client.post("reviews/", {"result": result, "decision": decision, "note": NOTE}, **options)


def test_two_tokens_of_two_people(failing: int, api: Any) -> None:
    ann, bob = (api("review", role="reviewer", name=name) for name in ("ann", "bob"))
    first = decide(ann, failing, headers={"Idempotency-Key": "k"})
    assert first.status_code == 202
    assert (first.body["state"], first.body["review"]) == ("OPEN", None)
    assert first.body["decisions"][0]["decision"] == "PASS"
    assert first.body["decisions"][0]["token"] == "token 1"
    assert decide(ann, failing, headers={"Idempotency-Key": "k"}).body == first.body
    refused = decide(ann, failing, "FAIL")
    assert (refused.status_code, refused.body["code"]) == (409, "already_decided")

    seen = bob.get(f"double-reviews/{first.body['id']}/").body
    assert seen["decisions"][0]["decision"] is None
    assert bob.get("double-reviews/?state=OPEN").body["results"] == [seen]

    made = decide(bob, failing)
    assert made.status_code == 201
    assert (made.body["decision"], made.body["double_review"]) == ("PASS", first.body["id"])
    done = bob.get(f"double-reviews/{first.body['id']}/").body
    assert (done["state"], done["review"]) == ("AGREED", made.body["id"])
    assert [one["decision"] for one in done["decisions"]] == ["PASS", "PASS"]
    assert ExpectationResult.objects.get(pk=failing).effective_status == "PASS"
    agreement = ann.get("double-reviews/agreement/").body
    assert (agreement["all"]["rounds"], agreement["all"]["share"], agreement["all"]["kappa"]) == (1, 1, None)
    assert agreement["by_kind"][0]["asked_for"] == "NEW_CRITICAL_FAILURE"


def test_taking_back_takes_two(failing: int, api: Any) -> None:
    ann, bob = (api("review", role="reviewer", name=name) for name in ("ann", "bob"))
    decide(ann, failing)
    review = decide(bob, failing).body["id"]
    taking = {"note": NOTE, "seen_review": review}
    assert ann.post(f"reviews/{review}/withdraw/", taking).status_code == 202
    assert bob.post(f"reviews/{review}/withdraw/", taking).status_code == 201
    assert ExpectationResult.objects.get(pk=failing).effective_status == "FAIL"


def test_the_policy_and_its_versions(failing: int, api: Any) -> None:
    admin = api("edit", name="adam")
    assert admin.get("review-policy/").body["two_reviewers"] == ["NEW_CRITICAL_FAILURE"]
    assert admin.post("review-policy/", {**POLICY, "seen_number": 1}).status_code == 200
    stale = admin.post("review-policy/", {**POLICY, "two_reviewers": []})
    assert (stale.status_code, stale.body["code"]) == (409, "stale_policy")
    off = admin.post("review-policy/", {**POLICY, "two_reviewers": [], "seen_number": 1})
    assert (off.status_code, off.body["number"], off.body["is_in_force"]) == (201, 2, True)
    versions = admin.get("review-policy/versions/").body["results"]
    assert [(one["number"], one["is_in_force"]) for one in versions] == [(2, True), (1, False)]
    assert admin.get("review-policy/versions/1/").body == versions[1]
    assert admin.get("review-policy/versions/9/").status_code == 404


@pytest.mark.parametrize("role", ["viewer", "reviewer", "editor"])
def test_only_an_admin_sets_it_and_only_with_the_scope(api: Any, role: str) -> None:
    client = api("edit", "review", "read", role=role, name=role)
    assert client.get("review-policy/").body["number"] == 0
    assert client.post("review-policy/", POLICY).status_code == 403
    assert api("read", "review", name="adam").post("review-policy/", POLICY).status_code == 403


@pytest.mark.parametrize(
    "change",
    [
        {"two_reviewers": ["EVERYTHING"]},
        {"sample_percent": 101},
        {"sample_percent": "NaN"},
        {"confidence_below": -0.1},
        {"note": "short"},
        {"unknown": 1},
        {"seen_number": -1},
    ],
)
def test_a_policy_that_cannot_be_is_400(api: Any, change: Any) -> None:
    refused = api("edit", name="adam").post("review-policy/", {**POLICY, **change})
    assert refused.status_code == 400
    assert refused.body["problems"]
    assert api("read", name="adam").get("review-policy/").body["number"] == 0


def test_a_result_that_is_not_asked_for_is_decided_at_once(failing: int, api: Any) -> None:
    other = ExpectationResult.objects.filter(case__run__side="CANDIDATE", status="PASS").first()
    assert other is not None
    assert decide(api("review", role="reviewer", name="ann"), other.pk, "FAIL").status_code == 201
    assert (BlindDecision.objects.count(), Review.objects.count()) == (0, 1)
