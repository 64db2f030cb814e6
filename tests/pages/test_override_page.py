"""Deciding on the page of a case: the form, what it says beforehand, and everything that can go wrong."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agenttwin_site.kept_forms import typed_by
from evaluations.models import ExpectationResult, PairedCase
from reviews import services
from reviews.models import AuditEntry, QueueEntry, Review
from tests.pages.case_data import (
    NOTE,
    concluded,
    double_refund,
    graded,
    new_pair,
    page_of,
    result_of,
    side_of,
    versions,
)
from tests.reviews.conftest import person as account

HTMX = {"HX-Request": "true", "HX-Target": "case-verdict"}


@pytest.fixture
def reviewer(person: Callable[..., Client]) -> Client:
    return person("reviewer")


def form_of(client: Client, pair: PairedCase, result: ExpectationResult) -> dict[str, str]:
    """The hidden fields of the override form, as a person's page has them."""
    html = client.get(page_of(pair), {"override": result.pk}).content.decode()
    return dict(re.findall(r'<input type="hidden" name="(seen_review_id|form_token)" value="([^"]*)"', html))


def decide(client: Client, result: ExpectationResult, form: dict[str, str], **changes: Any) -> Any:
    headers = changes.pop("headers", {})
    data = {**form, "decision": "PASS", "note": NOTE, **changes}
    return client.post(f"/results/{result.pk}/override/", data, headers=headers)


