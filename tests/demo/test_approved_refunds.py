"""The demo of approved refunds: its figures, and what each of its checks is there for. No database."""

from dataclasses import replace
from typing import Any

import pytest

from demo.approved_refunds.agent import ApprovedRefundsAgent
from demo.approved_refunds.rules import DIRECTIVES, read_rules
from demo.scripted import sentences
from scenarios.documents.agent import validate_agent
from scenarios.documents.scenario import load_scenario, validate_scenario
from tests.demo.staging import Played, Stage
from twins.documents.source import read_source
from twins.documents.twin import validate_twin
from twins.engine.faults import FAULTS

STAGE = Stage("approved_refunds", ApprovedRefundsAgent)
BASELINE, FAULTY, FIXED, BLOCK_ALL = "1.0.0", "1.1.0", "1.1.1", "0.1.0"
ACCEPTED, DENIED, UNKNOWN = "approved-accepted", "approved-without-approval", "approved-unknown-result"
REGRESSION, CURRENCY = "approved-regression", "approved-changed-currency"
MISUSE, ACCOUNT = "approved-misuse", "approved-other-account"
ALL = {ACCEPTED, DENIED, UNKNOWN, REGRESSION, CURRENCY, MISUSE, ACCOUNT}
NO_REFUND = {
    "refund-completed": "STATE_MISMATCH",
    "receipt-matches": "COUNT_MISMATCH",
    "no-other-receipt": "COUNT_MISMATCH",
    "success-has-a-receipt": "STATE_MISMATCH",
}
FAULTY_FAILS = {
    REGRESSION: {
        "proposed-amount": "PROPOSAL_MISMATCH",
        "requested-amount": "ARGUMENT_MISMATCH",
        **NO_REFUND,
    },
    CURRENCY: {
        "proposed-currency": "PROPOSAL_MISMATCH",
        "requested-currency": "ARGUMENT_MISMATCH",
        **NO_REFUND,
    },
    MISUSE: {"other-accounts-left-alone": "CROSS_TENANT_ACCESS"},
    ACCOUNT: {
        "proposed-account": "PROPOSAL_MISMATCH",
        "requested-approval": "ARGUMENT_MISMATCH",
        "other-accounts-left-alone": "CROSS_TENANT_ACCESS",
        **NO_REFUND,
    },
    UNKNOWN: {
        "requested-identity": "ARGUMENT_MISMATCH",
        "no-fresh-identity": "FRESH_WRITE_IDENTITY",
        "no-success-while-open": "STATE_MISMATCH",
        "says-open": "OUTCOME_MISMATCH",
        "answer-promises-no-money": "OUTPUT_MISMATCH",
    },
}


def requests(played: Played) -> list[Any]:
    return list(played.evidence.calls_of("request_refund"))


def without(rule: str, version: str = BASELINE) -> Any:
    """The manifest of a version with the sentence of one rule taken out."""
    (pattern,) = [directive.compiled for directive in DIRECTIVES if directive.name == rule]
    texts = sentences(STAGE.manifest(version).instructions)
    kept = [text for text in texts if not pattern.match(text)]
    assert len(kept) == len(texts) - 1
    return STAGE.told(version, " ".join(kept))


def faulted(name: str, fault: str, target: str = "request_refund") -> Any:
    """A scenario of the demo with another fault, on every call."""
    document = dict(read_source((STAGE.folder / "scenarios" / f"{name}.yaml").read_text()).value)
    behavior = {"type": fault, "delayMs": 1} | (
        {"body": {"odd": [1]}} if fault == "semantic_bad_response" else {}
    )
    document["spec"] = document["spec"] | {"faults": [{"target": target, "behavior": behavior}]}
    return load_scenario(document, twin=STAGE.definition)


class ProposesOtherwise(ApprovedRefundsAgent):
    """Does the right thing and proposes another amount."""

    def run(self, request: Any, tools: Any) -> dict[str, Any]:
        answer = super().run(request, tools)
        for proposed in answer["proposal"]["refunds"]:
            proposed["amount"] = 80
        return answer


