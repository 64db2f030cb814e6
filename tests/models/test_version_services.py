"""Saving a document makes a version, or says exactly why not."""

import json
import logging

import pytest
from django.contrib.auth import get_user_model

from agenttwin_site.events import governance
from evaluations.models import Agent, AgentVersion
from evaluations.services.agents import manifest_of, precedence, save_agent
from scenarios.models import Scenario, ScenarioVersion
from scenarios.services import save_scenario, scenario_of
from tests.models import documents
from twins.documents.problems import DocumentError
from twins.engine.values import digest
from twins.errors import StaleEditError
from twins.models import Twin, TwinVersion
from twins.services import save_twin, twin_definition

pytestmark = pytest.mark.django_db


def problems_of(save, *args, **kwargs) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        save(*args, **kwargs)
    return [f"{problem.line}: {problem}" for problem in caught.value.problems]


def test_the_first_save_makes_version_1_with_its_text_as_typed() -> None:
    text = documents.TWIN + "\n# a remark of the author\n"
    version, created = save_twin(text=text)
    version.refresh_from_db()
    assert (created, version.number, version.twin.name) == (True, 1, "shop")
    assert version.source_text == text
    assert version.digest == digest(version.document)
    assert version.twin.current_version == version


def test_identical_content_makes_no_version_however_it_is_written() -> None:
    first, _ = save_twin(text=documents.TWIN)
    again = json.dumps(dict(reversed(first.document.items())))
    version, created = save_twin(text="# other layout\n" + documents.TWIN)
    assert (version, created) == (first, False)
    assert save_twin(text=again, kind="json") == (first, False)
    assert save_twin(document=first.document) == (first, False)
    assert TwinVersion.objects.count() == 1


def test_going_back_to_older_content_is_a_new_version() -> None:
    save_twin(text=documents.twin(40))
    save_twin(text=documents.twin(41))
    version, created = save_twin(text=documents.twin(40))
    assert (created, version.number) == (True, 3)


def test_a_document_without_text_is_kept_as_json_that_loads_back() -> None:
    first, _ = save_twin(text=documents.TWIN)
    version, _ = save_twin(document={**first.document, "metadata": {"name": "other"}})
    assert json.loads(version.source_text) == version.document


def test_every_problem_is_reported_at_once_with_its_line_and_nothing_is_stored() -> None:
    text = documents.TWIN.replace("kind: read", "kind: reed").replace("name: shop", "name: Shop!")
    problems = problems_of(save_twin, text=text)
    assert len(problems) >= 2
    assert any("metadata.name" in problem for problem in problems)
    assert any("handler.kind" in problem and problem.startswith("14:") for problem in problems)
    assert not Twin.objects.exists()


def test_an_edit_never_renames() -> None:
    save_twin(text=documents.TWIN)
    (problem,) = problems_of(save_twin, text=documents.twin(name="store"), name="shop")
    assert "must stay shop, got store" in problem
    assert problem.startswith("4:")
    assert Twin.objects.count() == 1


def test_an_edit_of_an_older_version_is_a_conflict_that_stores_nothing() -> None:
    save_twin(text=documents.twin(40))
    save_twin(text=documents.twin(41))
    with pytest.raises(StaleEditError, match="edited from version 1, but version 2 is current"):
        save_twin(text=documents.twin(42), based_on=1)
    assert TwinVersion.objects.count() == 2
    assert save_twin(text=documents.twin(42), based_on=2)[0].number == 3


def test_saving_what_the_other_person_saved_too_is_no_conflict() -> None:
    save_twin(text=documents.twin(40))
    save_twin(text=documents.twin(41))
    assert save_twin(text=documents.twin(41), based_on=1)[1] is False


def test_adding_a_name_that_exists_is_a_conflict() -> None:
    save_twin(text=documents.twin(40))
    with pytest.raises(StaleEditError, match="exists already, at version 1"):
        save_twin(text=documents.twin(41), based_on=0)


def test_a_scenario_keeps_what_lists_show() -> None:
    save_twin(text=documents.TWIN)
    version, _ = save_scenario(text=documents.SCENARIO)
    version.refresh_from_db()
    assert (version.severity, version.tags) == ("critical", ["smoke", "money"])
    assert (version.agent_name, version.twin_name) == ("helper", "shop")
    assert scenario_of(version).name == "refund"
    assert scenario_of(version) is scenario_of(ScenarioVersion.objects.get())


