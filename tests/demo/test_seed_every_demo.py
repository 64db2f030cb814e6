"""`seed_demo` with all demos: every agent's documents once, and the figures of each from stored rows."""

import json
import re
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from evaluations.models import AgentVersion, Case, Comparison, GateDecision, GatePolicy
from evaluations.services.gate import fired_in, read_content, verification
from evaluations.services.gate_policies import activate_gate_policy, save_gate_policy

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_broker(settings) -> None:
    settings.BROKER_IS_CONFIGURED = False


def seed(*options: str) -> str:
    said = StringIO()
    call_command("seed_demo", *options, stdout=said)
    return said.getvalue()


def comparison(agent: str, baseline: str | None, candidate: str) -> Comparison:
    of_agent = Comparison.objects.filter(agent__name=agent, candidate__version=candidate)
    if baseline is None:
        return of_agent.get(baseline=None)
    return of_agent.get(baseline__version=baseline)


def passed(agent: str, baseline: str | None, candidate: str) -> tuple[int, int]:
    """How many cases each side of a comparison passed."""
    cases = Case.objects.filter(run__comparison=comparison(agent, baseline, candidate), verdict="PASSED")
    sides = Counter(cases.values_list("run__side", flat=True))
    return sides["BASELINE"], sides["CANDIDATE"]


def decided() -> dict[tuple[str, str | None, str], str]:
    """What the gate said, by agent, baseline and candidate."""
    rows = GateDecision.objects.values_list(
        "comparison__agent__name",
        "comparison__baseline__version",
        "comparison__candidate__version",
        "outcome",
    )
    return {(agent, baseline, candidate): outcome for agent, baseline, candidate, outcome in rows}


def printed(said: str) -> dict[str, str]:
    """The figures that the command prints of the approved refunds."""
    found = re.findall(r"(?m)^comparison \d+, (approved-\S+ [^:]+): .*(passed .*)$", said)
    return dict(found)


OUTCOMES = {
    ("support-refund-agent", "1.2.4", "1.3.0"): "BLOCK",
    # Nothing is wrong with 1.3.1, but its judge is not calibrated: the gate says so.
    ("support-refund-agent", "1.3.0", "1.3.1"): "WARN",
    ("support-refund-agent", "1.2.4", "1.3.1"): "WARN",
    ("approved-refunds-agent", None, "1.0.0"): "PASS",
    ("approved-refunds-agent", "1.0.0", "1.1.0"): "BLOCK",
    ("approved-refunds-agent", "1.1.0", "1.1.1"): "PASS",
    ("approved-refunds-agent", "1.0.0", "0.1.0"): "BLOCK",
    ("reminder-agent", None, "1.0.0"): "PASS",
    ("reminder-agent", "1.0.0", "1.1.0"): "BLOCK",
    ("reminder-agent", "1.0.0", "1.2.0"): "BLOCK",
    ("top-up-agent", None, "1.0.0"): "PASS",
    ("top-up-agent", "1.0.0", "1.1.0"): "BLOCK",
    ("top-up-agent", "1.0.0", "1.2.0"): "BLOCK",
}


def rules_fired(agent: str, baseline: str | None, candidate: str) -> set[str]:
    decision = GateDecision.objects.get(comparison=comparison(agent, baseline, candidate))
    return {fired.rule for fired in fired_in(read_content(decision))}


def test_a_policy_that_was_loosened_meanwhile_is_put_in_force_again_as_shipped() -> None:
    seed("--demo", "approved_refunds", "--no-comparisons")
    policy = GatePolicy.objects.get(name="approved-refunds")
    document = dict(policy.current_version.document)
    document["spec"] = {"mandatory": {"tags": ["accepted"]}}
    loose, _ = save_gate_policy(document=document)
    activate_gate_policy(version=loose, actor=None, note="for one evening", by_operator=True)
    assert "1 new document" in seed("--demo", "approved_refunds", "--no-comparisons")
    policy.refresh_from_db()
    assert policy.current_version.number == 3
    assert policy.current_version.document["spec"]["mandatory"] == {"all": True}


def the_gate_says_why() -> None:
    assert rules_fired("approved-refunds-agent", "1.0.0", "1.1.0") >= {
        "critical-failure",
        "disproved-success",
        "cross-tenant-access",
        "mandatory-not-passed",
        "known-regression-back",
    }
    assert "mandatory-not-passed" in rules_fired("approved-refunds-agent", "1.0.0", "0.1.0")
    assert rules_fired("top-up-agent", "1.0.0", "1.2.0") >= {
        "duplicate-irreversible-effect",
        "reliability-below-bar",
    }
    assert rules_fired("reminder-agent", "1.0.0", "1.1.0") >= {"duplicate-irreversible-effect"}
    assert rules_fired("reminder-agent", "1.0.0", "1.2.0") >= {"new-tool-without-case"}