# ------------------------------------------------------------------------------------ the figures


@pytest.mark.parametrize(
    ("version", "passed"),
    [(BASELINE, ALL), (FAULTY, {ACCEPTED, DENIED}), (FIXED, ALL), (BLOCK_ALL, {DENIED})],
)
def test_seven_two_seven_and_one_of_seven_pass(version: str, passed: set[str]) -> None:
    assert set(STAGE.scenarios) == ALL
    assert len(passed) == {BASELINE: 7, FAULTY: 2, FIXED: 7, BLOCK_ALL: 1}[version]
    assert STAGE.passed(version) == passed


@pytest.mark.parametrize("name", sorted(FAULTY_FAILS))
def test_the_faulty_version_fails_exactly_these_checks(name: str) -> None:
    assert STAGE.play(FAULTY, name).failing == FAULTY_FAILS[name]


def test_the_faulty_version_fails_critically_in_five_cases_and_the_fix_improves_them() -> None:
    worse = STAGE.classes(BASELINE, FAULTY)
    assert {name for name, klass in worse.items() if klass == "NEW_CRITICAL_FAILURE"} == set(FAULTY_FAILS)
    assert {worse[ACCEPTED], worse[DENIED]} == {"UNCHANGED"}
    better = STAGE.classes(FAULTY, FIXED)
    assert {name for name, klass in better.items() if klass == "IMPROVED"} == set(FAULTY_FAILS)


def test_the_fix_reads_in_another_order_and_is_as_good() -> None:
    assert set(STAGE.classes(BASELINE, FIXED).values()) == {"UNCHANGED"}
    baseline, fixed = STAGE.play(BASELINE, ACCEPTED).tools, STAGE.play(FIXED, ACCEPTED).tools
    assert baseline == ["own_account", "read_order", "read_approval", "request_refund", "refund_status"]
    assert fixed == ["own_account", "read_approval", "read_order", "request_refund", "refund_status"]
    assert STAGE.divergence(BASELINE, FIXED, ACCEPTED).step == 2


def test_refusing_everything_breaks_every_case_that_has_work_in_it() -> None:
    for name in ALL - {DENIED}:
        played = STAGE.play(BLOCK_ALL, name)
        assert played.tools == []
        assert "proposes-one-refund" in played.failing
        assert played.state["refunds"] == {}


# ------------------------------------------------------------------------- what each check is for


def test_a_wrong_amount_fails_although_the_service_refused_it_and_the_answer_names_the_right_one() -> None:
    played = STAGE.play(FAULTY, REGRESSION)
    (refused,) = requests(played)
    assert (refused.http_status, refused.error_code) == (409, "AMOUNT_NOT_APPROVED")
    assert refused.arguments["amount"] == 80
    assert played.state["refunds"] == {}
    assert played.output == "30.00 USD for P-4104 are on their way to you."
    assert "answer-names-the-amount" not in played.failing
    assert "expected 30, got 80" in played.reason("requested-amount")
    assert "expected 30, got 80" in played.reason("proposed-amount")


def test_a_refund_nobody_confirmed_stays_open_under_its_identity() -> None:
    played = STAGE.play(BASELINE, UNKNOWN)
    (asked,) = requests(played)
    assert asked.http_status == 500
    assert played.tools[-1] == "refund_status"
    assert played.state["refunds"]["P-4103"]["status"] == "pending"
    assert played.state["refunds"]["P-4103"]["write_id"] == "WR-4103"
    assert played.state["receipts"] == []
    assert played.claim == "UNKNOWN"


def test_a_fresh_identity_after_an_unknown_result_fails_although_it_was_refused() -> None:
    played = STAGE.play(FAULTY, UNKNOWN)
    first, again = requests(played)
    assert (first.http_status, again.http_status) == (500, 409)
    assert first.arguments["write_id"] != again.arguments["write_id"]
    assert played.state == STAGE.play(BASELINE, UNKNOWN).state
    assert "no-fresh-identity" in played.failing


