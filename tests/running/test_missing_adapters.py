"""A stored twin whose custom adapter this process does not have: told everywhere, in nobody's way."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evaluations.errors import RequestError
from evaluations.models import Case, ManualSession
from evaluations.reporting.case_reports import case_reports
from evaluations.services import kits
from evaluations.services.agents import save_agent
from evaluations.services.comparisons import start_comparison
from evaluations.services.fault_cases import missing_of
from evaluations.services.manual import close_manual_session, open_manual_session, recorded_so_far
from evaluations.services.waiting import run_here
from scenarios.admin import scenarios_that_no_longer_fit
from scenarios.holdouts import EVERYTHING
from scenarios.models import Scenario
from scenarios.services import save_scenario
from tests.running import documents
from twins.documents.problems import DocumentError
from twins.engine import adapters, definition
from twins.models import Twin
from twins.services import save_twin
from twins.wire import specs

MISSING = "there is no adapter 'ledger' here"
TOOLS = {"post": {"risk": "WRITE_IRREVERSIBLE", "handler": {"kind": "custom", "adapter": "ledger"}}}
CUSTOM = documents.twin("books", tools=TOOLS)
ON_BOOKS = documents.scenario(
    "posting",
    twin="books",
    expectations=[{"id": "posted", "type": "toolCalled", "tool": "post", "min": 0}],
)


@pytest.fixture
def forget(given: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Stores a healthy scenario and one on a twin with an adapter; called, the adapter is gone."""
    known: dict[str, Any] = {}
    monkeypatch.setattr(adapters, "_ADAPTERS", known)
    adapters.adapter("ledger", mutates=True)(lambda _call: adapters.AdapterAnswer({"ok": True}))
    given()
    save_twin(document=CUSTOM)
    save_scenario(document=ON_BOOKS)

    def gone() -> None:
        known.clear()
        definition._CACHE._entries.clear()
        kits._cache.clear()
        kits._fitting.clear()
        specs._compiled.cache_clear()

    return gone


@pytest.fixture
def admin_client(db: Any) -> Client:
    client = Client(raise_request_exception=True)
    client.force_login(get_user_model().objects.create_superuser("root"))
    return client


def test_its_cases_are_errored_with_the_reason_and_the_others_go_on(start: Any, forget: Any) -> None:
    comparison = start()
    forget()

    run_here(comparison.pk)

    comparison.refresh_from_db()
    assert comparison.state == "INCOMPLETE"
    assert MISSING in comparison.reason
    verdicts = set(Case.objects.values_list("pair__scenario_name", "state", "verdict"))
    assert verdicts == {
        ("posting", "FINISHED", "ERRORED"),
        ("refund", "FINISHED", "PASSED"),
        ("refund", "FINISHED", "FAILED"),
    }
    broken = Case.objects.filter(pair__scenario_name="posting")
    assert all(MISSING in reason for reason in broken.values_list("error_reason", flat=True))


def test_cases_that_a_worker_without_the_adapter_recovers_are_ended(start: Any, forget: Any) -> None:
    comparison = start()
    forget()

    call_command("recover", "--run", stdout=io.StringIO())

    comparison.refresh_from_db()
    assert comparison.state == "INCOMPLETE"
    assert not Case.objects.filter(state__in=("QUEUED", "RUNNING")).exists()


def test_no_comparison_is_started_on_it(forget: Any) -> None:
    forget()
    with pytest.raises(RequestError, match="'posting' needs the twin 'books', which cannot be used here"):
        start_comparison(agent=documents.AGENT, baseline="1.0.0", candidate="2.0.0", wake=False)


def test_a_scenario_on_it_is_refused_with_a_problem_and_nothing_is_stored(forget: Any, tmp_path: Any) -> None:
    forget()
    other = {**ON_BOOKS, "metadata": {"name": "another", "severity": "low"}}
    file = tmp_path / "another.json"
    file.write_text(json.dumps(other))
    out, err = io.StringIO(), io.StringIO()

    with pytest.raises(SystemExit) as stopped:
        call_command("import_documents", str(file), stdout=out, stderr=err)
    with pytest.raises(DocumentError, match=f"spec.twin: the twin books cannot be used here: {MISSING}"):
        save_scenario(document=other)

    assert stopped.value.code == 2
    assert err.getvalue().startswith(f"{file}: spec.twin: the twin books cannot be used here: {MISSING}")
    assert not Scenario.objects.filter(name="another").exists()


def test_pages_reports_and_the_admin_show_it(start: Any, forget: Any, admin_client: Client) -> None:
    comparison = start()
    forget()
    run_here(comparison.pk)
    twin = Twin.objects.get(name="books")
    scenario = Scenario.objects.get(name="posting")

    pages = [
        reverse("twins:twin", args=["books"]),
        reverse("scenarios:scenario", args=["posting"]),
        f"{reverse('evaluations:fault_cases')}?twin=books",
        reverse("admin:twins_twin_change", args=[twin.pk]),
        reverse("admin:scenarios_scenario_change", args=[scenario.pk]),
        reverse("reviews:case", args=[comparison.pk, "posting"]),
        reverse("evaluations:comparison", args=[comparison.pk]),
    ]

    assert {page: admin_client.get(page).status_code for page in pages} == dict.fromkeys(pages, 200)
    assert {report["scenario"] for report in case_reports(comparison)} == {"posting", "refund"}
    assert {one.tool for one in missing_of("twin", "books", EVERYTHING)} == {"post"}


def test_the_admin_tells_it_to_who_edits_a_scenario_on_it(forget: Any, admin_client: Client) -> None:
    forget()
    page = reverse("admin:scenarios_scenario_change", args=[Scenario.objects.get(name="posting").pk])
    changed = {**ON_BOOKS, "metadata": {"name": "posting", "severity": "low"}}

    answer = admin_client.post(page, {"text": json.dumps(changed), "based_on": "1"})

    assert "the twin books cannot be used here" in answer.content.decode()
    assert Scenario.objects.get(name="posting").current_version.number == 1


def test_the_admin_says_that_no_scenario_was_held_against_a_twin_that_cannot_be_used(forget: Any) -> None:
    forget()
    (remark,) = scenarios_that_no_longer_fit(Twin.objects.get(name="books"))
    assert MISSING in remark


def test_an_open_session_on_it_can_be_looked_at_and_closed(forget: Any, admin_client: Client) -> None:
    opened = open_manual_session(scenario="posting", agent_label="me")
    forget()
    session = ManualSession.objects.get(pk=opened.session.pk)

    assert recorded_so_far(session) == ()
    assert admin_client.get(session.get_absolute_url()).status_code == 200
    close_manual_session(session)

    session.refresh_from_db()
    assert MISSING in session.error_reason


def test_no_session_is_opened_on_it(forget: Any) -> None:
    forget()
    with pytest.raises(RequestError, match=MISSING):
        open_manual_session(scenario="posting", agent_label="me")


def test_an_agent_can_still_be_registered(forget: Any) -> None:
    forget()
    assert save_agent(document=documents.agent("3.0.0", *documents.GOOD))[1]
