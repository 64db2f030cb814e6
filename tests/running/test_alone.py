"""A candidate without a baseline: one run, the same records, reports that hold nothing against it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluations.models import Case, Comparison, PairedCase, Run, Side
from evaluations.reporting.json_format import report_object
from evaluations.reporting.junit_format import render_junit
from evaluations.reporting.markdown_format import render_markdown
from evaluations.reporting.report import load_report
from evaluations.reporting.text_format import render_text
from evaluations.services.comparisons import start_comparison
from evaluations.services.effective import set_effective_status, strayed_standings
from tests.running import documents

pytestmark = pytest.mark.django_db


def test_a_candidate_alone_has_one_run_and_one_case_a_pair(given: Any, compared: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    comparison = compared(baseline=None)
    assert [run.side for run in Run.objects.filter(comparison=comparison)] == [Side.CANDIDATE]
    assert (PairedCase.objects.count(), Case.objects.count()) == (2, 2)
    assert comparison.state == "COMPLETED"
    assert set(PairedCase.objects.values_list("classification", flat=True)) == {"NEW_CRITICAL_FAILURE"}


def test_what_passes_alone_is_unchanged(given: Any, compared: Any) -> None:
    given(candidate=documents.GOOD)
    pair = compared(baseline=None).pairs.get()
    assert (pair.classification, pair.reason, pair.first_divergence) == ("UNCHANGED", "nothing fails", None)


def test_reports_say_that_there_was_no_baseline(given: Any, compared: Any) -> None:
    given()
    report = load_report(compared(baseline=None).pk)
    shown = report_object(report)
    assert shown["baseline"] is None
    assert shown["cases"][0]["baseline"] is None
    assert shown["tool_calls"] == {"baseline": None, "candidate": 3}
    assert report.blocks
    text = render_text(report)
    assert "step-agent: candidate 2.0.0 alone, no baseline" in text
    assert "->" not in text
    assert "2.0.0 alone: blocked" in render_markdown(report)
    assert '<property name="baseline" value="none" />' in render_junit(report)
    assert "baseline:" not in render_junit(report)


def test_the_request_is_another_one_than_with_a_baseline(given: Any, start: Any) -> None:
    given()
    first = start(baseline=None, key="build-1")
    assert start(baseline=None, key="build-1") == first
    with pytest.raises(Exception, match="other content"):
        start(baseline="1.0.0", key="build-1")


def test_an_empty_baseline_is_refused_and_not_taken_for_none(given: Any) -> None:
    given()
    with pytest.raises(Exception, match="baseline: must not be empty"):
        start_comparison(agent=documents.AGENT, baseline="", candidate="2.0.0")
    assert not Comparison.objects.exists()


def test_a_review_classifies_it_again_and_the_standings_agree(given: Any, compared: Any) -> None:
    given(documents.scenario("a", expectations=[{"id": "few", "type": "maxToolCalls", "value": 1}]))
    comparison = compared(baseline=None)
    result = Case.objects.get().results.get()
    effect = set_effective_status(result=result, status="PASS")
    assert (effect.before.classification, effect.after.classification) == ("REGRESSED", "UNCHANGED")
    assert list(strayed_standings()) == []
    PairedCase.objects.filter(comparison=comparison).update(classification="REGRESSED", class_rank=1)
    assert len(list(strayed_standings())) == 1


def test_the_api_starts_and_shows_one(given: Any, compared: Any, client: Any, django_user_model: Any) -> None:
    given()
    comparison = compared(baseline=None)
    client.force_login(django_user_model.objects.create_superuser("root"))
    asked = {"agent": documents.AGENT, "candidate": "2.0.0"}
    missing = client.post("/api/v1/comparisons/", json.dumps(asked), content_type="application/json")
    assert missing.status_code in (400, 403)
    shown = client.get(f"/api/v1/comparisons/{comparison.pk}/").json()
    assert (shown["baseline"], shown["progress"]) == (None, {"cases": 1, "ended": 1})
    (case,) = client.get(f"/api/v1/comparisons/{comparison.pk}/cases/").json()["results"]
    assert (case["baseline"], case["candidate"]["verdict"]) == (None, "FAILED")
    whole = client.get(f"/api/v1/cases/{case['id']}/").json()
    assert (whole["baseline"], len(whole["candidate"]["results"])) == (None, 2)
    rows = client.get(f"/api/v1/cases/{case['id']}/trajectory/").json()["results"]
    assert [row["baseline"] for row in rows] == [None] * 4


def test_its_pages_show_one_column(given: Any, compared: Any, client: Any, django_user_model: Any) -> None:
    given()
    comparison = compared(baseline=None)
    client.force_login(django_user_model.objects.create_superuser("root"))
    for page in ("/", "/comparisons/", f"/comparisons/{comparison.pk}/"):
        html = client.get(page).content.decode()
        assert "no baseline" in html
        assert "→" not in html.partition("<main")[2]
    case = f"/comparisons/{comparison.pk}/cases/refund/"
    for query in ("", "?step=2", "?step=4"):
        html = client.get(case + query).content.decode().partition("<main")[2]
        assert "Baseline" not in html
        assert "baseline" not in html.replace("no baseline", "")
    assert "paths changed" in html
    assert client.get(f"{case}raw/state/?side=candidate").status_code == 200
    assert client.get(f"{case}raw/state/?side=baseline").status_code == 404
    result = Case.objects.get().results.first()
    assert "override" in client.get(f"{case}?override={result.pk}").content.decode().lower()


def test_the_admin_shows_it(given: Any, compared: Any, admin_client: Any) -> None:
    given()
    comparison = compared(baseline=None)
    for address in ("comparison/", f"comparison/{comparison.pk}/change/", "pairedcase/"):
        assert admin_client.get(f"/admin/evaluations/{address}").status_code == 200


def test_the_form_starts_one(given: Any, client: Any, django_user_model: Any) -> None:
    given()
    client.force_login(django_user_model.objects.create_superuser("root"))
    html = client.get(f"/comparisons/start/?agent={documents.AGENT}").content.decode()
    assert "none: try the candidate alone" in html
    sent = {
        "agent": documents.AGENT,
        "form_key": "7f5f0f0e-4d4f-4f6b-8f0a-2f1f3c2d1b0a",
        "candidate": "2.0.0",
        "seed": "0",
    }
    assert client.post("/comparisons/start/", sent).status_code == 422
    assert client.post("/comparisons/start/", {**sent, "baseline": "none"}).status_code == 303
    assert Comparison.objects.get().baseline is None