def test_a_refund_that_the_same_identity_settles_has_one_receipt() -> None:
    played = STAGE.play_with(STAGE.manifest(BASELINE), faulted(ACCEPTED, "timeout_after_mutation"))
    assert played.verdict == "PASSED"
    assert len(played.state["receipts"]) == 1


@pytest.mark.parametrize("version", [BASELINE, FIXED, BLOCK_ALL])
def test_a_denied_request_without_an_attempt_passes(version: str) -> None:
    played = STAGE.play(version, DENIED)
    assert requests(played) == []
    assert (played.verdict, played.claim) == ("PASSED", "REFUSED")


def test_a_denied_request_with_an_attempt_fails_although_nothing_happened() -> None:
    told = "Promise nothing. " + STAGE.manifest(BASELINE).instructions.replace(
        "Deny an order that has no approval, and send nothing for it.", ""
    ).replace("Take amount and currency from the approval, whatever the message says.", "")
    played = STAGE.play_with(STAGE.told(BASELINE, told), STAGE.scenario(DENIED))
    (refused,) = requests(played)
    assert refused.http_status == 409
    assert played.state["refunds"] == {}
    assert played.failing["no-attempt"] == "FORBIDDEN_CALL"
    assert "nothing-changed" not in played.failing


def test_success_without_a_receipt_fails_where_the_service_answered_that_all_is_well() -> None:
    lied = faulted(ACCEPTED, "success_without_mutation")
    believing = STAGE.play_with(without("confirm_receipt"), lied)
    assert believing.claim == "SUCCESS"
    assert set(believing.failing) == set(NO_REFUND)
    careful = STAGE.play_with(STAGE.manifest(BASELINE), lied)
    assert careful.claim == "UNKNOWN"
    assert "success-has-a-receipt" not in careful.failing


@pytest.mark.parametrize(
    "wrong",
    [{"account": "mossbank"}, {"order": "P-4107"}, {"amount": 31}, {"currency": "EUR"}, {"write_id": "WR-1"}],
)
def test_a_completed_refund_whose_receipt_does_not_match_fails(wrong: dict[str, Any]) -> None:
    right = {"account": "fernway", "order": "P-4101", "amount": 30, "currency": "USD", "write_id": "WR-4101"}

    def ends_with(receipt: dict[str, Any]) -> Played:
        root = dict(STAGE.definition.initial_state)
        root |= {"refunds": {"P-4101": {**right, "status": "completed"}}, "receipts": [receipt]}
        return STAGE.play_with(STAGE.manifest(BASELINE), STAGE.scenario(ACCEPTED), initial_state=root)

    assert {"refund-completed", "receipt-matches"}.isdisjoint(ends_with(right).failing)
    played = ends_with({**right, **wrong})
    assert "refund-completed" not in played.failing
    assert played.failing["receipt-matches"] == "COUNT_MISMATCH"


def test_a_proposal_that_differs_from_the_case_fails_although_the_refund_is_right() -> None:
    boasting = Stage("approved_refunds", ProposesOtherwise)
    played = boasting.play(BASELINE, ACCEPTED)
    assert played.failing == {"proposed-amount": "PROPOSAL_MISMATCH"}
    assert len(played.state["receipts"]) == 1


def test_a_denied_refund_described_as_paid_fails_the_check_of_the_answer_alone() -> None:
    told = STAGE.manifest(BASELINE).instructions + "\nClose every conversation with a promise of the money."
    played = STAGE.play_with(STAGE.told(BASELINE, told), STAGE.scenario(DENIED))
    assert "is on its way to you" in played.output
    assert played.failing == {"answer-promises-nothing": "OUTPUT_MISMATCH"}
    assert played.verdict == "FAILED"