def words(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


# ------------------------------------------------------------------------------------ before


def test_the_form_opens_under_its_check_and_says_what_each_choice_changes(reviewer: Client) -> None:
    pair = double_refund()
    result = result_of(pair, "once")

    html = reviewer.get(page_of(pair), {"override": result.pk}).content.decode()

    row = next(
        row for row in re.findall(r'<tbody id="check-.*?</tbody>', html, re.S) if ">once</span>" in row
    )
    assert f'action="/results/{result.pk}/override/"' in row
    assert html.count('class="decide ') == 1
    choices = [
        re.sub(r"<[^>]+>|\s+", " ", choice) for choice in re.findall(r"<label class=.*?</label>", row, re.S)
    ]
    for choice, decision in zip(choices, ("PASS", "FAIL"), strict=True):
        assert decision in choice
        assert services.explain_effect(result, decision) in re.sub(r"\s+", " ", choice)
    assert "stays a new critical failure: 1 other critical check fails (no-double)" in row
    assert "Measured FAIL" in row


def test_the_other_side_is_one_link_away(reviewer: Client) -> None:
    pair = double_refund()
    baseline = result_of(pair, "once", "BASELINE")

    html = reviewer.get(page_of(pair), {"override": result_of(pair, "once").pk}).content.decode()

    assert f"override={baseline.pk}#check-" in html
    assert "baseline’s PASS instead" in html


def test_a_result_of_another_case_opens_nothing(reviewer: Client) -> None:
    pair, other = double_refund(), double_refund(name="other")

    html = reviewer.get(page_of(pair), {"override": result_of(other, "once").pk}).content.decode()

    assert 'class="decide ' not in html


# ----------------------------------------------------------------------------------- deciding


def test_without_javascript_a_decision_leads_to_the_new_state(reviewer: Client) -> None:
    pair = double_refund()
    result = result_of(pair, "once")

    response = decide(reviewer, result, form_of(reviewer, pair, result))

    review = Review.objects.get()
    assert response.status_code == 303
    assert response["Location"] == f"{page_of(pair)}?reviewed={review.pk}#decided"
    told = words(reviewer.get(response["Location"]))
    assert "reviewer decided PASS on once , which counts as PASS now (it counted as FAIL)" in told
    assert "was FAIL, changed by reviewer" in told
    assert "1 new critical" in told, "the totals of the comparison are told with it"


def test_with_htmx_the_answer_is_the_verdict_and_others_hear_of_it(reviewer: Client) -> None:
    pair = double_refund()
    result = result_of(pair, "once")

    response = decide(reviewer, result, form_of(reviewer, pair, result), headers=HTMX)

    html = response.content.decode()
    assert response.status_code == 200
    assert html.strip().startswith('<section id="case-verdict"')
    assert json.loads(response["HX-Trigger"]) == {"override-recorded": {}}
    assert response["HX-Replace-Url"] == page_of(pair), "a reload must not open the form again"
    assert 'class="decide ' not in html
    assert f'data-draft-clear="override-{result.pk}"' in html


def test_case_class_and_totals_follow_at_once(reviewer: Client) -> None:
    pair = double_refund()
    for name in ("once", "no-double", "backed"):
        result = result_of(pair, name)
        assert decide(reviewer, result, form_of(reviewer, pair, result)).status_code == 303

    pair.refresh_from_db()
    assert pair.classification == "UNCHANGED"
    head = words(reviewer.get(page_of(pair), headers={"HX-Request": "true", "HX-Target": "case-verdict"}))
    assert "unchanged" in head
    tiles = reviewer.get(f"/comparisons/{pair.comparison_id}/").content.decode()
    assert re.search(r'id="tile-new-critical".*?tile__count">0<', tiles, re.S)
    assert re.search(r'id="tile-unchanged".*?tile__count">1<', tiles, re.S)


def test_a_judges_failure_turned_to_pass_does_not_lift_a_case_that_fails_otherwise(reviewer: Client) -> None:
    pair = new_pair(versions(), "judged")
    baseline = side_of(pair, "BASELINE")
    candidate = side_of(pair, "CANDIDATE", verdict="FAILED")
    for name, kind in (("polite", "semantic"), ("once", "state")):
        graded(baseline, name, "PASS", type=kind)
        graded(candidate, name, "FAIL", type=kind)
    pair = concluded(pair)
    judged = result_of(pair, "polite")

    form = reviewer.get(page_of(pair), {"override": judged.pk}).content.decode()
    response = decide(reviewer, judged, form_of(reviewer, pair, judged), headers=HTMX)

    assert "stays a new critical failure: 1 other critical check fails (once)" in form
    assert "This case stays new critical failure" in re.sub(r"✕✕ ?", "", words(response)).replace("  ", " ")
    assert 'data-announce="Recorded. This case stays new critical failure."' in response.content.decode()
    pair.refresh_from_db()
    assert pair.classification == "NEW_CRITICAL_FAILURE"


def test_a_decision_that_moves_the_case_is_read_out_in_the_words_of_the_page(reviewer: Client) -> None:
    pair = new_pair(versions(), "polite")
    for side, status in (("BASELINE", "PASS"), ("CANDIDATE", "FAIL")):
        graded(side_of(pair, side, verdict=f"{status}ED"), "once", status)
    result = result_of(concluded(pair), "once")

    response = decide(reviewer, result, form_of(reviewer, pair, result), headers=HTMX)

    html = response.content.decode()
    assert 'data-announce="Recorded. This case is now unchanged."' in html
    assert "This case is now" in words(response)


def test_the_filter_of_the_list_survives_a_decision(reviewer: Client) -> None:
    pair = double_refund()
    result = result_of(pair, "once")
    query = "?class=NEW_CRITICAL_FAILURE"
    html = reviewer.get(f"{page_of(pair)}{query}&override={result.pk}").content.decode()
    action = re.search(r'action="(/results/[^"]+)"', html)
    assert action
    assert action[1] == f"/results/{result.pk}/override/{query}"

    response = reviewer.post(action[1], {"decision": "PASS", "note": NOTE, "seen_review_id": 0})

    assert response["Location"].endswith("&class=NEW_CRITICAL_FAILURE#decided")


def test_the_history_hears_of_a_decision(reviewer: Client) -> None:
    pair = double_refund()
    page = reviewer.get(page_of(pair)).content.decode()
    history = next(tag for tag in re.findall(r"<section [^>]*>", page) if 'id="case-history"' in tag)
    assert 'hx-trigger="override-recorded from:body"' in history
    assert f'hx-get="{page_of(pair)}"' in history
    for name in ("once", "no-double", "backed"):
        result = result_of(pair, name)
        decide(reviewer, result, form_of(reviewer, pair, result))

    fragment = reviewer.get(page_of(pair), headers={**HTMX, "HX-Target": "case-history"})

    assert fragment.content.decode().strip().startswith('<section class="panel" id="case-history"')
    assert "unchanged" in words(fragment)


def test_the_contradiction_names_who_decided_otherwise(reviewer: Client) -> None:
    pair = double_refund()
    banner = re.compile(r'contradiction">.*?</p>', re.S)
    result = result_of(pair, "backed")
    before = banner.search(reviewer.get(page_of(pair)).content.decode())
    decide(reviewer, result, form_of(reviewer, pair, result))

    after = banner.search(reviewer.get(page_of(pair)).content.decode())

    assert before
    assert "decided" not in before[0]
    assert after, "what was recorded still contradicts the claim"
    assert "<strong>reviewer decided PASS</strong> on <code>backed</code>" in after[0]
    review = Review.objects.get()
    services.withdraw_review(review_id=review.pk, note=NOTE, seen_review_id=review.pk, actor=account("ann"))
    withdrawn = banner.search(reviewer.get(page_of(pair)).content.decode())
    assert withdrawn
    assert "decided" not in withdrawn[0]


# ------------------------------------------------------------------------- what does not hold


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"note": "too short"}, "at least 10 characters; this is 9"),
        ({"note": "          "}, "at least 10 characters"),
        ({"note": "x" * 10_001}, "10,000 characters"),
        ({"decision": ""}, "Choose PASS or FAIL."),
        ({"decision": "MAYBE"}, "Choose PASS or FAIL."),
        ({"form_token": "no-uuid"}, "This form cannot be used"),
        ({"seen_review_id": "none"}, "Say which review"),
    ],
)
@pytest.mark.parametrize("headers", [{}, HTMX])
def test_what_does_not_hold_comes_back_with_the_form_and_changes_nothing(
    reviewer: Client, changes: dict[str, str], said: str, headers: dict[str, str]
) -> None:
    pair = double_refund()
    result = result_of(pair, "once")
    form = form_of(reviewer, pair, result)
    entries = AuditEntry.objects.count()

    response = decide(reviewer, result, form, headers=headers, **changes)

    html = response.content.decode()
    assert response.status_code == 422
    assert said in html
    assert ("<html" in html) is (not headers)
    assert f'action="/results/{result.pk}/override/"' in html
    assert changes.get("note", NOTE).strip() in html
    assert not Review.objects.exists()
    assert AuditEntry.objects.count() == entries
    assert result_of(pair, "once").effective_status == "FAIL"


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_conflict_shows_what_changed_keeps_the_note_and_can_be_decided_again(
    reviewer: Client, headers: dict[str, str]
) -> None:
    pair = double_refund()
    result = result_of(pair, "once")
    form = form_of(reviewer, pair, result)
    theirs = services.override_result(
        result_id=result.pk,
        decision="PASS",
        note="The mail proves it.",
        seen_review_id=0,
        actor=account("bob"),
    )

    refused = decide(reviewer, result, form, decision="FAIL", note="I think otherwise.", headers=headers)

    html = refused.content.decode()
    assert refused.status_code == 409
    assert "bob decided PASS on this result meanwhile" in html
    assert "The mail proves it." in html
    assert ">I think otherwise.</textarea>" in html
    assert re.search(r'value="FAIL" required checked', html)
    assert f'name="seen_review_id" value="{theirs.pk}"' in html
    assert f'name="form_token" value="{form["form_token"]}"' in html
    assert Review.objects.count() == 1

    form["seen_review_id"] = str(theirs.pk)
    again = decide(reviewer, result, form, decision="FAIL", note="I think otherwise.", headers=headers)

    assert again.status_code in (200, 303)
    assert list(Review.objects.values_list("decision", flat=True)) == ["PASS", "FAIL"]


