"""Documents are edited as text: a save says which version it made, an error loses nothing."""

import html
import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from agenttwin_site.kept_forms import typed_by
from evaluations.models import Agent, AgentVersion
from evaluations.services.agents import save_agent
from scenarios.models import Scenario, ScenarioVersion
from scenarios.services import save_scenario
from tests.models import documents
from twins.models import Twin, TwinVersion
from twins.services import save_twin

pytestmark = pytest.mark.django_db


@pytest.fixture
def stored(db) -> None:
    """One version of each kind of document."""
    save_twin(text=documents.TWIN)
    save_scenario(text=documents.SCENARIO)
    save_agent(text=documents.AGENT)


KINDS = {
    "twin": ("twins_twin", Twin, TwinVersion, documents.twin(40), documents.twin(41), ("1", "2")),
    "scenario": (
        "scenarios_scenario",
        Scenario,
        ScenarioVersion,
        documents.scenario(),
        documents.scenario("Is it paid?"),
        ("1", "2"),
    ),
    "agent": (
        "evaluations_agent",
        Agent,
        AgentVersion,
        documents.agent("1.0.0"),
        documents.agent("1.1.0", "Answer at once."),
        ("1.0.0", "1.1.0"),
    ),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def url(kind: str, page: str, *arguments) -> str:
    return reverse(f"admin:{KINDS[kind][0]}_{page}", args=arguments)


def change_url(kind: str) -> str:
    return url(kind, "change", KINDS[kind][1].objects.get().pk)


def textarea(response) -> str:
    """The text in the editor, as a browser would read it."""
    found = re.search(r"<textarea[^>]*>\n?(.*?)</textarea>", response.content.decode(), re.DOTALL)
    return html.unescape(found.group(1))


def said(response) -> list[str]:
    return [str(message) for message in response.context["messages"]]


# ------------------------------------------------------------------------ saving


@each_kind
def test_the_page_for_a_new_document_starts_with_an_example(kind, editor) -> None:
    response = editor.get(url(kind, "add"))
    assert response.status_code == 200
    assert "apiVersion" in textarea(response)


@each_kind
def test_adding_a_document_makes_version_1(kind, editor) -> None:
    _, model, versions, text, _, (number, _) = KINDS[kind]
    if kind == "scenario":
        save_twin(text=documents.TWIN)
    response = editor.post(url(kind, "add"), {"text": text, "based_on": ""}, follow=True)
    assert any(f"saved as version {number}" in message for message in said(response))
    assert response.redirect_chain[-1][0] == change_url(kind)
    version = versions.objects.get()
    assert version.source_text == text
    assert version.created_by.username == "editor"
    assert model.objects.get().current_version == version


@each_kind
def test_saving_other_content_makes_a_new_version_and_says_which(kind, editor, stored) -> None:
    _, _, versions, _, other, (before, after) = KINDS[kind]
    response = editor.post(change_url(kind), {"text": other, "based_on": before}, follow=True)
    assert any(f"saved as version {after}" in message for message in said(response))
    assert versions.objects.count() == 2
    assert textarea(response) == other
    assert f"version {after}" in LogEntry.objects.get().change_message


@each_kind
def test_saving_the_same_content_says_that_nothing_changed(kind, editor, stored) -> None:
    _, _, versions, text, _, (number, _) = KINDS[kind]
    response = editor.post(change_url(kind), {"text": f"# layout\n{text}", "based_on": number}, follow=True)
    assert any(f"unchanged, still version {number}" in message for message in said(response))
    assert versions.objects.count() == 1
    assert not LogEntry.objects.exists()


def test_line_breaks_of_a_browser_are_not_part_of_the_text(editor, stored) -> None:
    text = documents.twin(41)
    editor.post(change_url("twin"), {"text": text.replace("\n", "\r\n"), "based_on": "1"})
    assert TwinVersion.objects.get(number=2).source_text == text


# ------------------------------------------------------------------------ problems


@each_kind
def test_problems_stand_next_to_the_text_and_nothing_typed_is_lost(kind, editor, stored) -> None:
    _, _, versions, text, _, (number, _) = KINDS[kind]
    typed = f"\n\n{text}unknown: </textarea><script>alert(1)</script>\n  # <b>my remark</b> \n"
    response = editor.post(change_url(kind), {"text": typed, "based_on": number})
    assert response.status_code == 422
    assert textarea(response) == typed
    line = typed[: typed.index("unknown")].count("\n") + 1
    content = response.content.decode()
    assert f'data-line="{line}"' in content
    assert f'data-marked="{line} "' in content
    assert "<code>unknown</code>" in content
    assert "<script>alert" not in content
    assert versions.objects.count() == 1


def test_every_problem_is_shown_with_its_line_and_the_lines_around_it(editor, stored) -> None:
    typed = documents.TWIN.replace("kind: read", "kind: reed").replace("name: shop", "nome: shop")
    response = editor.post(change_url("twin"), {"text": typed, "based_on": "1"})
    shown = {item.problem.path: item for item in response.context["edit"].problems}
    assert {"metadata.nome", "spec.tools.lookup_order.handler.kind"} <= set(shown)
    excerpt = shown["spec.tools.lookup_order.handler.kind"].excerpt
    assert [(line, is_it) for _, line, is_it in excerpt] == [
        ("      handler:", False),
        ("        kind: reed", True),
        ("        path: orders.{order_id}", False),
    ]


@pytest.mark.parametrize("text", ["", "just text", "a: [", "\x00", "- " * 500, "a: &a [*a, *a]", "{" * 2000])
def test_hostile_texts_are_problems_and_never_an_error_page(text, editor, stored) -> None:
    response = editor.post(change_url("twin"), {"text": text, "based_on": "1"})
    assert response.status_code == 422
    assert response.context["edit"].problems
    assert TwinVersion.objects.count() == 1


def test_many_problems_are_cut(editor, stored) -> None:
    text = documents.TWIN + "".join(f"unknown{i}: 1\n" for i in range(1000))
    response = editor.post(change_url("twin"), {"text": text, "based_on": "1"})
    assert len(response.context["edit"].problems) == 200
    assert b"more are not shown" in response.content


def test_a_scenario_naming_an_unknown_twin_is_shown_with_the_reason(editor, stored) -> None:
    typed = documents.SCENARIO.replace("twin: shop", "twin: nowhere")
    response = editor.post(change_url("scenario"), {"text": typed, "based_on": "1"})
    assert response.status_code == 422
    assert b"there is no twin nowhere" in response.content


def test_other_content_under_a_registered_agent_version_is_a_problem(editor, stored) -> None:
    typed = documents.agent("1.0.0", "Answer at once.")
    response = editor.post(change_url("agent"), {"text": typed, "based_on": "1.0.0"})
    assert response.status_code == 422
    assert b"is registered with other content" in response.content
    assert textarea(response) == typed


def test_registering_an_older_agent_version_again_says_it_is_there(editor, stored) -> None:
    save_agent(text=documents.agent("2.0.0"))
    response = editor.post(change_url("agent"), {"text": documents.AGENT, "based_on": "2.0.0"}, follow=True)
    assert any("already stored as version 1.0.0" in message for message in said(response))


def test_a_twin_that_its_scenarios_no_longer_fit_is_saved_with_a_warning(editor, stored) -> None:
    """A comparison would refuse to start: who changed the twin should know first."""
    text = documents.TWIN.replace("lookup_order", "find_order")
    response = editor.post(change_url("twin"), {"text": text, "based_on": "1"}, follow=True)
    saved, warning = said(response)
    assert "saved as version 2" in saved
    assert "Scenario refund does not fit it: spec.expectations[0].tool" in warning


# ------------------------------------------------------------------------ conflicts


@each_kind
def test_a_stale_edit_is_a_conflict_that_keeps_the_text(kind, editor, stored) -> None:
    _, _, versions, _, other, (before, after) = KINDS[kind]
    save = {"twin": save_twin, "scenario": save_scenario, "agent": save_agent}[kind]
    save(text=other)
    mine = {
        "twin": documents.twin(99),
        "scenario": documents.scenario("Mine?"),
        "agent": documents.agent("1.2.0", "Mine."),
    }[kind]
    response = editor.post(change_url(kind), {"text": mine, "based_on": before})
    assert response.status_code == 409
    assert textarea(response) == mine
    assert f"version {after} is current now" in response.content.decode()
    assert response.context["edit"].conflict_difference.added >= 1
    assert versions.objects.count() == 2
    # Having seen what the other person changed, saving again is a decision.
    again = editor.post(change_url(kind), {"text": mine, "based_on": response.context["edit"].based_on})
    assert again.status_code == 302
    assert versions.objects.count() == 3


def test_adding_a_name_that_exists_goes_on_as_an_edit_of_it(editor, stored) -> None:
    mine = documents.twin(99)
    response = editor.post(url("twin", "add"), {"text": mine, "based_on": ""})
    assert response.status_code == 409
    assert textarea(response) == mine
    assert f'action="{change_url("twin")}"' in response.content.decode()
    assert TwinVersion.objects.count() == 1


def test_a_text_sent_after_the_session_ended_is_there_after_the_login(stored) -> None:
    ada = get_user_model().objects.create_superuser("ada", password="a long secret")
    client = Client()
    mine = documents.twin(99)
    page = change_url("twin")
    sent = client.post(
        page,
        {"text": mine.replace("\n", "\r\n"), "based_on": "1", "typed_by": typed_by(ada)},
        headers={"referer": f"http://testserver{page}"},
    )
    assert sent.status_code in {302, 303}
    login = {"username": "ada", "password": "a long secret"}
    response = client.post(sent["Location"], login, follow=True)
    assert response.redirect_chain[-1][0] == page
    assert textarea(response) == mine
    assert b"Not saved yet" in response.content
    assert TwinVersion.objects.count() == 1
    client.post(page, {"text": mine, "based_on": "1"})
    assert TwinVersion.objects.get(number=2).source_text == mine
    assert b"Not saved yet" not in client.get(page).content


# ------------------------------------------------------------------------ versions and differences


@pytest.fixture
def two_versions(stored) -> Twin:
    save_twin(text=documents.twin(41))
    return Twin.objects.get()


def test_history_lists_every_version_and_leads_to_what_changed(viewer, two_versions) -> None:
    response = viewer.get(url("twin", "versions", two_versions.pk))
    first, second = two_versions.versions.order_by("number")
    content = response.content.decode()
    assert f"?from={first.pk}&amp;to={second.pk}" in content
    assert content.count('type="radio"') == 4


def test_the_difference_of_two_versions_is_told_in_signs_and_words(editor, two_versions) -> None:
    first, second = two_versions.versions.order_by("number")
    response = editor.get(url("twin", "difference", two_versions.pk), {"from": first.pk, "to": second.pk})
    content = response.content.decode()
    assert "1 line added" in content
    assert '<td class="at-sign">-<span class="visually-hidden">removed:</span></td>' in content
    assert "ORD-1: {id: ORD-1, total: 41}" in content
    assert "From version 1 to 2" in content


def test_the_difference_by_content_ignores_layout(editor, two_versions) -> None:
    save_twin(text="# layout\n" + documents.twin(40))
    first, _, third = two_versions.versions.order_by("number")
    query = {"from": first.pk, "to": third.pk}
    address = url("twin", "difference", two_versions.pk)
    assert b"1 line added" in editor.get(address, query).content
    assert b"No difference" in editor.get(address, {**query, "by": "content"}).content


def test_an_older_text_can_be_the_start_of_an_edit(editor, two_versions) -> None:
    first = two_versions.versions.get(number=1)
    response = editor.get(change_url("twin"), {"text_of": first.pk})
    assert textarea(response) == documents.twin(40)
    assert response.context["edit"].based_on == "2"


def test_a_version_can_be_downloaded_as_a_file(editor, two_versions) -> None:
    first = two_versions.versions.get(number=1)
    response = editor.get(url("twin", "download", two_versions.pk, first.pk))
    assert response.content.decode() == documents.twin(40)
    assert response["Content-Disposition"] == 'attachment; filename="shop-1.yaml"'


@pytest.mark.parametrize(
    "query", [{}, {"from": "x", "to": "1"}, {"from": "-1", "to": "1"}, {"from": "1" * 40}]
)
def test_a_difference_of_nothing_is_refused_politely(editor, two_versions, query) -> None:
    response = editor.get(url("twin", "difference", two_versions.pk), query)
    assert response.status_code in {400, 404}


def test_versions_of_another_document_are_not_found(editor, two_versions) -> None:
    save_twin(text=documents.twin(name="other"))
    foreign = TwinVersion.objects.get(twin__name="other")
    assert editor.get(url("twin", "version", two_versions.pk, foreign.pk)).status_code == 404


# ------------------------------------------------------------------------ links


def test_documents_lead_to_one_another(editor, stored) -> None:
    twin_page = editor.get(change_url("twin")).content.decode()
    assert "1 scenario on this twin" in twin_page
    assert "current_version__twin_name=shop" in twin_page
    scenario_page = editor.get(change_url("scenario")).content.decode()
    assert f'href="{change_url("twin")}"' in scenario_page
    agent_page = editor.get(change_url("agent")).content.decode()
    assert "1 scenario for this agent" in agent_page
    assert (
        editor.get(url("scenario", "changelist"), {"current_version__twin_name": "shop"}).status_code == 200
    )


def test_scenarios_are_filtered_by_tag(editor, stored) -> None:
    save_scenario(text=documents.scenario().replace("name: refund", "name: other").replace("smoke, ", ""))
    response = editor.get(url("scenario", "changelist"), {"tag": "smoke"})
    assert [row.name for row in response.context["cl"].result_list] == ["refund"]


# ------------------------------------------------------------------------ rights


@each_kind
def test_a_viewer_looks_and_cannot_post(kind, viewer, stored) -> None:
    _, _, versions, _, other, (number, _) = KINDS[kind]
    response = viewer.get(change_url(kind))
    assert response.status_code == 200
    assert b"Save as a new version" not in response.content
    assert viewer.post(change_url(kind), {"text": other, "based_on": number}).status_code == 403
    assert viewer.get(url(kind, "add")).status_code == 403
    assert viewer.post(url(kind, "add"), {"text": other, "based_on": ""}).status_code == 403
    assert versions.objects.count() == 1


@each_kind
def test_nobody_without_a_right_sees_anything(kind, nobody, stored) -> None:
    document = KINDS[kind][1].objects.get()
    version = document.current_version
    pages = [
        change_url(kind),
        url(kind, "changelist"),
        url(kind, "add"),
        url(kind, "versions", document.pk),
        url(kind, "version", document.pk, version.pk),
        url(kind, "download", document.pk, version.pk),
        url(kind, "difference", document.pk) + f"?from={version.pk}&to={version.pk}",
    ]
    assert {page: nobody.get(page).status_code for page in pages} == dict.fromkeys(pages, 403)
    assert {Client().get(page).status_code for page in pages} == {302}


@each_kind
def test_nothing_can_be_deleted(kind, admin_client, stored) -> None:
    document = KINDS[kind][1].objects.get()
    assert admin_client.post(url(kind, "delete", document.pk), {"post": "yes"}).status_code == 403
    action = {"action": "delete_selected", "_selected_action": [document.pk], "post": "yes"}
    admin_client.post(url(kind, "changelist"), action)
    assert KINDS[kind][1].objects.exists()


def test_planted_secrets_are_read_by_editors_only(viewer, editor, two_versions) -> None:
    first, second = two_versions.versions.order_by("number")
    pages = [
        change_url("twin"),
        url("twin", "version", two_versions.pk, first.pk),
        url("twin", "download", two_versions.pk, first.pk),
        url("twin", "difference", two_versions.pk) + f"?from={first.pk}&to={second.pk}",
        url("twin", "difference", two_versions.pk) + f"?from={first.pk}&to={second.pk}&by=content",
    ]
    secret = documents.SECRET.encode()
    for page in pages:
        assert secret not in viewer.get(page).content, page
    assert b"[REDACTED]" in viewer.get(pages[0]).content
    assert secret in editor.get(pages[0]).content


def test_a_secret_that_a_scenario_repeats_is_redacted_for_viewers(viewer, editor, stored) -> None:
    text = documents.scenario(f"My key is {documents.SECRET}")
    save_scenario(text=text)
    assert documents.SECRET.encode() not in viewer.get(change_url("scenario")).content
    assert documents.SECRET.encode() in editor.get(change_url("scenario")).content


def test_a_comment_that_holds_a_secret_is_left_out_for_viewers(viewer, editor, stored) -> None:
    save_scenario(text=f"# the key is {documents.SECRET}\n{documents.scenario('Where is my refund?')}")
    scenario = Scenario.objects.get()
    version = scenario.current_version
    pages = [
        change_url("scenario"),
        url("scenario", "version", scenario.pk, version.pk),
        url("scenario", "download", scenario.pk, version.pk),
        url("scenario", "difference", scenario.pk) + f"?from={scenario.versions.first().pk}&to={version.pk}",
    ]
    for page in pages:
        response = viewer.get(page)
        assert response.status_code == 200
        assert documents.SECRET.encode() not in response.content, page
    assert b"Where is my refund" in viewer.get(pages[0]).content
    assert documents.SECRET.encode() in editor.get(pages[0]).content


def test_a_secret_that_a_manifest_repeats_is_redacted_for_viewers(viewer, editor, stored) -> None:
    save_agent(text=documents.agent("1.1.0", f"The key is {documents.SECRET}."))
    assert documents.SECRET.encode() not in viewer.get(change_url("agent")).content
    assert documents.SECRET.encode() in editor.get(change_url("agent")).content


def test_problems_beside_the_text_do_not_quote_a_secret(editor, stored) -> None:
    text = documents.scenario().replace("severity: critical", f"severity: {documents.SECRET}")
    response = editor.post(change_url("scenario"), {"text": text, "based_on": "1"})
    assert response.status_code == 422
    said = [str(one.problem) for one in response.context["edit"].problems]
    assert said
    assert documents.SECRET not in " ".join(said)


@pytest.mark.parametrize("name", ["documents.css", "editor.js"])
def test_the_page_needs_no_inline_script_or_style(name, editor, stored) -> None:
    """A strict Content-Security-Policy allows files of our own only."""
    content = editor.get(change_url("twin")).content.decode()
    assert f"agenttwin/admin/{name}" in content
    assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>[^<]*\S", content)
    assert " style=" not in content
    assert not re.search(r"\son\w+=", content)


# ------------------------------------------------------------------------ queries


@each_kind
@pytest.mark.parametrize("page", ["changelist", "change", "versions"])
def test_the_number_of_queries_does_not_grow(kind, page, editor, stored, django_assert_num_queries) -> None:
    document = KINDS[kind][1].objects.get()
    address = url(kind, page, *(() if page == "changelist" else (document.pk,)))
    editor.get(address)  # content types and rights are cached by now
    alone = count_queries(editor, address)
    for number in range(30):
        if kind == "twin":
            save_twin(text=documents.twin(100 + number))
            save_twin(text=documents.twin(name=f"twin-{number}"))
        elif kind == "scenario":
            save_scenario(text=documents.scenario(f"Question {number}?"))
            save_scenario(text=documents.SCENARIO.replace("name: refund", f"name: scenario-{number}"))
        else:
            save_agent(text=documents.agent(f"1.{number}.1"))
            save_agent(text=documents.agent(name=f"agent-{number}"))
    with django_assert_num_queries(alone):
        editor.get(address)


def count_queries(client: Client, address: str) -> int:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
    return len(queries)
