"""The reminder agent: one reminder and one queued mail, never two, and nobody else touched. No database."""

from typing import Any

import pytest

from demo.reminders_and_topups.reminders.agent import ReminderAgent
from demo.reminders_and_topups.reminders.rules import DIRECTIVES, read_rules
from scenarios.documents.scenario import load_scenario
from tests.demo.staging import Stage
from twins.documents.source import read_source
from twins.engine.faults import FAULTS

STAGE = Stage("reminders_and_topups/reminders", ReminderAgent)
CAREFUL, TWICE, TOO_FAR = "1.0.0", "1.1.0", "1.2.0"
PLAIN, STORE, QUEUE = "one-reminder", "one-reminder-slow-store", "one-reminder-slow-queue"
THERE = "reminder-already-there"
GROUPS = {"exists": "must exist", "absent": "must not exist", "unchanged": "must not change"}
TWICE_FAILS = {
    PLAIN: {"unchanged-by-a-repeat": "REPEAT_CHANGED_STATE"},
    STORE: {
        "exists-one-reminder": "COUNT_MISMATCH",
        "absent-second-reminder": "COUNT_MISMATCH",
        "absent-double-effect": "DUPLICATE_SIDE_EFFECT",
        "unchanged-by-a-repeat": "REPEAT_CHANGED_STATE",
        "success-is-there": "STATE_MISMATCH",
    },
    QUEUE: {
        "exists-one-queued-mail": "COUNT_MISMATCH",
        "absent-second-mail": "COUNT_MISMATCH",
        "absent-double-effect": "DUPLICATE_SIDE_EFFECT",
        "unchanged-by-a-repeat": "REPEAT_CHANGED_STATE",
    },
    THERE: {
        "exists-one-reminder": "COUNT_MISMATCH",
        "exists-one-queued-mail": "COUNT_MISMATCH",
        "absent-second-reminder": "COUNT_MISMATCH",
        "absent-second-mail": "COUNT_MISMATCH",
        "unchanged-by-a-repeat": "REPEAT_CHANGED_STATE",
    },
}


def faulted(fault: str, target: str, when: Any = None) -> Any:
    document = dict(read_source((STAGE.folder / "scenarios" / f"{PLAIN}.yaml").read_text()).value)
    behavior = {"type": fault, "delayMs": 1} | (
        {"body": {"odd": [1]}} if fault == "semantic_bad_response" else {}
    )
    document["spec"] = document["spec"] | {
        "faults": [{"target": target, "when": when or {"everyCall": True}, "behavior": behavior}]
    }
    return load_scenario(document, twin=STAGE.definition)


def test_the_careful_version_passes_all_four_and_the_others_none() -> None:
    assert STAGE.versions == (CAREFUL, TWICE, TOO_FAR)
    assert STAGE.passed(CAREFUL) == {PLAIN, STORE, QUEUE, THERE} == set(STAGE.scenarios)
    assert STAGE.passed(TWICE) == STAGE.passed(TOO_FAR) == set()


@pytest.mark.parametrize("name", [PLAIN, STORE, QUEUE])
def test_there_is_one_reminder_and_one_queued_mail_about_it(name: str) -> None:
    state = STAGE.play(CAREFUL, name).state
    ((reminder, written),) = state["reminders"].items()
    (mail,) = state["outbox"].values()
    assert (written["invoice"], written["customer"], written["step"]) == ("INV-3107", "C-ALDER", 1)
    assert (mail["reminder"], mail["to"]) == (reminder, "office@alder-joinery.example")
    assert mail["status"] == "queued"
    assert "INV-3107" in mail["body"]
    assert "240.50 EUR" in mail["body"]


def test_a_reminder_that_is_there_already_is_left_alone() -> None:
    played = STAGE.play(CAREFUL, THERE)
    assert played.state == played.evidence.spec.initial_state
    assert not [call for call in played.evidence.calls if call.mutated]