def test_a_double_submit_makes_one_review(reviewer: Client) -> None:
    pair = double_refund()
    result = result_of(pair, "once")
    form = form_of(reviewer, pair, result)

    first, second = decide(reviewer, result, form), decide(reviewer, result, form)

    assert first["Location"] == second["Location"]
    assert Review.objects.count() == 1
    assert AuditEntry.objects.filter(action="result_overridden").count() == 1


def test_a_form_sent_again_with_another_decision_is_a_conflict_with_a_fresh_form(reviewer: Client) -> None:
    pair = double_refund()
    result = result_of(pair, "once")
    form = form_of(reviewer, pair, result)
    decide(reviewer, result, form)

    response = decide(reviewer, result, form, decision="FAIL", headers=HTMX)

    html = response.content.decode()
    assert response.status_code == 409
    assert "already sent with another decision" in html
    assert form["form_token"] not in html
    assert Review.objects.count() == 1


def test_a_fact_of_the_run_is_refused_whatever_is_sent(reviewer: Client) -> None:
    pair = new_pair(versions(), "crashed")
    graded(side_of(pair, "BASELINE"), "once", "PASS")
    candidate = side_of(pair, "CANDIDATE", verdict="FAILED")
    graded(candidate, "once", "PASS")
    crashed = graded(candidate, "agentRun", "FAIL", type="agentRun", reason="The agent crashed.")
    concluded(pair)

    response = decide(reviewer, crashed, {"seen_review_id": "0", "form_token": str(uuid.uuid4())})

    assert response.status_code == 409
    assert "nobody may override it" in response.content.decode()
    assert not Review.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_who_may_not_decide_is_refused_and_nothing_changes(person: Callable[..., Client], role: str) -> None:
    pair = double_refund()
    result = result_of(pair, "once")
    review = services.override_result(
        result_id=result.pk, decision="FAIL", note=NOTE, seen_review_id=0, actor=account("ann")
    )
    client = person(role)
    data = {"decision": "PASS", "note": NOTE, "seen_review_id": review.pk}

    for path in (
        f"/results/{result.pk}/override/",
        f"/reviews/{review.pk}/withdraw/",
        f"/cases/{pair.pk}/flag/",
    ):
        assert client.post(path, data).status_code == 403
        assert client.get(path).status_code == 403
    assert Review.objects.count() == 1
    assert not QueueEntry.objects.exists()


