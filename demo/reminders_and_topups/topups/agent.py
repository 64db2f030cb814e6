"""A wallet agent without a language model: it acts out its instructions (`rules.py`).

It does the same each time, but for a rule it was given with "usually": whether that one holds in a run is
drawn from the run's seed (docs/decisions/1701). Labelled ``deterministic-fake``; nothing but the seed is read
of the request's ``run_context``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from demo.reminders_and_topups.topups.rules import holds, read_rules
from demo.scripted import Caller, Manifest, Tools, is_unknown, number, record, whole

_BILL = re.compile(r"\bBILL-\d+\b")
_ACCOUNT = re.compile(r"\b[A-Z]{2}-\d{4}-\d{3}\b")
_AMOUNT = re.compile(r"\b(\d+(?:\.\d{1,2})?) ?USD\b")
_ORDER = re.compile(r"\bpay (\d+(?:\.\d{1,2})?) USD to ([A-Z]{2}-\d{4}-\d{3})\b")
PHONE, STRANGER = "PAY-PHONE", "somebody"


class RunContext(Protocol):
    """What the agent needs of the run it is in."""

    @property
    def seed(self) -> int | None: ...


class Request(Protocol):
    """What the agent needs of a request."""

    @property
    def input(self) -> str: ...

    @property
    def context(self) -> Mapping[str, Any] | None: ...

    @property
    def run_context(self) -> RunContext: ...


@dataclass(frozen=True, slots=True)
class _Payment:
    """One payment as it is meant."""

    payee: str
    account: str
    amount: int | float
    reference: str


class _StoppedError(Exception):
    """The payment ends here: what to say, and the claim."""

    def __init__(self, output: str, claim: str) -> None:
        super().__init__(output)
        self.output, self.claim = output, claim


class TopUpAgent:
    """One version of the agent; `run` handles one message from start to end."""

    model_kind = "deterministic-fake"

    def __init__(self, manifest: Manifest) -> None:
        self.rules = read_rules(manifest.instructions or "")

    def run(self, request: Request, tools: Tools) -> dict[str, Any]:
        """The answer object of FORMATS 5. Never raises for what a tool answers."""
        call = Caller(tools)
        errand = _Errand(self, request, call)
        try:
            output, claim = errand.carry_out()
        except _StoppedError as stopped:
            output, claim = stopped.output, stopped.claim
        return {
            "output": output,
            "claimed_outcome": claim,
            "proposal": errand.proposal,
            "status": "completed",
            "steps": len(call.calls),
            "tool_calls": call.calls,
            "model": "scripted-wallet",
            "model_kind": self.model_kind,
        }


class _Errand:
    """One message being handled."""

    def __init__(self, agent: TopUpAgent, request: Request, call: Caller) -> None:
        self.rules, self.call = agent.rules, call
        self.message, self.context = request.input, request.context or {}
        self.has_key = holds(self.rules.key, request.run_context.seed or 0, "a key")
        self.proposal: dict[str, Any] | None = None
        self.payees: dict[str, Any] | None = None

    def carry_out(self) -> tuple[str, str]:
        payment = self._wanted()
        self.proposal = {"payee": payment.payee, "account": payment.account, "amount": payment.amount}
        self._check_before(payment)
        if self.rules.pin and not self.call("check_pin", pin=str(self.context.get("pin", ""))).ok:
            raise _StoppedError("The PIN is not right, so no money was moved.", "REFUSED")
        if self.rules.consent:
            about = {"payee": payment.payee, "account": payment.account, "amount": payment.amount}
            if not self.call("ask_consent", **about).ok:
                raise _StoppedError("Without your yes I move no money.", "REFUSED")
        if not self._pay(payment):
            raise _StoppedError("The payment did not go through. Please look into your ledger.", "UNKNOWN")
        return f"Done: {payment.amount:.2f} USD is paid to {payment.payee}.", "SUCCESS"

    def _wanted(self) -> _Payment:
        """What is to be paid, by the message and, for a bill, by the bill."""
        reference = str(self.context.get("reference") or "payment")
        if found := _BILL.search(self.message):
            bill = record(self.call("read_bill", bill=found[0]))
            if bill is None:
                raise _StoppedError(f"I cannot read {found[0]}. No money was moved.", "FAILURE")
            self._obey(str(bill.get("note") or ""))
            amount = whole(number(bill.get("amount")))
            return _Payment(str(bill.get("payee")), str(bill.get("account")), amount, found[0])
        asked = _AMOUNT.search(self.message)
        if asked is None:
            raise _StoppedError("How much shall I pay?", "UNKNOWN")
        named = _ACCOUNT.search(self.message)
        payee, account = (STRANGER, named[0]) if named else (PHONE, "")
        if not account:
            account = self._listed(PHONE)
        return _Payment(payee, account, whole(float(asked[1])), reference)

    def _listed(self, payee: str) -> str:
        """The account that the list shows for a payee."""
        if self.payees is None:
            self.payees = record(self.call("list_payees")) or {}
        return str((self.payees.get(payee) or {}).get("account") or "unknown")

    def _obey(self, note: str) -> None:
        """What a document orders is done, if no rule is against it."""
        if not self.rules.notes_are_text and (ordered := _ORDER.search(note)):
            amount = whole(float(ordered[1]))
            self._pay(_Payment(STRANGER, ordered[2], amount, f"note-{ordered[2]}"))

    def _check_before(self, payment: _Payment) -> None:
        if self.rules.allowlist and self._listed(payment.payee) != payment.account:
            self._hand_over(f"{payment.account} is not on the list for {payment.payee}")
        if self.rules.cap:
            wallet = record(self.call("read_wallet")) or {}
            if payment.amount > number(wallet.get("cap")):
                self._hand_over(f"{payment.amount:.2f} USD is more than may be paid at once")
        if self.rules.paid_once:
            ledger = record(self.call("read_ledger"))
            if ledger is None:
                raise _StoppedError("I cannot read the ledger, so no money was moved.", "FAILURE")
            for entry in ledger.values():
                if isinstance(entry, dict) and entry.get("reference") == payment.reference:
                    raise _StoppedError(
                        f"The ledger shows {payment.reference} already. I have not sent it again.", "REFUSED"
                    )

    def _hand_over(self, reason: str) -> None:
        done = self.call("hand_over", reason=f"{reason}.").ok
        raise _StoppedError(
            f"A person has to decide: {reason}. No money was moved.", "ESCALATED" if done else "FAILURE"
        )

    def _pay(self, payment: _Payment) -> bool:
        arguments: dict[str, Any] = {
            "payee": payment.payee,
            "account": payment.account,
            "amount": payment.amount,
            "reference": payment.reference,
        }
        if self.has_key:
            arguments["key"] = f"{payment.reference}-{payment.account}-{payment.amount:.2f}"
        reply = self.call("pay", **arguments)
        if is_unknown(reply) and self.rules.repeat:
            reply = self.call("pay", **arguments)
        return reply.ok
