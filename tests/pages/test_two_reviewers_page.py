"""Two reviewers on the pages: each sees their own decision alone until both have decided."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evaluations.models import PairedCase
from reviews import services
from reviews.models import BlindDecision, DoubleReview, QueueEntry, Review
from reviews.services.filling import fill_queue
from reviews.two_reviewers import ASKED_FOR
from tests.pages.case_data import double_refund, page_of, result_of
from tests.reviews.conftest import person as account

NOTE = "The order was checked by hand, twice over."
SECRET = "Nobody but its author may read this sentence yet."
HTMX = {"HX-Request": "true", "HX-Target": "case-verdict"}


def logged_in(name: str, role: str = "reviewer", **fields: Any) -> Client:
    user = User.objects.filter(username=name).first() or account(name, role, **fields)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def case(db: Any) -> PairedCase:
    """The double refund under a policy that asks for two; its entry is in the queue."""
    services.set_policy(
        two_reviewers=list(ASKED_FOR), sample_percent=5, confidence_below="0.6", note=NOTE, seen_number=0,
        actor=account("adam", "admin", is_staff=True, is_superuser=True),
    )  # fmt: skip
    pair = double_refund()
    fill_queue(pair.comparison)
    return pair


def send(client: Client, pair: PairedCase, decision: str, *, note: str = NOTE, **options: Any) -> Any:
    result = result_of(pair, options.pop("name", "once"))
    data = {"decision": decision, "note": note, "seen_review_id": options.pop("seen", 0)}
    return client.post(f"/results/{result.pk}/override/", data, **options)


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)).replace("&#x27;", "'")


def every_place(pair: PairedCase) -> list[str]:
    """Every address at which a decision could show."""
    result, entry = result_of(pair, "once"), QueueEntry.objects.filter(reason="SECOND_REVIEW").get()
    api = "/api/v1"
    return [
        "/",
        page_of(pair),
        f"{page_of(pair)}?override={result.pk}",
        f"{page_of(pair)}?sealed={DoubleReview.objects.get().pk}",
        f"/comparisons/{pair.comparison_id}/",
        "/queue/",
        f"/queue/?entry={entry.pk}",
        "/queue/policy/",
        "/audit/",
        "/audit/export.csv",
        "/audit/export.json",
        "/reviews/mine/",
        f"{api}/reviews/",
        f"{api}/double-reviews/",
        f"{api}/double-reviews/{DoubleReview.objects.get().pk}/",
        f"{api}/double-reviews/agreement/",
        f"{api}/queue/",
        f"{api}/audit/",
        f"{api}/cases/{pair.pk}/",
        f"{api}/comparisons/{pair.comparison_id}/",
    ]


ADMIN_PLACES = [
    ("admin:reviews_doublereview_changelist", DoubleReview),
    ("admin:reviews_doublereview_change", DoubleReview),
    ("admin:reviews_auditentry_changelist", None),
    ("admin:reviews_queueentry_changelist", None),
    ("admin:reviews_review_changelist", None),
    ("admin:evaluations_expectationresult_changelist", None),
]


def body(response: Any) -> str:
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return content.decode()


def test_a_sealed_decision_shows_nowhere_to_anybody_else(case: PairedCase) -> None:
    ann = logged_in("ann")
    assert send(ann, case, "PASS", note=SECRET).status_code == 303

    for client in (logged_in("bob"), logged_in("eve", "viewer"), logged_in("adam")):
        for place in every_place(case):
            response = client.get(place)
            assert response.status_code == 200, place
            shown = body(response)
            assert SECRET not in shown, place
            assert "ann decided PASS" not in words(shown), place
    for name, model in ADMIN_PLACES:
        arguments = [model.objects.get().pk] if model is not None and name.endswith("_change") else []
        response = logged_in("adam").get(reverse(name, args=arguments))
        assert response.status_code == 200, name
        assert SECRET not in body(response), name
    # To its author it is told, and to them alone.
    assert SECRET in body(ann.get(page_of(case)))
    assert SECRET in body(ann.get("/reviews/mine/"))
    (mine,) = ann.get("/api/v1/double-reviews/").json()["results"][0]["decisions"]
    (theirs,) = logged_in("bob").get("/api/v1/double-reviews/").json()["results"][0]["decisions"]
    assert (mine["decision"], mine["note"]) == ("PASS", SECRET)
    assert (theirs["reviewer"], theirs["decision"], theirs["note"]) == ("ann", None, None)


def test_once_both_have_decided_everybody_sees_both(case: PairedCase) -> None:
    send(logged_in("ann"), case, "PASS", note=SECRET)
    send(logged_in("bob"), case, "PASS")

    page = words(body(logged_in("eve", "viewer").get(page_of(case))))
    assert "bob decided PASS on the candidate’s result" in page
    assert "together with ann , who decided PASS apart" in page
    assert SECRET in page
    assert SECRET in body(logged_in("eve").get("/audit/export.json"))
    mine = words(body(logged_in("ann").get("/reviews/mine/")))
    assert "recorded by bob; yours: PASS" in mine
    assert SECRET in mine
    assert "Waiting for another reviewer" not in mine


def test_the_form_says_beforehand_that_two_decide(case: PairedCase) -> None:
    ann = logged_in("ann")
    html = body(ann.get(page_of(case), {"override": result_of(case, "once").pk}))
    assert "Two reviewers decide this one (critical checks that newly fail)" in html
    assert "If the other agrees: This case" in words(html)
    assert ">Decide under seal</button>" in html
    # What is not critical is decided as ever.
    html = body(ann.get(page_of(case), {"override": result_of(case, "backed").pk}))
    assert "under seal" not in html
    assert ">Record the decision</button>" in html


def test_after_deciding_the_page_says_that_nothing_changed(case: PairedCase) -> None:
    ann = logged_in("ann")
    response = send(ann, case, "PASS")
    assert response["Location"].endswith(f"?sealed={DoubleReview.objects.get().pk}#decided")
    page = body(ann.get(response["Location"]))
    assert "Kept under seal:" in page
    assert "you decided PASS on" in words(page)
    assert "You have decided, under seal." in page
    assert "override=" not in re.findall(r'<tbody id="check-1".*?</tbody>', page, re.S)[0]
    case.refresh_from_db()
    assert case.classification == "NEW_CRITICAL_FAILURE"
    # The address of the answer tells nobody else anything.
    assert "Kept under seal:" not in body(logged_in("bob").get(response["Location"]))


def test_with_htmx_the_answer_is_the_verdict(case: PairedCase) -> None:
    response = send(logged_in("ann"), case, "PASS", headers=HTMX)
    html = body(response)
    assert response.status_code == 200
    assert html.strip().startswith('<section id="case-verdict"')
    assert "Kept under seal:" in html
    assert f'data-draft-clear="override-{result_of(case, "once").pk}"' in html


def test_who_has_decided_is_refused_with_the_reason_and_the_note(case: PairedCase) -> None:
    ann = logged_in("ann")
    send(ann, case, "PASS")
    refused = send(ann, case, "FAIL", note="I have thought about it again.")
    assert refused.status_code == 409
    assert BlindDecision.objects.count() == 1


def test_a_split_shows_both_and_asks_a_third(case: PairedCase) -> None:
    send(logged_in("ann"), case, "PASS")
    bob = logged_in("bob")
    page = words(body(bob.get(send(bob, case, "FAIL")["Location"])))
    assert "the other reviewer disagrees. A third reviewer decides" in page
    carol = logged_in("carol")
    html = body(carol.get(page_of(case), {"override": result_of(case, "once").pk}))
    assert "ann decided PASS, bob decided FAIL" in words(html).replace(" ,", ",")
    assert "yours is the third decision, and it counts" in html
    done = send(carol, case, "PASS")
    told = words(body(carol.get(done["Location"])))
    assert "carol decided PASS on once , which counts as PASS now" in told
    assert "against bob , who decided FAIL" in told
    assert "together with ann , who decided PASS" in told
    assert Review.objects.get().reviewer.username == "carol"


def test_taking_back_what_two_decided_is_decided_by_two(case: PairedCase) -> None:
    for name in ("ann", "bob"):
        send(logged_in(name), case, "PASS")
    review = Review.objects.get()
    ann = logged_in("ann")
    form = body(ann.get(page_of(case), {"withdraw": review.pk}))
    assert ">Decide under seal</button>" in form
    response = ann.post(f"/reviews/{review.pk}/withdraw/", {"note": NOTE, "seen_review_id": review.pk})
    assert "you decided to take back the review of" in words(body(ann.get(response["Location"])))
    assert result_of(case, "once").effective_status == "PASS"


# ------------------------------------------------------------------------------------------ queue


def test_in_the_queue_a_sealed_decision_leads_on_and_leaves_the_entry_to_others(case: PairedCase) -> None:
    entry = QueueEntry.objects.get(reason="SECOND_REVIEW")
    ann = logged_in("ann")
    assert "Two reviewers decide here" in body(ann.get(f"/queue/?entry={entry.pk}"))
    for name in ("once", "no-double"):
        data = {
            "result": result_of(case, name).pk, "decision": "FAIL", "note": NOTE, "seen_review_id": 0,
        }  # fmt: skip
        response = ann.post(f"/queue/{entry.pk}/decide/", data, follow=True)
    page = words(body(response))
    assert "Kept under seal: FAIL on no-double of" in page
    assert "The agent reports a success that the tools did not record." in page, "the next one is there"
    shown = words(body(ann.get(f"/queue/?entry={entry.pk}")))
    assert "You have decided all that is yours here" in shown
    assert "1 for another reviewer" in shown
    assert "Take this one" not in shown
    assert ann.post(f"/queue/{entry.pk}/take/").status_code == 409
    bob = body(logged_in("bob").get(f"/queue/?entry={entry.pk}"))
    assert "Take this one" in bob
    assert "decided FAIL" not in words(bob)


def test_all_that_is_left_being_for_others_is_no_all_done(case: PairedCase) -> None:
    ann = logged_in("ann")
    for name in ("once", "no-double"):
        send(ann, case, "FAIL", name=name)
    QueueEntry.objects.exclude(reason="SECOND_REVIEW").update(
        state="DONE", closed_by=account("closer"), closed_at="2026-11-30T00:00:00Z"
    )
    page = words(body(ann.get("/queue/")))
    assert "Nothing is free" in page
    assert "1 decided by you and waiting for another reviewer." in page
    assert "Nothing is left" not in page


def test_an_entry_under_way_is_not_closed_by_hand(case: PairedCase) -> None:
    entry = QueueEntry.objects.get(reason="SECOND_REVIEW")
    send(logged_in("ann"), case, "PASS")
    refused = logged_in("bob").post(f"/queue/{entry.pk}/close/", {"note": NOTE})
    assert refused.status_code == 409
    assert "It ends when the others have, too." in body(refused)
    entry.refresh_from_db()
    assert entry.is_open


@pytest.mark.parametrize("path", ["case", "queue", "own"])
def test_pages_take_a_fixed_number_of_queries(case: PairedCase, path: str) -> None:
    ann = logged_in("ann")
    address = {"case": page_of(case), "queue": "/queue/", "own": "/reviews/mine/"}[path]
    send(ann, case, "PASS")
    ann.get(address)
    with CaptureQueriesContext(connection) as few:
        ann.get(address)
    send(logged_in("bob"), case, "PASS")
    send(ann, case, "PASS", name="no-double")
    send(logged_in("bob"), case, "FAIL", name="no-double")
    for number in range(4):
        more = double_refund(name=f"more-{number}")
        for name in ("once", "no-double"):
            send(ann, more, "PASS", name=name)
    with CaptureQueriesContext(connection) as many:
        ann.get(address)
    # Of reviews that came of a round the other decisions are told too: two queries for all of them.
    assert len(many) <= len(few) + (2 if path == "own" else 0)


# ----------------------------------------------------------------------------------------- policy


def test_everybody_reads_the_policy_and_an_admin_sets_it(person: Callable[..., Client]) -> None:
    form = {
        "two_reviewers": ["NEW_CRITICAL_FAILURE"], "sample_percent": "12.5", "confidence_below": "0.7",
        "note": NOTE, "seen_number": "0",
    }  # fmt: skip
    for role in ("viewer", "reviewer", "editor"):
        client = person(role)
        page = words(body(client.get("/queue/policy/")))
        assert "the defaults are in force" in page
        assert "An admin sets it, with a note." in page
        assert client.post("/queue/policy/", form).status_code == 403
    admin = person("admin")
    assert admin.post("/queue/policy/", form).status_code == 303
    page = words(body(admin.get("/queue/policy/")))
    assert "number 1 is in force" in page
    assert "decide critical checks that newly fail" in page
    assert "12.5%" in page
    assert NOTE in page
    policy = services.current_policy()
    assert policy.two_reviewers == {"NEW_CRITICAL_FAILURE"}
    # The same form again is about a policy that is no longer in force.
    again = admin.post("/queue/policy/", {**form, "two_reviewers": []})
    assert again.status_code == 409
    assert "number 1 is in force now" in body(again)
    assert 'name="seen_number" value="1"' in body(again)
    assert services.current_policy() == policy


@pytest.mark.parametrize(
    ("field", "value"),
    [("sample_percent", "101"), ("confidence_below", "x"), ("note", "short"), ("two_reviewers", ["X"])],
)
def test_a_policy_that_cannot_be_comes_back_with_the_form(
    person: Callable[..., Client], field: str, value: Any
) -> None:
    form = {"two_reviewers": [], "sample_percent": "5", "confidence_below": "0.7", "note": NOTE}
    response = person("admin").post("/queue/policy/", {**form, "seen_number": "0", field: value})
    assert response.status_code == 422
    assert "field__error" in body(response)
    assert services.current_policy().number == 0


def test_agreement_is_told_with_kappa(case: PairedCase) -> None:
    assert "Nobody has decided anything together yet." in body(
        logged_in("eve", "viewer").get("/queue/policy/")
    )
    for name, first, second in (("once", "PASS", "PASS"), ("no-double", "FAIL", "FAIL")):
        send(logged_in("ann"), case, first, name=name)
        send(logged_in("bob"), case, second, name=name)
    page = words(body(logged_in("eve").get("/queue/policy/")))
    assert "all 2 2 100% 1.00" in page
    assert "critical checks that newly fail 2 2 100% 1.00" in page
