"""docs/gate.md says what the gate does: its rules, its fields, its statuses, its example."""

from __future__ import annotations

from typing import Any

from evaluations.gate import EXIT_STATUS, RULES
from evaluations.gate.outcomes import COULD_NOT_DECIDE
from evaluations.management.commands.gate import Command
from scenarios.documents.gate_policy import GATE_POLICY_SCHEMA, GatePolicy, load_gate_policy
from tests.docs.pages import DOCS, fenced, names, table
from twins.documents.source import read_source

TEXT = (DOCS / "gate.md").read_text(encoding="utf-8")


def test_the_example_is_a_valid_policy_that_uses_every_field() -> None:
    (block,) = fenced(TEXT, "yaml")
    source = read_source(block)
    policy = load_gate_policy(source)
    assert policy.name == "payments"
    assert set(source.value["spec"]) == set(_spec()["properties"])


def test_the_table_of_fields_is_that_of_the_schema_with_its_defaults() -> None:
    rows = {names(row[0])[0]: row for row in table(TEXT, "field")}
    assert set(rows) == {*_spec()["properties"], "mandatory.passRate"}
    strict = GatePolicy("x")
    assert rows["latency"][2] == f"{strict.latency_percent:g}, {strict.latency_ignored_ms:g}"
    assert rows["cost"][2] == f"{strict.cost_percent:g}"
    assert (rows["minimumTrials"][2], rows["mandatory.passRate"][2]) == ("1", "1")


def test_the_table_of_rules_is_the_registry() -> None:
    rows = [(names(row[0])[0], row[1]) for row in table(TEXT, "rule")]
    assert rows == [(rule.name, rule.outcome) for rule in RULES.values()]


def test_the_statuses_are_those_of_the_code() -> None:
    told = {int(row[0]) for row in table(TEXT, "exit status")}
    assert told == {*EXIT_STATUS.values(), COULD_NOT_DECIDE}


def test_the_options_are_those_of_the_command() -> None:
    told = {
        word for row in table(TEXT, "option") for word in row[0].replace("`", "").split() if word[:2] == "--"
    }
    parser = Command().create_parser("manage.py", "gate")
    ours = {option for action in parser._actions for option in action.option_strings if option[:2] == "--"}
    django = {"--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color",
              "--force-color", "--skip-checks"}  # fmt: skip
    assert told == ours - django


def _spec() -> Any:
    return GATE_POLICY_SCHEMA.schema["properties"]["spec"]
