"""The page of a judge's verdict, and the line about the judge beside a check."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evaluations.models import JudgeVerdict
from tests.models import factories
from tests.pages.case_data import concluded, graded, new_pair, page_of, side_of, versions

MARKUP = "<script>alert(1)</script>"


def judged(name: str = "says-so", **fields: Any) -> JudgeVerdict:
    """A verdict on the candidate's side of a concluded pair, whose baseline has none."""
    pair = new_pair(versions(), "judged")
    baseline = side_of(pair, "BASELINE")
    candidate = side_of(pair, "CANDIDATE")
    graded(baseline, "once", "PASS")
    graded(candidate, "once", "PASS")
    status = fields.get("status", "PASS")
    result = graded(candidate, name, status, type="semantic")
    verdict = factories.judge_verdict(result, expectation_id=name, **fields)
    concluded(pair)
    return verdict


def told(client: Client, verdict: JudgeVerdict) -> str:
    response = client.get(verdict.get_absolute_url())
    assert response.status_code == 200
    return str(response.content.decode())


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_it_shows_exactly_what_was_shown_and_answered(viewer: Client) -> None:
    verdict = judged(shown=f"Grade <this>.\n  {MARKUP}", answered='{"label": "pass"}')
    html = told(viewer, verdict)
    assert "Grade &lt;this&gt;.\n  &lt;script&gt;alert(1)&lt;/script&gt;</pre>" in html
    assert "{&quot;label&quot;: &quot;pass&quot;}</pre>" in html
    assert MARKUP not in html
    assert "a" * 64 in html  # the SHA-256 of the prompt file
    assert "prompt version 1" in words(html)
    assert "0.90" in html
    assert "llm: nondeterministic" in html
    assert "uncalibrated" in html
    assert f'href="{page_of(verdict.result.case.pair)}"' in html


def test_the_fake_says_what_it_is(viewer: Client) -> None:
    html = told(viewer, judged(provider="deterministic-fake", judge_label="deterministic-fake"))
    assert "deterministic-fake: not a language model" in html


def test_quotes_and_those_left_out(viewer: Client) -> None:
    quotes = [{"source": "answer", "text": "not recorded"}, {"source": "tool_call:3", "text": "ok"}]
    text = words(told(viewer, judged(quotes=quotes, dropped_quotes=2)))
    assert "not recorded the reply" in text
    assert "ok call #3" in text
    assert "2 quotes left out: they are not in what the judge was shown" in text


@pytest.mark.parametrize(
    ("label", "score", "is_contradictory"),
    [("pass", 0.5, True), ("fail", 0.9, True), ("fail", 0.2, False)],
)
def test_a_contradiction_is_named(viewer: Client, label: str, score: float, is_contradictory: bool) -> None:
    html = told(viewer, judged(status="FAIL", label=label, score=score))
    assert ("contradict each other" in html) is is_contradictory


def test_an_error_is_no_grade(viewer: Client) -> None:
    html = told(
        viewer,
        judged(
            status="ERROR", score=None, label=None, confidence=None, reason="", answered="",
            error_kind="timeout", error_detail="no answer within 30 s", attempts=3, cost_usd=None,
        ),
    )  # fmt: skip
    text = words(html)
    assert "There is no verdict: timeout. no answer within 30 s" in text
    assert "ERROR without a score" in text
    assert "Nothing came back." in text
    assert "not known" in text
    assert "notice--good" not in html


def test_one_that_was_skipped_shows_what_was_spent(viewer: Client) -> None:
    verdict = judged(
        status="SKIPPED",
        score=None,
        label=None,
        confidence=None,
        reason="",
        shown="",
        answered="",
        attempts=0,
    )
    text = words(told(viewer, verdict))
    assert "Nobody was asked." in text
    assert verdict.result.reason in text
    assert "Nothing: nobody was asked." in text


def test_one_that_is_remembered_says_so(viewer: Client) -> None:
    assert "the same question was answered before" in told(viewer, judged(from_cache=True, attempts=0))


def test_who_may_not_see_cases_may_not_see_it(person: Callable[..., Client], client: Client) -> None:
    verdict = judged()
    assert person().get(verdict.get_absolute_url()).status_code == 403
    response = client.get(verdict.get_absolute_url())
    assert response.status_code == 302
    assert "/login/" in response["Location"]


@pytest.mark.parametrize("pk", ["999999", str(2**63), "9" * 30])
def test_there_is_no_such_verdict(viewer: Client, pk: str) -> None:
    assert viewer.get(f"/judges/verdicts/{pk}/").status_code == 404


def test_it_is_read_alone(viewer: Client) -> None:
    assert viewer.post(judged().get_absolute_url()).status_code == 405


def test_it_costs_a_fixed_number_of_queries(viewer: Client, django_assert_num_queries: Any) -> None:
    verdict = judged()
    told(viewer, verdict)
    with CaptureQueriesContext(connection) as queries:
        told(viewer, verdict)
    # Session, user, two of permissions, the verdict, two of what it is worth.
    assert len(queries) <= 7


# ------------------------------------------------------------------------------- beside the check


def test_the_check_names_its_judge_and_leads_to_the_verdict(viewer: Client) -> None:
    verdict = judged()
    html = viewer.get(page_of(verdict.result.case.pair)).content.decode()
    line = re.search(r'<span class="judge-line.*?</td>', html, re.S)
    assert line
    text = words(line.group()).strip()
    assert text.startswith(
        "judged by anthropic small llm: nondeterministic uncalibrated candidate 0.90 verdict"
    )
    assert f'href="{verdict.get_absolute_url()}"' in line.group()


def test_one_judge_of_both_sides_is_named_once(viewer: Client) -> None:
    pair = new_pair(versions(), "judged")
    for side, score in (("BASELINE", 1.0), ("CANDIDATE", 0.8)):
        result = graded(side_of(pair, side), "says-so", "PASS", type="semantic")
        factories.judge_verdict(result, score=score)
    concluded(pair)
    html = viewer.get(page_of(pair)).content.decode()
    assert html.count('class="judge-line') == 1
    text = words(html)
    assert (
        "candidate 0.80 verdict about says-so, candidate baseline 1.00 verdict about says-so, baseline"
        in text
    )


def test_a_case_costs_no_query_more_for_more_verdicts(viewer: Client) -> None:
    def asked(number: int) -> int:
        pair = new_pair(versions(), f"judged-{number}")
        for side in ("BASELINE", "CANDIDATE"):
            case = side_of(pair, side)
            for place in range(number):
                result = graded(case, f"e{place}", "PASS", type="semantic")
                factories.judge_verdict(result, expectation_id=f"e{place}")
        concluded(pair)
        viewer.get(page_of(pair))
        with CaptureQueriesContext(connection) as queries:
            assert viewer.get(page_of(pair)).status_code == 200
        return len(queries)

    assert asked(1) == asked(5)
