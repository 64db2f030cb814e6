"""A draft has no say before a person approves it, and one afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction

from evaluations.errors import RequestError
from evaluations.models import PairedCase
from evaluations.services.gate import evaluate, fired_in, read_content
from evaluations.services.suite_health import check_suite
from reviews.models import AuditEntry
from scenarios.errors import ApprovalError, NotGeneratedError
from scenarios.models import ScenarioApproval, ScenarioVersion
from scenarios.services.approvals import approve_scenario
from tests.datasets.people import account, logged_in
from tests.running import documents

pytestmark = pytest.mark.django_db

NOTE = "One request is one refund."
PAGE = "/scenarios/refund-refund-timeout-after-effect/"


def ran(comparison: Any) -> list[str]:
    pairs = PairedCase.objects.filter(comparison=comparison).order_by("position")
    return list(pairs.values_list("scenario_name", flat=True))


# ------------------------------------------------------------------------------- selection


def test_what_waits_is_compared_only_where_it_is_named(drafted: list[Any], start: Any) -> None:
    names = [one.scenario.name for one in drafted]
    assert ran(start()) == ["refund"]
    assert ran(start(scenarios=names)) == sorted(names)
    with pytest.raises(RequestError, match="that nobody has approved are selected by name only"):
        start(tags=["generated"])


def test_an_approved_one_is_compared_like_any_other(drafted: list[Any], start: Any) -> None:
    approve_scenario(version=drafted[0], note=NOTE, actor=account("editor"))
    assert ran(start()) == ["refund", drafted[0].scenario.name]
    assert ran(start(tags=["generated"])) == [drafted[0].scenario.name]


def test_where_there_is_nothing_else_it_is_said(drafted: list[Any], start: Any) -> None:
    other = drafted[0].document
    document = {**other, "metadata": {**other["metadata"], "name": "lonely"}}
    from evaluations.services.agents import save_agent
    from scenarios.services import save_scenario

    save_agent(document=documents.agent("1.0.0", name="broken-agent"))
    document["spec"] = {**other["spec"], "agent": "broken-agent"}
    save_scenario(document=document)
    with pytest.raises(RequestError, match="nothing to compare; generated scenarios that nobody"):
        start(agent="broken-agent", baseline="1.0.0", candidate="1.0.0")


def test_in_a_dataset_it_runs_and_decides_nothing(drafted: list[Any], freeze: Any, compared: Any) -> None:
    freeze("refund", *(one.scenario.name for one in drafted))
    comparison = compared(dataset="suite")
    assert len(ran(comparison)) == 3
    decision = evaluate(comparison_id=comparison.pk)
    assert (decision.outcome, rules(decision)) == ("WARN", ["generated-unreviewed"])
    for one in drafted:
        approve_scenario(version=one, note=NOTE, actor=account("editor", f"e{one.pk}"))
    comparison.refresh_from_db()
    assert comparison.evidence_changed_at is not None
    # Now what the agent does after a timeout counts: it told a success that was none.
    again = evaluate(comparison_id=comparison.pk)
    assert again.outcome == "BLOCK"
    assert "generated-unreviewed" not in rules(again)


def rules(decision: Any) -> list[str]:
    return [one.rule for one in fired_in(read_content(decision) or {})]


def test_what_waits_catches_no_control_agent(drafted: list[Any], freeze: Any) -> None:
    version = freeze(drafted[1].scenario.name)
    assert len(check_suite(version).flagged) == 3
    approve_scenario(version=drafted[1], note=NOTE, actor=account("editor"))
    assert "claims-success" not in check_suite(version).flagged


# ------------------------------------------------------------------------------- approving


@pytest.mark.parametrize(
    ("role", "may"), [("viewer", False), ("reviewer", False), ("editor", True), ("admin", True)]
)
def test_who_approves(drafted: list[Any], role: str, may: bool) -> None:
    person = account(role)
    if may:
        approval, is_new = approve_scenario(version=drafted[0], note=NOTE, actor=person)
        assert (approval.person, approval.note, is_new) == (person, NOTE, True)
    else:
        with pytest.raises(PermissionDenied):
            approve_scenario(version=drafted[0], note=NOTE, actor=person)
        with pytest.raises(PermissionDenied):
            approve_scenario(version=drafted[0], note=NOTE, actor=None)
        assert not ScenarioApproval.objects.exists()


def test_an_approval_is_in_the_audit_log_and_given_once(drafted: list[Any]) -> None:
    first, _ = approve_scenario(version=drafted[0], note=NOTE, actor=account("editor"))
    entry = AuditEntry.objects.get(action="scenario_approved")
    assert (entry.actor_name, entry.note) == ("editor", NOTE)
    assert entry.after == {"version": 1, "digest": drafted[0].digest}
    again, is_new = approve_scenario(version=drafted[0], note="Another reason.", actor=account("admin"))
    assert (again, is_new) == (first, False)
    assert AuditEntry.objects.filter(action="scenario_approved").count() == 1


def test_an_approval_needs_a_reason_and_something_generated(drafted: list[Any]) -> None:
    editor = account("editor")
    for note in ("", "too short", " " * 20, "x" * 5001):
        with pytest.raises(ApprovalError):
            approve_scenario(version=drafted[0], note=note, actor=editor)
    with pytest.raises(NotGeneratedError):
        approve_scenario(
            version=ScenarioVersion.objects.get(scenario__name="refund"), note=NOTE, actor=editor
        )
    with pytest.raises(IntegrityError), transaction.atomic():
        ScenarioApproval.objects.create(scenario_version=drafted[0], person=editor, note="")


def test_another_version_waits_anew(drafted: list[Any], start: Any) -> None:
    from scenarios.services import save_scenario

    approve_scenario(version=drafted[0], note=NOTE, actor=account("editor"))
    document = {**drafted[0].document, "metadata": {**drafted[0].document["metadata"], "severity": "high"}}
    changed, _ = save_scenario(document=document)
    assert changed.is_waiting
    assert ran(start()) == ["refund"]


# ------------------------------------------------------------------------------- pages


def test_the_page_of_a_draft_says_what_it_is_and_takes_an_approval(drafted: list[Any]) -> None:
    viewer, editor = logged_in(account("viewer")), logged_in(account("editor"))
    before = viewer.get(PAGE).content.decode()
    assert "Generated, waits for an approval" in before
    assert 'href="/scenarios/refund/?version=1"' in before
    assert "Why its expectations are right" not in before
    assert viewer.post(f"{PAGE}approve/", {"version": 1, "note": NOTE}).status_code == 403
    short = editor.post(f"{PAGE}approve/", {"version": 1, "note": "no"})
    assert short.status_code == 422
    assert "Say in 10 to 5,000 characters why it is right." in short.content.decode()
    assert ">no</textarea>" in short.content.decode()
    done = editor.post(f"{PAGE}approve/", {"version": 1, "note": NOTE})
    assert (done.status_code, done.headers["Location"]) == (303, f"{PAGE}?version=1")
    after = viewer.get(PAGE).content.decode()
    assert "Generated and approved" in after
    assert NOTE in after
    again = editor.post(f"{PAGE}approve/", {"version": 1, "note": NOTE}, follow=True)
    assert "editor had approved it already." in again.content.decode()


def test_a_persons_scenario_has_nothing_to_approve(drafted: list[Any]) -> None:
    editor = logged_in(account("editor"))
    page = editor.get("/scenarios/refund/").content.decode()
    assert "waits for an approval" not in page
    assert 'href="/fault-cases/?scenario=refund"' in page
    told = editor.post("/scenarios/refund/approve/", {"version": 1, "note": NOTE}, follow=True)
    assert "it counts without an approval" in told.content.decode()


def test_the_list_shows_and_finds_what_waits(drafted: list[Any]) -> None:
    viewer = logged_in(account("viewer"))
    assert viewer.get("/scenarios/").content.decode().count("tag--warn") == 2
    found = viewer.get("/scenarios/", {"waiting": "yes"}).content.decode()
    assert drafted[0].scenario.name in found
    assert ">refund</a>" not in found
    approve_scenario(version=drafted[0], note=NOTE, actor=account("editor"))
    assert drafted[0].scenario.name not in viewer.get("/scenarios/", {"waiting": "yes"}).content.decode()


def test_missing_cases_are_drafted_from_a_page(passed: Any) -> None:
    viewer, editor = logged_in(account("viewer")), logged_in(account("editor"))
    assert "/fault-cases/?twin=shop" in viewer.get("/twins/shop/").content.decode()
    page = viewer.get("/fault-cases/", {"twin": "shop"}).content.decode()
    assert page.count("can be drafted") == 2
    assert "Store 2 drafts" not in page
    assert viewer.post("/fault-cases/", {"twin": "shop"}).status_code == 403
    assert "Store 2 drafts" in editor.get("/fault-cases/", {"twin": "shop"}).content.decode()
    told = editor.post("/fault-cases/", {"twin": "shop"}, follow=True)
    assert told.redirect_chain == [("/fault-cases/?twin=shop", 303)]
    assert "2 drafts stored." in told.content.decode()
    assert told.content.decode().count("waits for an approval") == 2
    assert (
        "There was nothing to draft."
        in editor.post("/fault-cases/", {"twin": "shop"}, follow=True).content.decode()
    )


def test_the_page_of_a_dataset_shows_its_gaps(passed: Any, freeze: Any) -> None:
    freeze("refund")
    viewer = logged_in(account("viewer"))
    page = viewer.get("/datasets/suite/").content.decode()
    assert page.count("GAP") == 2
    assert "/fault-cases/?dataset=suite%401" in page
    assert "can be drafted" in viewer.get("/fault-cases/", {"dataset": "suite@1"}).content.decode()


def test_what_a_holdout_lacks_is_not_told(passed: Any, freeze: Any) -> None:
    freeze("refund", purpose="holdout")
    editor, reviewer = logged_in(account("editor")), logged_in(account("reviewer"))
    assert "Fault coverage" not in editor.get("/datasets/suite/").content.decode()
    assert "Fault coverage" in reviewer.get("/datasets/suite/").content.decode()
    assert editor.get("/fault-cases/", {"dataset": "suite"}).status_code == 403
    assert editor.get("/fault-cases/", {"scenario": "refund"}).status_code == 404
    assert reviewer.get("/fault-cases/", {"dataset": "suite"}).status_code == 200


@pytest.mark.parametrize(
    "query", [{}, {"twin": "x"}, {"dataset": "x"}, {"twin": "shop", "dataset": "suite"}, {"scenario": "\x00"}]
)
def test_nothing_to_look_at_is_404(passed: Any, query: dict[str, str]) -> None:
    assert logged_in(account("viewer")).get("/fault-cases/", query).status_code == 404


def test_a_scenario_that_is_no_origin_says_why(given: Any) -> None:
    given()
    answer = logged_in(account("editor")).get("/fault-cases/", {"scenario": "refund"})
    assert answer.status_code == 422
    assert "passes on the twin as it is now" in answer.content.decode()


# ------------------------------------------------------------------------------- API


def test_drafts_and_approvals_over_the_api(passed: Any, api: Any) -> None:
    editor, viewer = api(role="editor"), api(role="viewer", name="v")
    listed = viewer.get("fault-cases/?twin=shop").body["missing"]
    assert [one["draft"] is not None for one in listed] == [True, True]
    assert viewer.post("fault-cases/", {"twin": "shop"}).status_code == 403
    made = editor.post("fault-cases/", {"twin": "shop"})
    assert (made.status_code, len(made.body["drafts"])) == (201, 2)
    assert editor.post("fault-cases/", {"twin": "shop"}).status_code == 200
    draft = made.body["drafts"][0]
    shown = viewer.get(draft["url"]).body
    assert (shown["source"], shown["approved"]) == ("generated", False)
    assert len(viewer.get("scenarios/?waiting=true").body["results"]) == 2
    assert [one["name"] for one in viewer.get("scenarios/?waiting=false").body["results"]] == ["refund"]
    address = f"scenarios/{draft['name']}/versions/1/approval/"
    assert viewer.get(address).status_code == 404
    assert viewer.post(address, {"note": NOTE}).status_code == 403
    assert editor.post(address, {"note": "no"}).status_code == 400
    approved = editor.post(address, {"note": NOTE})
    assert (approved.status_code, approved.body["note"]) == (201, NOTE)
    assert editor.post(address, {"note": NOTE}).status_code == 200
    assert viewer.get(address).body == approved.body
    assert viewer.get(draft["url"]).body["approved"] is True
    assert viewer.get("scenarios/refund/").body["approved"] is None
    assert editor.post("scenarios/refund/versions/1/approval/", {"note": NOTE}).status_code == 409
    assert AuditEntry.objects.get(action="scenario_approved").via


def test_what_the_api_refuses(passed: Any, freeze: Any, api: Any) -> None:
    editor = api(role="editor")
    for query in ("", "?twin=shop&scenario=refund"):
        assert editor.get(f"fault-cases/{query}").status_code == 400
    assert editor.get("fault-cases/?twin=x").status_code == 404
    assert editor.get("fault-cases/?dataset=x").status_code == 404
    freeze("refund", purpose="holdout")
    assert editor.get("fault-cases/?dataset=suite").status_code == 403
    assert editor.get("fault-cases/?scenario=refund").status_code == 404
    assert editor.post("scenarios/refund/versions/1/approval/", {"note": NOTE}).status_code == 404
