"""What must always hold of a row is a constraint of the database, named for its rule."""

import pytest
from django.db import IntegrityError, transaction

from evaluations.models import Agent, Case, Comparison, PairedCase, Run, ToolCall
from scenarios.models import Scenario
from tests.models import factories
from twins.models import Twin

pytestmark = pytest.mark.django_db


def refused(rule: str, write) -> None:
    """The write breaks this constraint. SQLite names unique constraints by their columns."""
    with pytest.raises(IntegrityError, match=rule), transaction.atomic():
        write()


@pytest.mark.parametrize("model", [Twin, Scenario, Agent])
def test_names_are_unique(model) -> None:
    model.objects.create(name="same")
    refused("name|unique", lambda: model.objects.create(name="same"))


@pytest.mark.parametrize(
    ("model", "rule"), [(Twin, "twin_has"), (Scenario, "scenario_has"), (Agent, "agent_has")]
)
def test_names_are_not_empty(model, rule) -> None:
    refused(rule, lambda: model.objects.create(name=""))


def test_version_numbers_are_unique_and_count_from_1() -> None:
    # SQLite's replace guard speaks before the unique constraint does.
    factories.twin_version()
    refused("twin_id|twins_twinversion|twin_version_number", factories.twin_version)
    refused("twin_version_counts_from_1", lambda: factories.twin_version(number=0))
    factories.scenario_version()
    refused("scenario_id|scenarios_scenarioversion|scenario_version_number", factories.scenario_version)
    factories.agent_version()
    refused("agent_id|evaluations_agentversion|agent_version_is_unique", factories.agent_version)


def test_the_key_of_a_pair_is_unique_and_many_have_none() -> None:
    factories.comparison(key="k")
    factories.comparison()
    factories.comparison()
    refused("key", lambda: factories.comparison(key="k"))
    refused("comparison_key_is_not_empty", lambda: factories.comparison(key=""))


def test_a_comparison_has_one_run_a_side() -> None:
    run = factories.comparison().runs.get(side="BASELINE")
    refused(
        "side",
        lambda: Run.objects.create(
            comparison=run.comparison, side="BASELINE", agent_version=run.agent_version
        ),
    )


def test_a_scenario_is_paired_once_a_trial() -> None:
    first = factories.pair()
    refused("trial|paired_case_is_unique", lambda: factories.pair(first.comparison, trial=1))


def test_a_case_is_unique_in_its_run_and_a_call_in_its_case() -> None:
    first = factories.case()
    refused("pair_id|case_is_unique", lambda: factories.case(first.pair))
    factories.tool_call(first)
    refused("seq|toolcall", lambda: factories.tool_call(first))
    factories.result(first)
    refused("expectation", lambda: factories.result(first))


@pytest.mark.parametrize(
    ("rule", "model", "fields"),
    [
        ("comparison_state_is_known", Comparison, {"state": "DONE"}),
        ("comparison_has_trials", Comparison, {"trials": 0}),
        ("run_state_is_known", Run, {"state": "DONE"}),
        ("run_side_is_known", Run, {"side": "LEFT"}),
        ("paired_case_severity_is_known", PairedCase, {"severity": "urgent"}),
        ("paired_case_class_is_known", PairedCase, {"classification": "WORSE"}),
        ("case_state_is_known", Case, {"state": "DONE"}),
        ("case_verdict_is_known", Case, {"verdict": "OK"}),
        ("case_effective_verdict_is_known", Case, {"effective_verdict": "OK"}),
        ("case_finished_has_a_verdict", Case, {"state": "FINISHED"}),
        ("case_running_has_a_lease", Case, {"state": "RUNNING"}),
        ("case_running_has_a_lease", Case, {"state": "RUNNING", "claim_token": "t"}),
    ],
)
def test_rows_keep_to_what_is_known(rule, model, fields) -> None:
    factories.case()
    refused(rule, lambda: model.objects.filter(pk=model.objects.first().pk).update(**fields))


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("tool_call_kind_is_known", {"kind": "guess"}),
        ("tool_call_status_is_known", {"status": "fine"}),
        ("tool_call_cross_tenant_is_known", {"cross_tenant": "maybe"}),
        ("tool_call_seq_counts_from_1", {"seq": 0}),
    ],
)
def test_calls_keep_to_what_is_known(rule, fields) -> None:
    row = factories.case()
    refused(rule, lambda: factories.tool_call(row, **fields))
    assert not ToolCall.objects.exists()


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("expectation_result_status_is_known", {"status": "OK"}),
        ("expectation_result_effective_status_is_known", {"effective_status": "OK"}),
    ],
)
def test_results_keep_to_what_is_known(rule, fields) -> None:
    row = factories.case()
    refused(rule, lambda: factories.result(row, **fields))


def test_severity_of_a_scenario_is_known() -> None:
    refused("scenario_severity_is_known", lambda: factories.scenario_version(severity="urgent"))


def test_stored_json_comes_back_with_its_key_order_and_every_character() -> None:
    document = {"b": 1.0, "a": "nul \x00 and ü", "list": [None, True]}
    row = factories.twin_version(document=document)
    row.refresh_from_db()
    assert list(row.document) == ["b", "a", "list"]
    assert row.document == document
    assert isinstance(row.document["b"], float)