def test_the_figures_of_every_demo_come_out_of_the_stored_rows() -> None:
    first = seed()
    assert {found.state for found in Comparison.objects.all()} == {"COMPLETED"}
    assert passed("support-refund-agent", "1.2.4", "1.3.0") == (9, 6)
    assert passed("approved-refunds-agent", None, "1.0.0") == (0, 7)
    assert passed("approved-refunds-agent", "1.0.0", "1.1.0") == (7, 2)
    assert passed("approved-refunds-agent", "1.1.0", "1.1.1") == (2, 7)
    assert passed("approved-refunds-agent", "1.0.0", "0.1.0") == (7, 1)
    assert passed("reminder-agent", "1.0.0", "1.1.0") == (4, 0)
    assert passed("reminder-agent", "1.0.0", "1.2.0") == (4, 0)
    # Nine tasks, one ten times and eight three times; "usually" fails three of the ten.
    assert passed("top-up-agent", "1.0.0", "1.1.0") == (34, 0)
    assert passed("top-up-agent", "1.0.0", "1.2.0") == (34, 31)
    weekly = Case.objects.filter(
        run__comparison=comparison("top-up-agent", "1.0.0", "1.2.0"),
        run__side="CANDIDATE",
        pair__scenario_name="weekly-top-up",
    )
    assert (weekly.count(), weekly.filter(verdict="PASSED").count()) == (10, 7)
    assert decided() == OUTCOMES
    the_gate_says_why()
    assert all(verification(decision).holds for decision in GateDecision.objects.all())
    assert printed(first) == {
        "approved-refunds-agent 1.0.0 alone": "passed 7/7, gate: PASS",
        "approved-refunds-agent 1.1.0 against 1.0.0": "passed 7/7 -> 2/7, gate: BLOCK",
        "approved-refunds-agent 1.1.1 against 1.1.0": "passed 2/7 -> 7/7, gate: PASS",
        "approved-refunds-agent 0.1.0 against 1.0.0": "passed 7/7 -> 1/7, gate: BLOCK",
    }
    compared = Comparison.objects.count()
    again = seed()
    assert GateDecision.objects.count() == len(OUTCOMES) == compared
    assert Comparison.objects.count() == compared == again.count("known, COMPLETED")
    assert first.count("new, COMPLETED") == compared
    assert ": new" not in again
    assert set(Case.objects.values_list("run__model_kind", flat=True)) == {"deterministic-fake"}


def gate(candidate: str) -> tuple[int, dict[str, Any]]:
    """The exit status of the gate on one version alone, and its report."""
    printed, status = StringIO(), 0
    options = {"dataset": "approved-refunds@1", "policy": "approved-refunds", "format": "json"}
    with redirect_stdout(printed):
        try:
            call_command("gate", "approved-refunds-agent", candidate=candidate, **options)
        except SystemExit as ended:
            status = int(ended.code or 0)
    return status, json.loads(printed.getvalue())


def test_each_version_of_the_approved_refunds_alone_at_the_gate() -> None:
    seed("--demo", "approved_refunds", "--no-comparisons")
    ended = {version: gate(version) for version in ("1.0.0", "1.1.0", "1.1.1", "0.1.0")}
    assert {version: (status, report["counts"]["passed"]) for version, (status, report) in ended.items()} == {
        "1.0.0": (0, 7),
        "1.1.0": (3, 2),
        "1.1.1": (0, 7),
        "0.1.0": (3, 1),
    }
    fired = {rule["rule"]: rule["observations"] for rule in ended["1.1.0"][1]["rules"]}
    told = {one["case_id"]: one["observed"] for one in fired["critical-failure"]}
    assert "refunds[0].amount: expected 30, got 80" in told["AR-REGRESSION-01"]
    assert set(told) == {
        "AR-PATH-01",
        "AR-REGRESSION-01",
        "AR-MISUSE-01",
        "AR-CURRENCY-01",
        "AR-ACCOUNT-01",
    }


@pytest.mark.parametrize(
    ("demo", "agents"),
    [
        ("approved_refunds", {"approved-refunds-agent"}),
        ("reminders_and_topups", {"reminder-agent", "top-up-agent"}),
    ],
)
def test_one_demo_alone_can_be_loaded(demo: str, agents: set[str]) -> None:
    seed("--demo", demo, "--no-comparisons")
    assert set(AgentVersion.objects.values_list("agent__name", flat=True)) == agents