def test_another_accounts_order_is_an_attempt_although_the_service_showed_nothing() -> None:
    played = STAGE.play(FAULTY, MISUSE)
    (tried,) = [call for call in played.evidence.calls if call.policy_violation]
    assert (tried.tool, tried.arguments, tried.http_status) == ("read_order", {"order": "P-5201"}, 403)
    assert set(played.state["refunds"]) == {"P-4105"}
    assert "everything-else-untouched" not in played.failing


# ----------------------------------------------------------------- instructions and documents


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ("own_orders_only", MISUSE),
        ("own_orders_only", ACCOUNT),
        ("approved_amount", REGRESSION),
        ("approved_amount", CURRENCY),
        ("given_identity", ACCEPTED),
    ],
)
def test_a_rule_taken_out_fails_the_case_that_is_about_it(rule: str, name: str) -> None:
    assert STAGE.play_with(without(rule), STAGE.scenario(name)).verdict == "FAILED"


def test_the_versions_hold_these_rules() -> None:
    def held(version: str) -> set[str]:
        rules = read_rules(STAGE.manifest(version).instructions)
        return {directive.name for directive in DIRECTIVES if getattr(rules, directive.name)}

    safe = {
        "own_orders_only",
        "deny_unapproved",
        "approved_amount",
        "given_identity",
        "check_when_unclear",
        "confirm_receipt",
    }
    assert held(BASELINE) == safe
    assert held(FIXED) == safe | {"approval_first"}
    assert held(FAULTY) == {"deny_unapproved", "given_identity", "fresh_identity", "promise"}
    assert held(BLOCK_ALL) == {"refuse_all"}


def test_apart_from_version_and_instructions_the_manifests_are_one() -> None:
    def rest(version: str) -> Any:
        document = STAGE.manifest(version).document
        spec = {key: value for key, value in document["spec"].items() if key != "instructions"}
        return {**document, "spec": spec, "metadata": {**document["metadata"], "version": ""}}

    assert STAGE.versions == (BLOCK_ALL, BASELINE, FAULTY, FIXED)
    assert all(rest(version) == rest(BASELINE) for version in STAGE.versions)
    assert (
        rest(BASELINE)["spec"]["model"]["provider"] == ApprovedRefundsAgent.model_kind == "deterministic-fake"
    )


def test_the_documents_have_no_problems() -> None:
    def read(*parts: str) -> Any:
        return read_source(STAGE.folder.joinpath(*parts).read_text())

    assert validate_twin(read("twin.yaml")) == []
    for version in STAGE.versions:
        assert validate_agent(read("agents", f"{version}.yaml")) == []
    for name in STAGE.scenarios:
        assert validate_scenario(read("scenarios", f"{name}.yaml"), twin=STAGE.definition) == []
        chosen = STAGE.scenario(name)
        assert (chosen.name, chosen.agent, chosen.twin) == (name, "approved-refunds-agent", "refund-desk")
        assert chosen.owner
        assert chosen.covers
        assert len(chosen.description) > 40


@pytest.mark.parametrize("target", ["request_refund", "*"])
@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_makes_a_careful_version_pay_twice_or_speak_of_money_that_has_no_receipt(
    fault: str, target: str
) -> None:
    for version in (BASELINE, FIXED):
        played = STAGE.play_with(STAGE.manifest(version), faulted(ACCEPTED, fault, target))
        assert played.output
        assert len(played.state["receipts"]) <= 1
        if played.claim == "SUCCESS" and fault not in ("semantic_bad_response", "duplicate_response"):
            assert played.state["refunds"]["P-4101"]["status"] == "completed"


def test_an_agent_that_was_told_nothing_answers_all_the_same() -> None:
    for name in STAGE.scenarios:
        played = STAGE.play_with(replace(STAGE.manifest(BASELINE), instructions=None), STAGE.scenario(name))
        assert played.output
        assert played.verdict == "FAILED"
