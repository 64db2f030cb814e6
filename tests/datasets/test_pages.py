"""The pages of datasets: what they are, how often they were used, what differs between two versions."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evaluations.models import AgentVersion, DatasetUse
from evaluations.services.agents import save_agent
from scenarios.models import DatasetCase
from scenarios.services import save_scenario
from tests.datasets.people import account, logged_in
from tests.running import documents

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def viewer(db: Any) -> Client:
    return logged_in(account("viewer"))


@pytest.fixture
def reviewer(db: Any) -> Client:
    return logged_in(account("reviewer"))


def text(client: Client, address: str, status: int = 200, **options: Any) -> str:
    answer = client.get(address, **options)
    assert answer.status_code == status
    return answer.content.decode()


def test_the_list_tells_purpose_size_hash_and_use(
    given: Any, freeze: Any, start: Any, viewer: Client
) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    freeze("a", name="open", metadata={"description": "Refunds."})
    version = freeze("a", "b", name="secret", purpose="holdout")
    start(dataset="secret")
    page = text(viewer, "/datasets/")
    assert page.index("secret") < page.index(">open<")
    for told in ("holdout", "development", "Refunds.", version.sha256[:12], "used by 1 candidate since"):
        assert told in page
    assert "not used since it was frozen" in page
    assert "Freeze a dataset" not in page


def test_the_list_is_narrowed_and_paged(given: Any, freeze: Any, viewer: Client) -> None:
    given(documents.scenario("a"))
    freeze("a", name="open")
    freeze("a", name="secret", purpose="holdout")
    page = text(viewer, "/datasets/?purpose=holdout")
    assert "/datasets/secret/" in page
    assert "/datasets/open/" not in page
    assert "No dataset matches" in text(viewer, f"/datasets/?agent={documents.AGENT}x")
    fragment = text(viewer, "/datasets/", headers=HTMX)
    assert "<html" not in fragment
    assert 'id="dataset-table"' in fragment


def test_a_page_tells_what_was_frozen_and_that_it_verifies(given: Any, freeze: Any, viewer: Client) -> None:
    given(documents.scenario("a"))
    case = {"id": "REF-01", "scenario": "a", "owner": "ann", "why": "policy 4"}
    version = freeze(cases=[case], metadata={"owner": "payments"})
    page = text(viewer, "/datasets/suite/")
    for told in ("REF-01", "ann", "policy 4", "payments", version.sha256, ">verified<"):
        assert told in page
    assert 'href="/scenarios/a/?version=1"' in page
    assert "Not verified" not in page
    assert "kind" in text(viewer, "/datasets/suite/text/")


def test_a_page_says_when_what_is_stored_is_not_what_was_frozen(
    given: Any, freeze: Any, viewer: Client
) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    version = freeze("a")
    other = save_scenario(document=documents.scenario("b"))[0]
    DatasetCase.objects.create(version=version, position=1, case_id="C-2", scenario_version=other)
    assert "Not verified" in text(viewer, "/datasets/suite/")


def test_uses_are_counted_by_candidate(given: Any, freeze: Any, start: Any, viewer: Client) -> None:
    given(documents.scenario("a"))
    freeze("a")
    for number in range(3):
        save_agent(document=documents.agent(f"3.0.{number}", *documents.GOOD))
        start(dataset="suite", candidate=f"3.0.{number}")
    start(dataset="suite", candidate="3.0.0")
    page = text(viewer, "/datasets/suite/")
    assert "used by 3 candidates since it was frozen" in page
    assert "4 comparisons, 3 candidates" in page
    freeze("a", purpose="holdout")
    assert "not used since it was frozen" in text(viewer, "/datasets/suite/")
    assert "used by 3 candidates" in text(viewer, "/datasets/suite/?version=1")


def test_two_versions_are_held_against_each_other(given: Any, freeze: Any, reviewer: Client) -> None:
    given(documents.scenario("a"), documents.scenario("b"), documents.scenario("c"))
    freeze(cases=[{"id": "A", "scenario": "a", "why": "old"}, {"id": "B", "scenario": "b"}])
    save_scenario(document=documents.scenario("a", severity="low"))
    freeze(
        cases=[{"id": "A", "scenario": "a", "why": "new"}, {"id": "C", "scenario": "c"}], purpose="holdout"
    )
    page = text(reviewer, "/datasets/suite/?from=1&to=2")
    assert "1</span> added" in page
    assert "<del>old</del> → <ins>new</ins>" in page
    assert 'href="/scenarios/a/?from=1&amp;to=2#versions"' in page
    fragment = text(reviewer, "/datasets/suite/?from=2&to=1", headers=HTMX)
    assert "<html" not in fragment
    assert "<del>new</del> → <ins>old</ins>" in fragment
    assert "No version 7" in text(reviewer, "/datasets/suite/?from=1&to=7", 422)
    assert "No version (nothing)" in text(reviewer, "/datasets/suite/?to=1", 422)


def test_of_a_holdout_the_numbers_alone_are_told(given: Any, freeze: Any, viewer: Client) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    freeze("a", purpose="holdout")
    freeze("a", "b", purpose="holdout")
    page = text(viewer, "/datasets/suite/?from=1&to=2")
    assert "1 → 2 cases" in page
    for hidden in ("C-1", "C-2", "/scenarios/a/"):
        assert hidden not in page
    for address in ("cases/", "text/", "cases/?version=1"):
        assert text(viewer, f"/datasets/suite/{address}", 403)


def test_what_is_not_there_is_not_found(given: Any, freeze: Any, viewer: Client) -> None:
    given(documents.scenario("a"))
    freeze("a")
    for address in (
        "other/",
        "suite/?version=2",
        "suite/?version=x",
        "other/cases/",
        "suite/uses/?version=9",
    ):
        text(viewer, f"/datasets/{address}", 404)


def test_who_may_see_nothing_sees_no_dataset(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"))
    freeze("a")
    stranger = logged_in(User.objects.create_user("stranger"))
    for address in ("", "suite/", "suite/cases/", "suite/uses/", "suite/text/"):
        text(stranger, f"/datasets/{address}", 403)
    assert Client().get("/datasets/").status_code == 302


def test_a_page_costs_the_same_however_much_there_is(
    given: Any, freeze: Any, start: Any, reviewer: Client
) -> None:
    names = [f"s{number}" for number in range(60)]
    given(*(documents.scenario(name) for name in names))
    freeze(*names[:2])
    freeze(*names)
    comparison = start(dataset="suite@2")

    def cost(address: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            text(reviewer, address)
        return len(queries)

    small = cost("/datasets/suite/?version=1"), cost("/datasets/")
    agent = comparison.agent
    for number in range(30):
        version = AgentVersion.objects.create(
            agent=agent, version=f"9.0.{number}", digest="d" * 64, document={}, source_text=""
        )
        other = start(dataset="suite@2", candidate="1.0.0", key=f"k{number}") if number < 3 else None
        if other is not None:
            assert DatasetUse.objects.filter(comparison=other).exists()
        freeze("s1", name=f"suite-{number}", metadata={"owner": version.version})
    large = cost("/datasets/suite/?version=2"), cost("/datasets/")
    assert large == small
    assert "All 60 cases" in text(reviewer, "/datasets/suite/")
    assert "Next page" in text(reviewer, "/datasets/suite/cases/")


def test_the_form_of_a_comparison_offers_datasets(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"), documents.scenario("foreign", agent="other-agent"))
    freeze("a", purpose="holdout")
    freeze("foreign", name="theirs")
    editor = logged_in(account("editor"))
    page = text(editor, f"/comparisons/start/?agent={documents.AGENT}")
    assert "suite@1 (holdout, 1 case)" in page
    assert "theirs" not in page
    assert 'value="a"' not in page


def test_an_editor_freezes_in_the_admin(given: Any) -> None:
    given(documents.scenario("a"))
    editor = logged_in(account("editor"))
    assert "my-dataset" in text(editor, "/admin/scenarios/dataset/add/")
    document = (
        "apiVersion: agenttwin.dev/v1\nkind: Dataset\nmetadata: {name: suite}\n"
        "spec: {purpose: PURPOSE, cases: [{id: A-1, scenario: NAME}]}\n"
    )

    def send(address: str, purpose: str, name: str = "a", based_on: str = "") -> Any:
        body = document.replace("PURPOSE", purpose).replace("NAME", name)
        return editor.post(address, {"text": body, "based_on": based_on})

    assert send("/admin/scenarios/dataset/add/", "development", "lost").status_code == 422
    assert send("/admin/scenarios/dataset/add/", "development").status_code == 302
    change = "/admin/scenarios/dataset/1/change/"
    assert "A-1" in text(editor, change)
    made = send(change, "holdout", based_on="1")
    # It is a holdout now, and its editor is kept from it.
    assert (made.status_code, made.headers["Location"]) == (302, "/datasets/suite/")
    text(editor, change, 404)
    assert send("/admin/scenarios/dataset/add/", "development").status_code == 403
    admin = logged_in(account("admin"))
    assert "A-1" in text(admin, change)
