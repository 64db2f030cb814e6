"""The form that starts a comparison."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from evaluations.models import Comparison
from tests.running import documents

HTMX = {"HX-Request": "true"}
ADDRESS = "/comparisons/start/"


@pytest.fixture
def given(db: Any, settings: Any) -> None:
    """A twin, two scenarios and two versions of an agent that can be run here."""
    from evaluations.services.agents import save_agent
    from scenarios.services import save_scenario
    from twins.services import save_twin

    settings.AGENTTWIN_IN_PROCESS_AGENTS = {documents.AGENT: "tests.running.agents.StepAgent"}
    save_twin(document=documents.twin())
    save_scenario(document=documents.scenario("refund", tags=("smoke",)))
    save_scenario(document=documents.scenario("other"))
    save_agent(document=documents.agent("1.0.0", *documents.GOOD))
    save_agent(document=documents.agent("2.0.0", *documents.TWICE))


def fields(html: bytes | str, **changes: Any) -> dict[str, Any]:
    """What the form of this page would send, with changes."""
    text = html.decode() if isinstance(html, bytes) else html
    key = re.search(r'name="form_key" value="([^"]+)"', text)
    assert key
    sent = {
        "agent": documents.AGENT,
        "form_key": key[1],
        "baseline": "1.0.0",
        "candidate": "2.0.0",
        "seed": "7",
    }
    return {**sent, **changes}


def test_the_form_offers_the_latest_version_against_the_one_before(editor: Client, given: None) -> None:
    html = editor.get(ADDRESS).content.decode()

    assert re.search(r'name="baseline".*?value="1.0.0" selected.*?</select>', html, re.S)
    assert re.search(r'name="candidate".*?value="2.0.0" selected.*?</select>', html, re.S)
    assert "refund" in html
    assert "other" in html
    assert "smoke" in html


def test_a_plain_post_starts_the_comparison_and_leads_to_it(
    editor: Client, given: None, django_capture_on_commit_callbacks: Any
) -> None:
    form = fields(editor.get(ADDRESS).content, scenarios=["refund"], trials="2")

    response = editor.post(ADDRESS, form)

    comparison = Comparison.objects.get()
    assert (response.status_code, response["Location"]) == (303, f"/comparisons/{comparison.pk}/")
    assert (comparison.seed, comparison.trials, comparison.created_by.get_username()) == (7, 2, "editor")
    assert [pair.scenario_name for pair in comparison.pairs.all()] == ["refund", "refund"]


def test_htmx_is_led_to_the_comparison(editor: Client, given: None) -> None:
    form = fields(editor.get(ADDRESS).content)

    response = editor.post(ADDRESS, form, headers=HTMX)

    assert response["HX-Redirect"] == f"/comparisons/{Comparison.objects.get().pk}/"


def test_a_double_submit_starts_one_comparison(editor: Client, given: None) -> None:
    form = fields(editor.get(ADDRESS).content)

    first, second = editor.post(ADDRESS, form), editor.post(ADDRESS, form)

    assert Comparison.objects.count() == 1
    assert first["Location"] == second["Location"]


def test_a_form_sent_again_with_other_choices_is_a_conflict(editor: Client, given: None) -> None:
    form = fields(editor.get(ADDRESS).content)
    editor.post(ADDRESS, form)

    response = editor.post(ADDRESS, {**form, "seed": "8"}, headers=HTMX)

    assert response.status_code == 409
    assert b"already sent with other choices" in response.content
    assert b'value="8"' in response.content
    assert Comparison.objects.count() == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"baseline": "9.9.9"},
        {"scenarios": ["unknown"]},
        {"tags": ["unknown"]},
        {"trials": "0"},
        {"trials": "many"},
        {"seed": ""},
        {"seed": "9" * 30},
        {"form_key": "not-a-key"},
        {"agent": "unknown"},
    ],
)
def test_a_form_that_does_not_hold_comes_back_with_422(
    editor: Client, given: None, changes: dict[str, Any]
) -> None:
    form = fields(editor.get(ADDRESS).content, **changes)

    page, fragment = editor.post(ADDRESS, form), editor.post(ADDRESS, form, headers=HTMX)

    assert page.status_code == fragment.status_code == 422
    assert b"<html" in page.content
    assert b"<html" not in fragment.content
    assert re.search(rb'field__error|role="alert"', fragment.content)
    assert not Comparison.objects.exists()


def test_what_the_service_refuses_is_told_with_every_problem(
    editor: Client, given: None, settings: Any
) -> None:
    form = fields(editor.get(ADDRESS).content)
    settings.AGENTTWIN_IN_PROCESS_AGENTS = {}

    response = editor.post(ADDRESS, form)

    assert response.status_code == 422
    assert b'role="alert"' in response.content
    assert not Comparison.objects.exists()


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_who_may_not_start_is_refused(person: Any, given: None, role: str, method: str) -> None:
    response = getattr(person(role), method)(ADDRESS, {"agent": documents.AGENT})

    assert response.status_code == 403
    assert not Comparison.objects.exists()


def test_without_agents_the_page_says_what_to_do(editor: Client) -> None:
    assert b"No agents yet" in editor.get(ADDRESS).content


def test_an_unknown_agent_in_the_address_is_told(editor: Client, given: None) -> None:
    assert b"There is no agent nobody" in editor.get(f"{ADDRESS}?agent=nobody").content