def test_a_scenario_naming_an_unknown_twin_is_refused_with_the_reason_and_all_else() -> None:
    save_twin(text=documents.twin(name="store"))
    problems = problems_of(save_scenario, text=documents.SCENARIO.replace("critical", "urgent"))
    assert any("severity" in problem for problem in problems)
    assert any(
        "there is no twin shop; there are store" in problem and "9: spec.twin" in problem
        for problem in problems
    )
    assert not Scenario.objects.exists()


@pytest.mark.parametrize(
    "change",
    [
        ("tool: lookup_order", "tool: refund_everything"),
        (
            "  expectations:",
            "  faults: [{target: refund_everything, behavior: {type: http_500}}]\n  expectations:",
        ),
    ],
)
def test_a_scenario_naming_an_unknown_tool_is_refused(change) -> None:
    save_twin(text=documents.TWIN)
    (problem,) = problems_of(save_scenario, text=documents.SCENARIO.replace(*change))
    assert "refund_everything" in problem
    assert not Scenario.objects.exists()


def test_a_registered_version_of_an_agent_never_changes() -> None:
    first, created = save_agent(text=documents.agent())
    assert created
    assert save_agent(text="# layout\n" + documents.agent()) == (first, False)
    (problem,) = problems_of(save_agent, text=documents.agent(instructions="Answer at once."))
    assert problem.startswith("5: metadata.version")
    assert "1.0.0 of helper is registered with other content" in problem
    assert AgentVersion.objects.get().document == first.document


def test_an_agent_is_at_its_highest_version_in_whatever_order_they_come() -> None:
    for version in ("1.10.0", "1.9.0", "2.0.0-rc.1", "0.9.0"):
        save_agent(text=documents.agent(version))
    assert Agent.objects.get().current_version.version == "2.0.0-rc.1"
    save_agent(text=documents.agent("2.0.0"))
    assert Agent.objects.get().current_version.version == "2.0.0"
    assert manifest_of(Agent.objects.get().current_version).version == "2.0.0"


def test_semantic_versions_sort_by_their_rules() -> None:
    # The example of semver.org, section 11.
    ordered = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2"]
    ordered += ["1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0"]
    assert sorted(set(ordered), key=precedence) == ordered
    assert precedence("1.0.0+build.1") == precedence("1.0.0")


def test_a_stale_edit_of_an_agent_is_a_conflict() -> None:
    save_agent(text=documents.agent("1.0.0"))
    save_agent(text=documents.agent("1.1.0"))
    with pytest.raises(StaleEditError, match=r"edited from version 1\.0\.0, but version 1\.1\.0 is current"):
        save_agent(text=documents.agent("1.2.0"), based_on="1.0.0")
    assert not AgentVersion.objects.filter(version="1.2.0").exists()


def test_instructions_have_a_digest_of_their_own() -> None:
    version, _ = save_agent(text=documents.agent())
    # sha256 of "Look before you answer."
    assert version.instructions_digest == manifest_of(version).instructions_digest
    assert len(version.instructions_digest) == 64
    assert (version.model_provider, version.model_name) == ("scripted", "planner")


def test_who_made_a_version_is_kept_and_announced_without_its_content() -> None:
    actor = get_user_model().objects.create_user("eve")
    heard = []

    def hear(sender, **facts) -> None:
        heard.append(facts)

    governance.connect(hear, weak=False, dispatch_uid="hear")
    try:
        save_twin(text=documents.twin(40), actor=actor)
        save_twin(text=documents.twin(40), actor=actor)
        version, _ = save_twin(text=documents.twin(41), actor=actor)
    finally:
        governance.disconnect(dispatch_uid="hear")
    assert version.created_by == actor
    assert [fact["action"] for fact in heard] == ["twin_version_created"] * 2
    first, second = heard
    assert (first["before"], first["after"]["version"]) == (None, 1)
    assert (second["before"]["version"], second["after"]["version"]) == (1, 2)
    assert (second["actor"], second["subject"]) == (actor, "twin shop")
    assert documents.SECRET not in repr(heard)


def test_planted_secrets_are_never_logged(caplog) -> None:
    with caplog.at_level(logging.DEBUG):
        save_twin(text=documents.TWIN)
        problems_of(save_twin, text=documents.TWIN.replace("kind: read", "kind: reed"))
    # Django's log of SQL statements exists for debugging only and is not part of this product.
    ours = [record for record in caplog.records if not record.name.startswith("django.db")]
    assert documents.SECRET not in "".join(record.getMessage() for record in ours)


def test_a_definition_is_compiled_from_what_was_stored() -> None:
    version, _ = save_twin(text=documents.TWIN)
    definition = twin_definition(TwinVersion.objects.get(pk=version.pk))
    assert definition.name == "shop"
    assert "lookup_order" in definition.tools
