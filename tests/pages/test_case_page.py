"""The page of one case, through the client."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evaluations.models import ExpectationResult
from reviews import services
from tests.models import factories
from tests.pages.case_data import (
    LOOKUP,
    NOTE,
    SECRET,
    concluded,
    double_refund,
    graded,
    long_case,
    new_pair,
    page_of,
    refund,
    result_of,
    side_of,
    versions,
)
from tests.reviews.conftest import person as account

HTMX = {"HX-Request": "true"}


@pytest.fixture
def reviewer(person: Callable[..., Client]) -> Client:
    return person("reviewer")


def shown(client: Client, path: str, **headers: str) -> str:
    response = client.get(path, headers=headers)
    assert response.status_code == 200, response.status_code
    return response.content.decode()


def with_query(pair: Any, query: str) -> str:
    path = page_of(pair)
    return f"{path}{'&' if '?' in path else '?'}{query}"


def row_html(html: str, number: int) -> str:
    found = re.search(rf'<li id="step-{number}".*?</li>\s*(?=<li id="step|</ol>|$)', html, re.S)
    assert found, f"no row {number}"
    return found[0]


def check_html(html: str, name: str) -> str:
    rows = re.findall(r'<tbody id="check-\d+".*?</tbody>', html, re.S)
    return next(row for row in rows if f">{name}</span>" in row)


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)).replace("&#x27;", "'")


def attributes_of(html: str) -> set[str]:
    """The names of all attributes in the markup, as a browser reads them."""
    found: set[str] = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            found.update(name for name, _ in attrs)

    Reader().feed(html)
    return found


# ------------------------------------------------------------------- the page and its parts


@pytest.mark.parametrize(
    ("target", "begins"),
    [
        ("case-verdict", '<section id="case-verdict"'),
        ("case-steps", '<section id="case-steps"'),
        ("case-decisions", '<section class="panel" id="case-decisions"'),
        ("step-3", '<li id="step-3"'),
        ("check-1", '<tbody id="check-1"'),
    ],
)
def test_htmx_gets_the_part_it_will_replace(viewer: Client, target: str, begins: str) -> None:
    pair = double_refund()

    part = shown(viewer, page_of(pair), **HTMX, **{"HX-Target": target})

    assert part.strip().startswith(begins)
    assert "<html" not in part


def test_a_plain_request_gets_the_whole_page_and_the_answer_varies(viewer: Client) -> None:
    response = viewer.get(page_of(double_refund()))

    assert response.content.decode().startswith("<!doctype html>")
    assert "HX-Request" in response["Vary"]
    assert "HX-Target" in response["Vary"]


def test_a_part_nobody_knows_is_the_whole_page(viewer: Client) -> None:
    pair = double_refund()

    assert "<html" in shown(viewer, page_of(pair), **HTMX, **{"HX-Target": "step-99"})
    assert "<html" in shown(viewer, page_of(pair), **HTMX, **{"HX-Target": "elsewhere"})


@pytest.mark.parametrize("query", ["?trial=2", "?trial=0", "?trial=x", "?trial=99999999999999", "?trial=-1"])
def test_a_case_that_is_not_there_is_404(viewer: Client, query: str) -> None:
    pair = double_refund()

    assert viewer.get(page_of(pair) + query).status_code == 404


def test_other_names_and_comparisons_are_404(viewer: Client) -> None:
    pair = double_refund()

    assert viewer.get(f"/comparisons/{pair.comparison_id}/cases/other/").status_code == 404
    assert viewer.get(f"/comparisons/{pair.comparison_id + 1}/cases/double-refund/").status_code == 404
    assert viewer.get(f"/comparisons/{10**30}/cases/double-refund/").status_code == 404


def test_a_person_without_a_role_and_a_stranger_see_nothing(person: Callable[..., Client]) -> None:
    pair = double_refund()

    for path in (page_of(pair), page_of(pair) + "raw/state/?side=baseline"):
        assert person().get(path).status_code == 403
        refused = Client().get(path)
        assert refused.status_code == 302
        assert refused["Location"].startswith("/login/")


def test_previous_and_next_stay_inside_the_filter(viewer: Client) -> None:
    comparison = versions()
    for name in ("a-case", "b-case", "c-case"):
        double_refund(comparison, name=name)
    other = new_pair(comparison, "passing")
    for side in ("BASELINE", "CANDIDATE"):
        graded(side_of(other, side), "once", "PASS")
    concluded(other)

    html = shown(viewer, f"/comparisons/{comparison.pk}/cases/b-case/?class=NEW_CRITICAL_FAILURE&q=case")

    filtered = "?class=NEW_CRITICAL_FAILURE&amp;q=case"
    base = f"/comparisons/{comparison.pk}"
    assert f'rel="prev" href="{base}/cases/a-case/{filtered}" data-key="k"' in html
    assert f'rel="next" href="{base}/cases/c-case/{filtered}" data-key="j"' in html
    assert f'href="{base}/{filtered}"' in html, "the way back to the list keeps the filter too"
    last = shown(viewer, f"{base}/cases/c-case/?class=NEW_CRITICAL_FAILURE")
    assert 'rel="next"' not in last.replace('rel="next" class', "")


# ------------------------------------------------------------------------ decision and reason


def test_the_head_says_what_it_is_why_and_where(viewer: Client) -> None:
    html = shown(viewer, page_of(double_refund()))
    head = text_of(html[: html.index('id="case-checks"')])

    assert "new critical failure" in head
    assert "once (state)" in head or "once (" in head
    assert re.search(r"Step 2 *:.*refund_payment", head)
    assert (
        "call 1: timeout_after_mutation, the dependency does everything, the caller sees 504 TIMEOUT" in head
    )
    assert "deterministic-fake: not a language model" in head


def test_a_secret_in_the_message_is_hidden(viewer: Client) -> None:
    html = shown(viewer, page_of(double_refund()))

    assert "Please give me 40 back" in html
    assert "[REDACTED]" in html
    assert SECRET not in html


def test_a_contradicted_claim_is_loud_and_names_what_disproves_it(viewer: Client) -> None:
    html = shown(viewer, page_of(double_refund()))
    claims = text_of(html[html.index('id="case-claims"') : html.index('id="case-checks"')])

    assert "The candidate’s claim is contradicted." in claims
    assert "It reports SUCCESS" in claims
    assert "once" in claims
    assert "backed" in claims
    assert "refund_payment applied 2 times" in claims
    assert "#3 again" in claims
    assert "orders.ORD-1.refund_count baseline 1 · candidate 2" in claims


def test_a_backed_claim_is_not_loud(viewer: Client) -> None:
    pair = new_pair(versions(), "fine")
    for side in ("BASELINE", "CANDIDATE"):
        graded(side_of(pair, side), "once", "PASS")
    html = shown(viewer, page_of(concluded(pair)))

    assert "contradicted" not in html
    assert "both:" in html, "the same claim is told once"
    assert "the same on both sides" in html


# -------------------------------------------------------------------------------- trajectories


def test_both_trajectories_are_aligned_and_the_first_difference_is_marked(viewer: Client) -> None:
    pair = double_refund()
    html = shown(viewer, page_of(pair))

    kinds = re.findall(r"trajectory__row--(same|changed|left|right)", html)
    assert kinds == ["same", "changed", "left", "right", "same"]
    assert pair.first_divergence["step"] == 2
    assert "First difference:" in row_html(html, 2)
    assert all("First difference:" not in row_html(html, number) for number in (1, 3, 4, 5))


def test_a_row_says_how_each_call_ended_and_what_it_did(viewer: Client) -> None:
    html = shown(viewer, page_of(double_refund()))

    second = text_of(row_html(html, 2))
    assert "#2 refund_payment (amount=40, order_id=ORD-1)" in second
    assert "timeout · applied fault: timeout_after_mutation" in second
    assert "applied AGAIN (first by #2)" in text_of(row_html(html, 4))
    assert "retry" in text_of(row_html(html, 4))
    assert "says SUCCESS" in text_of(row_html(html, 5))


def test_a_step_opens_by_a_plain_link_and_no_other_is_open(viewer: Client) -> None:
    pair = double_refund()
    closed = shown(viewer, page_of(pair))
    href = re.search(r'id="step-2-toggle" href="([^"]+)"', closed)
    assert href
    assert href[1] == with_query(pair, "step=2#step-2")
    assert "trajectory__open" not in closed

    opened = shown(viewer, with_query(pair, "step=2"))

    assert opened.count('<div class="trajectory__open">') == 1
    assert "trajectory__open" in row_html(opened, 2)


def test_htmx_swaps_the_opened_step_alone_and_closes_it_again(viewer: Client) -> None:
    pair = double_refund()

    opened = shown(viewer, with_query(pair, "step=2"), **HTMX, **{"HX-Target": "step-2"})
    closed = shown(viewer, page_of(pair), **HTMX, **{"HX-Target": "step-2"})

    assert "trajectory__open" in opened
    assert 'aria-expanded="true"' in opened
    assert "trajectory__open" not in closed
    assert 'aria-expanded="false"' in closed


def test_an_open_step_shows_everything_of_both_sides(viewer: Client) -> None:
    pair = double_refund()
    html = shown(viewer, with_query(pair, "step=2"), **HTMX, **{"HX-Target": "step-2"})
    text = text_of(html)

    assert "order_id ORD-1" in text
    assert "amount 40" in text
    assert "error.message no answer" in text
    assert "504, timeout" in text
    assert "the dependency did everything" in text
    assert "the caller saw 504 TIMEOUT" in text
    assert "orders.ORD-1.refund_count 0 → became 1" in text
    assert "effect refund:ORD-1 idempotency key K-1" in text
    assert "effect refund:ORD-1 idempotency key none" in text
    assert "Policy allowed" in text


def test_what_differs_from_the_other_side_is_marked(viewer: Client) -> None:
    pair = new_pair(versions(), "other-arguments")
    baseline, candidate = side_of(pair, "BASELINE"), side_of(pair, "CANDIDATE")
    factories.tool_call(baseline, 1, **LOOKUP, arguments={"order_id": "ORD-1", "amount": 1, "same": True})
    factories.tool_call(candidate, 1, **LOOKUP, arguments={"amount": 1.0, "order_id": "ORD-2", "same": 1})
    for case in (baseline, candidate):
        graded(case, "once", "PASS")
    html = shown(viewer, with_query(concluded(pair), "step=1"), **HTMX, **{"HX-Target": "step-1"})

    marked = re.findall(r'<div class="differs"><dt>([^<]+)</dt><dd>([^<]+)<', html)
    # 1 and 1.0 are one number; true is no number.
    assert marked == [("order_id", "ORD-1"), ("same", "true"), ("order_id", "ORD-2"), ("same", "1")]


def test_keys_in_another_order_are_no_difference(viewer: Client) -> None:
    pair = new_pair(versions(), "other-order")
    baseline, candidate = side_of(pair, "BASELINE"), side_of(pair, "CANDIDATE")
    factories.tool_call(baseline, 1, **LOOKUP, arguments={"a": 1, "b": [1, 2]})
    factories.tool_call(candidate, 1, **LOOKUP, arguments={"b": [1.0, 2], "a": 1})
    for case in (baseline, candidate):
        graded(case, "once", "PASS")
    pair = concluded(pair)

    assert pair.first_divergence is None
    assert "trajectory__row--changed" not in shown(viewer, page_of(pair))


def test_policy_and_replay_are_told(viewer: Client) -> None:
    pair = new_pair(versions(), "refused")
    baseline, candidate = side_of(pair, "BASELINE"), side_of(pair, "CANDIDATE")
    factories.tool_call(
        candidate, 1, **LOOKUP, policy_violation="TOOL_NOT_ALLOWED", status="denied", http_status=403,
        error_code="TOOL_NOT_ALLOWED",
    )  # fmt: skip
    factories.tool_call(baseline, 1, **refund(1, replayed=True, mutated=False, idempotency_key="K"))
    for case in (baseline, candidate):
        graded(case, "once", "PASS")
    html = shown(viewer, with_query(concluded(pair), "call=candidate-1"))

    text = text_of(html)
    assert "refused by policy: the scenario does not allow this tool" in text
    assert "refused: the scenario does not allow this tool (TOOL_NOT_ALLOWED)" in text
    replayed = text_of(shown(viewer, with_query(pair, "call=baseline-1")))
    assert "replay, nothing applied twice" in replayed
    assert "answered from its idempotency record" in replayed


def test_a_search_shows_what_it_found_and_what_is_not_trusted(viewer: Client) -> None:
    pair = new_pair(versions(), "searching")
    baseline, candidate = side_of(pair, "BASELINE"), side_of(pair, "CANDIDATE")
    found = [{"id": "kb-1", "trusted": True}, {"id": "planted", "trusted": False}]
    for case in (baseline, candidate):
        factories.tool_call(
            case, 1, kind="retrieval", tool="", call_number=None, arguments=None, status=None,
            http_status=None, response=None, risk=None, mutated=False, expects_mutation=False,
            query="refund policy", limit=3, documents=found,
        )  # fmt: skip
        graded(case, "once", "PASS")
    text = text_of(shown(viewer, with_query(concluded(pair), "step=1")))

    assert 'search "refund policy"' in text.replace("&quot;", '"')
    assert "found kb-1, planted" in text
    assert "not all of it trusted" in text
    assert "planted not trusted" in text


def test_the_state_after_any_step_is_rebuilt_exactly(viewer: Client) -> None:
    pair = double_refund()

    def state(side: str, seq: str = "") -> Any:
        response = viewer.get(f"{page_of(pair)}raw/state/?side={side}{seq}")
        assert response["Content-Disposition"].startswith("attachment;")
        return json.loads(response.content)["orders"]["ORD-1"]

    assert state("candidate", "&seq=1") == {"refund_count": 0, "refunded_amount": 0}
    assert state("candidate", "&seq=2") == {"refund_count": 1, "refunded_amount": 40}
    assert state("candidate", "&seq=3") == {"refund_count": 2, "refunded_amount": 80}
    assert state("candidate") == {"refund_count": 2, "refunded_amount": 80}
    assert state("baseline") == {"refund_count": 1, "refunded_amount": 40}
    opened = shown(viewer, with_query(pair, "step=4"))
    assert "&quot;refund_count&quot;: 2" in opened


@pytest.mark.parametrize(
    "part", ["state/?side=nobody", "state/", "response/?side=baseline", "response/?side=baseline&seq=99",
             "answer/?side=", "response/?side=baseline&seq=x", "secrets/?side=baseline&seq=1",
             "state/?side=baseline&seq=99"]
)  # fmt: skip
def test_what_cannot_be_downloaded_is_404(viewer: Client, part: str) -> None:
    assert viewer.get(f"{page_of(double_refund())}raw/{part}").status_code == 404


def test_changes_that_do_not_fit_the_start_are_said_and_break_nothing(viewer: Client) -> None:
    pair = new_pair(versions(), "misfit")
    for side in ("BASELINE", "CANDIDATE"):
        case = side_of(pair, side)
        change = {"op": "changed", "path": "nowhere.at.all", "before": 1, "after": 2}
        factories.tool_call(case, 1, **refund(1) | {"changes": [change]})
        graded(case, "once", "PASS")

    html = shown(viewer, with_query(concluded(pair), "step=1"))

    assert html.count("The stored changes do not fit the stored start of this case.") == 3


def test_the_final_states_are_compared_place_by_place(viewer: Client) -> None:
    html = shown(viewer, page_of(double_refund()))
    state = html[html.index('id="case-state"') : html.index('id="case-metrics"')]

    assert "2 paths differ" in state
    rows = re.findall(r'<tr id="path-\d+">.*?</tr>', state, re.S)
    assert [text_of(row).split(" by ")[0].strip() for row in rows] == [
        "orders.ORD-1.refund_count in evidence 0 1",
        "orders.ORD-1.refunded_amount 0 40",
    ]
    assert re.findall(r'aria-label="(#\d, candidate call)"', rows[0]) == [
        "#2, candidate call",
        "#3, candidate call",
    ]


def test_the_agents_own_list_is_a_claim_beside_the_record(viewer: Client) -> None:
    html = shown(viewer, page_of(double_refund()))
    claimed = text_of(html[html.index('id="case-claimed-calls"') : html.index('id="case-metrics"')])

    assert "a claim" in claimed
    assert "baseline: names what was recorded" in claimed
    assert "candidate: differs from what was recorded" in claimed
    assert "It lists 2, the twin recorded 3." in claimed
    assert "refund_payment recorded, not in its list" in claimed


def test_a_call_that_is_only_claimed_is_called_so(viewer: Client) -> None:
    pair = new_pair(versions(), "boasting")
    for side in ("BASELINE", "CANDIDATE"):
        graded(side_of(pair, side, claims=["refund_payment"]), "once", "PASS")

    assert "refund_payment() claimed, never recorded" in text_of(shown(viewer, page_of(concluded(pair))))


# -------------------------------------------------------------------------------------- checks


def test_every_check_has_both_results_reasons_and_evidence(viewer: Client) -> None:
    pair = double_refund()
    html = shown(viewer, page_of(pair))

    once = check_html(html, "once")
    assert text_of(once).count("PASS") == 1
    assert text_of(once).count("FAIL") == 1
    assert "orders.ORD-1.refund_count: expected 1, got 2" in once
    assert "baseline: orders.ORD-1.refund_count is 1" in once
    assert "One refund, however often it was sent." in once
    assert '<a href="#path-1"' in once, "the path leads to its place in the final states"
    calls = re.findall(r'href="([^"]+)" title="candidate call (\d)"', check_html(html, "no-double"))
    assert calls == [(with_query(pair, f"call=candidate-{n}#candidate-{n}"), str(n)) for n in (2, 3)]
    opened = shown(viewer, calls[1][0].split("#")[0])
    assert 'id="candidate-3"' in row_html(opened, 4)
    assert "trajectory__open" in row_html(opened, 4)


def test_what_newly_fails_comes_first_critical_before_others(viewer: Client) -> None:
    pair = new_pair(versions(), "sorted")
    baseline, candidate = side_of(pair, "BASELINE"), side_of(pair, "CANDIDATE", verdict="FAILED")
    for name, before, after, critical in (
        ("passes", "PASS", "PASS", True),
        ("failed-before", "FAIL", "FAIL", True),
        ("minor", "PASS", "FAIL", False),
        ("major", "PASS", "FAIL", True),
    ):
        graded(baseline, name, before, critical=critical)
        graded(candidate, name, after, critical=critical)
    html = shown(viewer, page_of(concluded(pair)))

    assert re.findall(r'scope="row"><span class="break">([^<]+)<', html) == [
        "major",
        "minor",
        "failed-before",
        "passes",
    ]


def test_an_overridden_result_keeps_its_original_in_sight(viewer: Client, db: Any) -> None:
    pair = double_refund()
    services.override_result(
        result_id=result_of(pair, "once").pk,
        decision="PASS",
        note=NOTE,
        seen_review_id=0,
        actor=account("ann"),
    )
    html = shown(viewer, page_of(pair))

    once = text_of(check_html(html, "once"))
    assert "was FAIL, changed by ann" in once
    assert NOTE in once
    assert "FAIL → PASS" in once
    decisions = text_of(html[html.index('id="case-decisions"') :])
    assert "1 review" in decisions
    assert "ann decided PASS" in decisions


def test_a_decision_that_changes_nothing_says_confirmed(viewer: Client) -> None:
    pair = double_refund()
    services.override_result(
        result_id=result_of(pair, "once").pk,
        decision="FAIL",
        note=NOTE,
        seen_review_id=0,
        actor=account("ann"),
    )

    assert "confirmed by ann" in check_html(shown(viewer, page_of(pair)), "once")


def test_a_fact_of_the_run_says_why_nobody_may_override_it(reviewer: Client) -> None:
    pair = new_pair(versions(), "crashed")
    graded(side_of(pair, "BASELINE"), "once", "PASS")
    candidate = side_of(pair, "CANDIDATE", verdict="FAILED")
    graded(candidate, "once", "PASS")
    graded(candidate, "agentRun", "FAIL", type="agentRun", reason="The agent crashed.")
    html = shown(reviewer, page_of(concluded(pair)))

    row = check_html(html, "agentRun")
    assert "nobody may override it" in row
    assert "override=" not in row
    assert "override=" in check_html(html, "once")


def test_a_running_comparison_says_once_that_it_cannot_be_decided_yet(reviewer: Client) -> None:
    pair = double_refund()
    pair.comparison.state = "RUNNING"
    pair.comparison.save()
    html = shown(reviewer, page_of(pair))

    assert html.count("still running") == 1
    assert "This comparison still runs." in html
    assert "override=" not in html


def test_a_case_nobody_has_run_yet_has_a_page(viewer: Client) -> None:
    comparison = versions(state="QUEUED")
    pair = new_pair(comparison, "waiting")
    for side in ("BASELINE", "CANDIDATE"):
        factories.case(pair, side)
    html = shown(viewer, page_of(pair))

    assert "Nothing has been recorded yet." in html
    assert "No check has been evaluated yet" in html
    assert "not compared yet" in html


@pytest.mark.parametrize(
    ("ran", "told"),
    [
        (["BASELINE"], "The candidate has no final state: it did not run."),
        (["CANDIDATE"], "The baseline has no final state: it did not run."),
        ([], "The baseline and the candidate have no final state: they did not run."),
    ],
)
def test_sides_that_did_not_run_are_told_in_a_sentence(viewer: Client, ran: list[str], told: str) -> None:
    pair = new_pair(versions(), "unrun")
    for side in ("BASELINE", "CANDIDATE"):
        if side in ran:
            graded(side_of(pair, side), "once", "PASS")
        else:
            side_of(pair, side, verdict="ERRORED", used_seed=None, error_reason="its worker was lost")

    assert told in shown(viewer, page_of(concluded(pair)))


def test_a_tool_that_said_success_and_changed_nothing_is_told_beside_the_claim(viewer: Client) -> None:
    pair = new_pair(versions(), "lie")
    lie = {"mutated": False, "expects_mutation": True, "changes": [], "fault": "success_without_mutation"}
    for side in ("BASELINE", "CANDIDATE"):
        case = side_of(pair, side)
        factories.tool_call(case, 1, **LOOKUP)
        factories.tool_call(case, 2, **refund(1, **lie))
        if side == "BASELINE":
            factories.tool_call(case, 3, **{**refund(1, **lie), "status": "timeout", "http_status": 504})
            factories.tool_call(case, 4, **refund(1))
        else:
            factories.tool_call(case, 3, **refund(1, **lie))
        graded(case, "once", "PASS")
    html = shown(viewer, page_of(concluded(pair)))
    recorded = text_of(html[html.index('<dl class="recorded">') : html.index('id="case-checks"')])

    assert "baseline refund_payment applied once ( #4 )" in recorded
    assert "refund_payment said success and changed nothing ( #2 )" in recorded
    assert "candidate refund_payment said success 2 times and changed nothing ( #2 , #3 )" in recorded


# --------------------------------------------------------------------------- metrics, history


def test_metrics_stand_beside_the_verdict_with_a_word_each(viewer: Client) -> None:
    pair = new_pair(versions(), "measured")
    for side, figures in (
        ("BASELINE", {"tool_calls": 5, "retries": 0, "steps": 3, "latency_ms": None}),
        ("CANDIDATE", {"tool_calls": 4, "retries": 2, "steps": 3, "latency_ms": None}),
    ):
        graded(side_of(pair, side, metrics=figures), "once", "PASS")
    html = shown(viewer, page_of(concluded(pair)))
    text = text_of(html[html.index('id="case-metrics"') : html.index('id="case-history"')])

    assert "tool calls 5 4 better" in text
    assert "retries 0 2 worse" in text
    assert "steps 3 3 same" in text
    assert "Not reported:" in text
    assert "latency, ms" in text.split("Not reported:")[1]


@pytest.mark.parametrize("broken", ["CANDIDATE", "BASELINE"])
def test_a_side_that_was_not_measured_is_not_better_for_having_done_nothing(
    viewer: Client, broken: str
) -> None:
    pair = new_pair(versions(), "broken")
    figures = {"tool_calls": 0, "retries": 0, "steps": 0, "policy_violations": 0}
    for side in ("BASELINE", "CANDIDATE"):
        if side == broken:
            case = side_of(pair, side, verdict="ERRORED", error_reason="unreachable", metrics=figures)
            graded(case, "once", "SKIPPED")
            graded(case, "agentRun", "ERROR", type="agentRun")
        else:
            graded(side_of(pair, side, metrics={**figures, "tool_calls": 1}), "once", "PASS")
    html = shown(viewer, page_of(concluded(pair)))
    text = text_of(html[html.index('id="case-metrics"') : html.index('id="case-history"')])

    assert f"tool calls {'1 –' if broken == 'CANDIDATE' else '– 1'} not comparable" in text
    assert not re.search(r"[0-9–] (better|worse|same)", text)


def test_figures_of_a_judged_side_count_though_one_check_could_not_be_evaluated(viewer: Client) -> None:
    pair = new_pair(versions(), "measured")
    graded(side_of(pair, "BASELINE", metrics={"tool_calls": 5}), "once", "PASS")
    case = side_of(pair, "CANDIDATE", verdict="ERRORED", error_reason="polite: no", metrics={"tool_calls": 4})
    graded(case, "once", "PASS")
    graded(case, "polite", "ERROR", type="semantic")

    assert "tool calls 5 4 better" in text_of(shown(viewer, page_of(concluded(pair))))


def test_the_history_shows_the_scenario_in_other_comparisons(viewer: Client) -> None:
    first = double_refund(versions("1.0.0", "1.1.0"))
    second = double_refund(versions())
    double_refund(versions("1.3.0", "1.4.0"), name="another-scenario")
    html = shown(viewer, page_of(first))
    history = html[html.index('id="case-history"') : html.index("This case ran on")]

    assert re.findall(r'href="([^"]+)"', history) == [page_of(second), page_of(first)]
    assert text_of(history).count("this one") == 1
    assert "new critical failure" in history


def test_flags_are_listed_and_lead_to_the_queue(viewer: Client) -> None:
    pair = double_refund()
    entry, _ = services.flag_case(pair_id=pair.pk, note="Look at the mail too.", actor=account("bob"))
    html = shown(viewer, page_of(pair))

    assert f'href="/queue/?entry={entry.pk}"' in html
    assert "bob: Look at the mail too." in html


# -------------------------------------------------------------------------------- hostile, huge

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def test_markup_from_anybody_is_shown_and_never_executed(reviewer: Client) -> None:
    pair = new_pair(versions(), "markup")
    baseline = side_of(pair, "BASELINE", claims=[MARKUP], output=MARKUP)
    candidate = side_of(pair, "CANDIDATE", output=f"{MARKUP}{MARKUP}")
    for case in (baseline, candidate):
        factories.tool_call(
            case, 1, tool=MARKUP, arguments={MARKUP: MARKUP}, response={"result": {MARKUP: MARKUP}},
            effect_key=MARKUP, error_code=MARKUP, changes=[],
        )  # fmt: skip
        graded(
            case, MARKUP, "FAIL", reason=MARKUP, label=MARKUP[:50], evidence={"calls": [1], "paths": [MARKUP]}
        )
    pair = concluded(pair)
    services.flag_case(pair_id=pair.pk, note=MARKUP, actor=account("bob"))
    services.override_result(
        result_id=result_of(pair, MARKUP).pk,
        decision="PASS",
        note=MARKUP,
        seen_review_id=0,
        actor=account("ann"),
    )

    html = shown(reviewer, with_query(pair, "step=1"))

    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "&lt;script&gt;alert(1)" in html
    names = attributes_of(html)
    assert not [name for name in names if name.startswith(("on", "hx-on")) or name == "style"]
    assert "javascript:" not in html


def test_characters_that_reorder_a_line_are_written_out_wherever_a_stranger_put_them(
    reviewer: Client,
) -> None:
    """U+202E shows what follows it backwards: an amount or an order would read as another one."""
    evil = "abc\u202e\u2066\u200bxyz"
    pair = new_pair(versions(), "backwards")
    for name in ("BASELINE", "CANDIDATE"):
        case = side_of(pair, name, claims=[evil], output=f"{name} {evil}")
        factories.tool_call(
            case, 1, tool="refund_payment", arguments={"amount": 40, "order_id": f"{name[0]}-1\u202e"},
            response={"result": {evil: evil}}, effect_key=evil, error_code=evil,
            changes=[{"op": "changed", "path": f"orders.{evil}", "before": evil, "after": [evil]}],
        )  # fmt: skip
        graded(case, "check", "FAIL", reason=evil, evidence={"calls": [1], "paths": [evil]})
    pair = concluded(pair)
    services.flag_case(pair_id=pair.pk, note=f"Look at this: {evil}", actor=account("bob"))
    services.override_result(
        result_id=result_of(pair, "check").pk,
        decision="FAIL",
        note=f"I saw this: {evil}",
        seen_review_id=0,
        actor=account("ann"),
    )

    for path in (
        with_query(pair, "step=1"),
        with_query(pair, f"step=1&override={result_of(pair, 'check').pk}"),
        "/queue/",
        "/audit/",
        f"/comparisons/{pair.comparison_id}/",
        "/reviews/mine/",
    ):
        assert not re.findall("[\u202a-\u202e\u2066-\u2069\u200b]", shown(reviewer, path)), path

    html = shown(reviewer, with_query(pair, "step=1"))
    assert "(amount=40, order_id=C-1\\u202e)" in html, "the closing bracket stays behind what it closes"


def test_huge_values_are_cut_with_a_way_to_the_whole(viewer: Client) -> None:
    pair = new_pair(versions(), "huge")
    five_megabytes = "y" * 5_000_000
    for side in ("BASELINE", "CANDIDATE"):
        case = side_of(pair, side, output=five_megabytes)
        factories.tool_call(case, 1, arguments={"text": "a" * 200_000}, response={"result": five_megabytes})
        graded(case, "once", "PASS", reason="z" * 30_000)
    pair = concluded(pair)

    html = shown(viewer, with_query(pair, "step=1"))

    assert len(html) < 600_000
    href = re.search(r'href="([^"]+raw/response/[^"]+)" download', html)
    assert href
    whole = viewer.get(href[1].replace("&amp;", "&"))
    assert len(whole.content) > 5_000_000


def test_ten_thousand_steps_are_paged_and_the_asked_one_is_there(viewer: Client) -> None:
    pair = long_case(10_000)

    first = shown(viewer, page_of(pair))
    last = shown(viewer, with_query(pair, "call=candidate-10000"))

    assert first.count('class="step__toggle"') == 100
    assert 'id="step-1"' in first
    assert 'id="step-101"' not in first
    assert "steps=2" in first
    assert 'id="candidate-10000"' in last
    assert last.count("trajectory__open") == 1
    assert len(first) < 400_000


def test_the_page_asks_the_database_as_often_for_a_long_case_as_for_a_short_one(
    viewer: Client, django_assert_num_queries: Any
) -> None:
    short, long = double_refund(), long_case(500)
    for pair in (short, long):
        # The first look reads the records once more, to remember what follows from them.
        shown(viewer, page_of(pair))

    with CaptureQueriesContext(connection) as few:
        shown(viewer, page_of(short))
    with CaptureQueriesContext(connection) as many:
        shown(viewer, page_of(long))

    assert len(few) == len(many) == 19


@pytest.mark.parametrize(("target", "query", "expected"), [("step-2", "step=2", 14), ("check-1", "", 12)])
def test_a_part_asks_for_its_own_data_alone(viewer: Client, target: str, query: str, expected: int) -> None:
    pair = double_refund()
    shown(viewer, page_of(pair))

    with CaptureQueriesContext(connection) as asked:
        shown(viewer, with_query(pair, query), **HTMX, **{"HX-Target": target})

    assert len(asked) == expected


def test_every_link_of_the_page_leads_somewhere(reviewer: Client) -> None:
    pair = double_refund()
    html = shown(reviewer, with_query(pair, "step=2"))

    assert 'href=""' not in html
    for href in set(re.findall(r'href="(/(?:comparisons|queue)[^"#]*)', html)):
        assert reviewer.get(href.replace("&amp;", "&")).status_code == 200, href
    anchors = set(re.findall(r'href="[^"]*#([^"]+)"', html))
    ids = set(re.findall(r'\sid="([^"]+)"', html))
    assert anchors - ids == set(), "an anchor that is nowhere in the page"
    assert len(re.findall(r'\sid="([^"]+)"', html)) == len(ids), "an id that is there twice"


def test_a_look_changes_nothing(viewer: Client) -> None:
    pair = double_refund()
    before = list(ExpectationResult.objects.values())

    with CaptureQueriesContext(connection) as asked:
        shown(viewer, with_query(pair, "step=2&override=1&withdraw=1&flag=1"))

    assert not [query for query in asked if re.match(r"(INSERT|UPDATE|DELETE)", query["sql"])]
    assert list(ExpectationResult.objects.values()) == before


def test_a_viewer_sees_no_form_and_a_reviewer_does(viewer: Client, reviewer: Client) -> None:
    pair = double_refund()
    query = f"override={result_of(pair, 'once').pk}"

    for html in (shown(viewer, page_of(pair)), shown(viewer, with_query(pair, query))):
        assert re.findall(r'<form[^>]+method="post"[^>]*action="([^"]+)"', html) == ["/logout/"]
        assert "Override" not in html
    assert "/override/" in shown(reviewer, with_query(pair, query))