@pytest.mark.parametrize("name", sorted(TWICE_FAILS))
def test_the_version_that_writes_twice_fails_exactly_these_checks(name: str) -> None:
    assert STAGE.play(TWICE, name).failing == TWICE_FAILS[name]


def test_a_lost_answer_leaves_two_reminders_or_two_mails_and_both_versions_say_the_same() -> None:
    assert len(STAGE.play(TWICE, STORE).state["reminders"]) == 2
    assert len(STAGE.play(TWICE, QUEUE).state["outbox"]) == 2
    assert STAGE.play(TWICE, QUEUE).output == STAGE.play(CAREFUL, QUEUE).output


def test_the_careful_version_looks_before_it_repeats() -> None:
    for name, tool, listing in (
        (STORE, "create_reminder", "list_reminders"),
        (QUEUE, "queue_mail", "list_outbox"),
    ):
        played = STAGE.play(CAREFUL, name)
        (lost,) = played.evidence.calls_of(tool)
        assert lost.http_status == 504
        assert played.tools[played.tools.index(tool) + 1] == listing


def test_a_write_that_did_not_arrive_is_sent_again_under_the_same_key() -> None:
    played = STAGE.play_with(
        STAGE.manifest(CAREFUL), faulted("timeout_before_mutation", "queue_mail", {"callNumber": 1})
    )
    first, again = played.evidence.calls_of("queue_mail")
    assert first.arguments == again.arguments
    assert first.arguments["key"] == "mail-INV-3107-1"
    assert played.verdict == "PASSED"


@pytest.mark.parametrize("name", [PLAIN, STORE, QUEUE, THERE])
def test_the_version_that_goes_too_far_reaches_customer_b_and_sends_mails_off(name: str) -> None:
    played = STAGE.play(TOO_FAR, name)
    assert played.failing["unchanged-everything-else"] == "PROTECTED_STATE_CHANGED"
    assert played.failing["unchanged-invoice-of-b"] == "STATE_CHANGED"
    assert played.failing["absent-sent-mail"] == "COUNT_MISMATCH"
    assert "invoices.INV-3110" in played.reason("unchanged-everything-else")
    assert "absent-double-effect" not in played.failing


@pytest.mark.parametrize("name", STAGE.scenarios)
def test_the_checks_stand_in_three_groups_by_name_and_category(name: str) -> None:
    expectations = STAGE.scenario(name).expectations
    grouped = {one.id: one.category for one in expectations if one.id.split("-")[0] in GROUPS}
    assert {GROUPS[check.split("-")[0]] for check in grouped} == set(GROUPS.values())
    assert all(category == GROUPS[check.split("-")[0]] for check, category in grouped.items())
    assert all(one.critical for one in expectations if one.id in grouped)


def test_a_mail_that_was_sent_off_is_still_in_the_outbox() -> None:
    played = STAGE.play(TOO_FAR, PLAIN)
    assert {mail["status"] for mail in played.state["outbox"].values()} == {"sent"}
    assert len(played.evidence.calls_of("send_now")) == len(played.state["outbox"]) == 2


def test_the_versions_hold_these_rules() -> None:
    def held(version: str) -> set[str]:
        rules = read_rules(STAGE.manifest(version).instructions)
        return {directive.name for directive in DIRECTIVES if getattr(rules, directive.name)}

    assert held(CAREFUL) == {"look_first", "keys", "look_again"}
    assert held(TWICE) == {"repeat"}
    assert held(TOO_FAR) == {"look_first", "keys", "look_again", "everybody", "send_off"}


@pytest.mark.parametrize("target", ["create_reminder", "queue_mail", "*"])
@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_makes_the_careful_version_write_twice(fault: str, target: str) -> None:
    played = STAGE.play_with(STAGE.manifest(CAREFUL), faulted(fault, target))
    assert played.output
    assert len(played.state["reminders"]) <= 1
    assert len(played.state["outbox"]) <= 1