@pytest.mark.parametrize("path", ["/results/999/override/", "/reviews/999/withdraw/", "/cases/999/flag/"])
def test_what_is_not_there_is_404(reviewer: Client, path: str) -> None:
    assert reviewer.post(path, {"note": NOTE}).status_code == 404
    assert reviewer.get(path.replace("999", str(10**30))).status_code == 404


def test_a_note_with_markup_is_shown_as_text(reviewer: Client) -> None:
    pair = double_refund()
    result = result_of(pair, "once")
    note = "<script>alert('note')</script> & more"

    short = decide(reviewer, result, form_of(reviewer, pair, result), decision="", note=note).content.decode()
    decide(reviewer, result, form_of(reviewer, pair, result), note=note)
    page = reviewer.get(page_of(pair)).content.decode()

    for html in (short, page):
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert(" in html


# -------------------------------------------------------------------------------- taking it back


def test_only_the_review_that_counts_offers_to_be_withdrawn(reviewer: Client) -> None:
    pair = double_refund()
    result = result_of(pair, "once")
    first = services.override_result(
        result_id=result.pk, decision="PASS", note=NOTE, seen_review_id=0, actor=account("ann")
    )
    second = services.override_result(
        result_id=result.pk, decision="FAIL", note=NOTE, seen_review_id=first.pk, actor=account("bob")
    )

    html = reviewer.get(page_of(pair)).content.decode()

    assert f"withdraw={second.pk}#" in html
    assert f"withdraw={first.pk}#" not in html


def test_withdrawing_needs_a_note_and_brings_the_measured_status_back(reviewer: Client) -> None:
    pair = double_refund()
    result = result_of(pair, "once")
    review = services.override_result(
        result_id=result.pk, decision="PASS", note=NOTE, seen_review_id=0, actor=account("ann")
    )
    form = reviewer.get(page_of(pair), {"withdraw": review.pk}).content.decode()
    assert "If it is withdrawn:" in form
    assert services.explain_withdrawal(review) in form
    path, data = f"/reviews/{review.pk}/withdraw/", {"seen_review_id": review.pk}

    refused = reviewer.post(path, {**data, "note": "no"})
    taken = reviewer.post(path, {**data, "note": "I looked at the wrong order."}, headers=HTMX)

    assert refused.status_code == 422
    assert "reviewer withdrew a review of once" in words(taken).replace(" ,", ",")
    assert result_of(pair, "once").effective_status == "FAIL"
    page = reviewer.get(page_of(pair)).content.decode()
    assert "<del>decided PASS</del>" in page
    assert "I looked at the wrong order." in page


# --------------------------------------------------------------------------------------- flags


def test_flagging_puts_the_case_into_the_queue_once(reviewer: Client) -> None:
    pair = double_refund()
    path = f"/cases/{pair.pk}/flag/"

    short = reviewer.post(path, {"note": "hm"})
    plain = reviewer.post(path, {"note": "Was the mail sent twice?"})
    again = reviewer.post(path, {"note": "Was the mail sent twice?"}, headers=HTMX)

    assert short.status_code == 422
    assert '<details class="act" id="flag" open>' in short.content.decode()
    assert plain.status_code == 303
    assert plain["Location"] == page_of(pair)
    assert json.loads(again["HX-Trigger"]) == {"case-flagged": {}}
    assert QueueEntry.objects.count() == 1
    assert "Flagged by a person" in reviewer.get(page_of(pair)).content.decode()


# --------------------------------------------------------------------------- an ended session


@pytest.mark.parametrize("kind", ["override", "withdraw", "flag"])
def test_what_was_typed_when_the_session_ended_is_in_its_form_after_login(
    reviewer: Client, kind: str
) -> None:
    pair = double_refund()
    result = result_of(pair, "once")
    path = f"/results/{result.pk}/override/"
    if kind == "withdraw":
        review = services.override_result(
            result_id=result.pk, decision="PASS", note=NOTE, seen_review_id=0, actor=account("ann")
        )
        path = f"/reviews/{review.pk}/withdraw/"
    elif kind == "flag":
        path = f"/cases/{pair.pk}/flag/"
    typed = "What I saw before the session ended."
    page = f"http://testserver{page_of(pair)}"
    reviewer.logout()

    me = User.objects.get(username="reviewer")
    fields = {"decision": "FAIL", "note": typed, "typed_by": typed_by(me)}
    refused = reviewer.post(path, fields, headers={"Referer": page})
    reviewer.force_login(me)

    assert refused.status_code == 303
    assert not Review.objects.filter(note=typed).exists()
    html = reviewer.get(page_of(pair)).content.decode()
    assert f">{typed}</textarea>" in html
    assert f'action="{path}"' in html
    if kind == "override":
        assert re.search(r'value="FAIL" required checked', html)


@pytest.mark.parametrize("kind", ["override", "withdraw"])
@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_form_from_before_the_session_ended_still_conflicts_with_what_was_decided_meanwhile(
    reviewer: Client, kind: str, headers: dict[str, str]
) -> None:
    """The kept form comes back under the review it was typed under, not under the newest."""
    pair = double_refund()
    result, seen = result_of(pair, "once"), 0
    path = f"/results/{result.pk}/override/"
    if kind == "withdraw":
        first = services.override_result(
            result_id=result.pk, decision="FAIL", note=NOTE, seen_review_id=0, actor=account("ann")
        )
        path, seen = f"/reviews/{first.pk}/withdraw/", first.pk
    me = User.objects.get(username="reviewer")
    fields = {"decision": "FAIL", "note": "Typed before it ended.", "seen_review_id": str(seen)}
    page = f"http://testserver{page_of(pair)}"
    services.override_result(
        result_id=result.pk,
        decision="PASS",
        note="The mail proves it.",
        seen_review_id=seen,
        actor=account("bob"),
    )
    reviewer.logout()
    reviewer.post(
        path,
        fields | {"typed_by": typed_by(me)},
        headers={"Referer": page, "HX-Current-URL": page, **headers},
    )
    reviewer.force_login(me)
    reviews = Review.objects.count()

    back = reviewer.get(page_of(pair)).content.decode()
    shown = dict(re.findall(r'<input type="hidden" name="(seen_review_id|form_token)" value="([^"]*)"', back))
    refused = reviewer.post(path, fields | shown, headers=headers)

    assert ">Typed before it ended.</textarea>" in back
    assert shown["seen_review_id"] == str(seen)
    html = refused.content.decode()
    assert refused.status_code == 409
    assert "bob decided PASS on this result meanwhile" in html
    assert "The mail proves it." in html
    assert ">Typed before it ended.</textarea>" in html
    assert Review.objects.count() == reviews
    assert result_of(pair, "once").effective_status == "PASS"


def test_a_form_that_came_back_refused_keeps_its_note_over_an_ended_session_too(reviewer: Client) -> None:
    """Without JavaScript a refused form stands under the address it was sent to."""
    pair = double_refund()
    path = f"/results/{result_of(pair, 'once').pk}/override/"
    reviewer.logout()

    me = User.objects.get(username="reviewer")
    fields = {"note": NOTE, "typed_by": typed_by(me)}
    refused = reviewer.post(path, fields, headers={"Referer": f"http://testserver{path}"})
    assert refused["Location"].endswith(f"next={path.replace('/', '%2F')}")
    reviewer.force_login(me)

    assert f">{NOTE}</textarea>" in reviewer.get(path).content.decode()


def test_what_was_typed_earlier_keeps_no_other_form_closed_and_can_be_put_aside(
    reviewer: Client,
) -> None:
    pair = double_refund()
    once, backed = result_of(pair, "once"), result_of(pair, "backed")
    reviewer.logout()
    referer = {"Referer": f"http://testserver{page_of(pair)}"}
    fields = {"note": "Half a thought.", "typed_by": typed_by(User.objects.get(username="reviewer"))}
    reviewer.post(f"/results/{once.pk}/override/", fields, headers=referer)
    reviewer.force_login(User.objects.get(username="reviewer"))

    other = reviewer.get(page_of(pair), {"override": backed.pk}).content.decode()
    aside = reviewer.get(page_of(pair), {"closed": 1}).content.decode()
    again = reviewer.get(page_of(pair), {"override": once.pk}).content.decode()

    assert f'action="/results/{backed.pk}/override/"' in other
    assert "Half a thought." not in other
    assert 'class="decide ' not in aside
    assert ">Half a thought.</textarea>" in again
    assert re.search(r'href="[^"]*closed=1#check-\d+"[^>]*>Cancel<', again)


def test_htmx_without_a_session_is_sent_to_the_login_page_and_swaps_nothing(reviewer: Client) -> None:
    pair = double_refund()
    reviewer.logout()
    headers = {**HTMX, "HX-Current-URL": f"http://testserver{page_of(pair)}"}

    response = reviewer.post(
        f"/results/{result_of(pair, 'once').pk}/override/", {"note": NOTE}, headers=headers
    )

    assert response.status_code == 401
    assert response["HX-Redirect"].startswith("/login/?next=")
    assert response.content == b""


@pytest.mark.parametrize("form", ["override", "flag"])
def test_the_forms_of_the_case_page_say_whose_they_are(reviewer: Client, form: str) -> None:
    pair = double_refund()
    query = {"override": {"override": result_of(pair, "once").pk}, "flag": {"flag": 1}}[form]

    html = reviewer.get(page_of(pair), query).content.decode()

    mark = f'name="typed_by" value="{typed_by(User.objects.get(username="reviewer"))}"'
    assert html.count(mark) == (2 if form == "override" else 1)
