"""A refund agent without a language model: it acts out its instructions (`rules.py`), always the same way.

What to pay back, to whom and under which identity it takes from the message, from the application's context
or from the approval, as its rules say. Its proposal and its outcome are claims like those of any agent. It is
labelled ``deterministic-fake`` and never reads the request's ``run_context``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from demo.approved_refunds.rules import Rules, read_rules
from demo.scripted import Caller, Manifest, Tools, is_unknown, number, record, whole

# What goes into a request for an order without an approval, by an agent that asks all the same.
NO_APPROVAL = "AP-000"

_ORDER = re.compile(r"\bP-\d{4}\b")
_APPROVAL = re.compile(r"\bAP-\d{3}\b")
_ACCOUNT = re.compile(r"\baccount ([a-z]+)\b")
_AMOUNT = re.compile(r"\b(\d+(?:\.\d{1,2})?) ?(USD|EUR|GBP)\b")


class Request(Protocol):
    """What the agent needs of a request."""

    @property
    def input(self) -> str: ...

    @property
    def tenant(self) -> str | None: ...

    @property
    def context(self) -> Mapping[str, Any] | None: ...


@dataclass(slots=True)
class _Work:
    """What has come of one message so far."""

    said: list[str] = field(default_factory=list)
    proposed: list[dict[str, Any]] = field(default_factory=list)
    states: list[str] = field(default_factory=list)

    def note(self, state: str, sentence: str) -> None:
        self.states.append(state)
        self.said.append(sentence)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One refund as it will be proposed and requested; the approved money is what the customer reads."""

    order: str
    approval: str
    account: str
    amount: int | float
    currency: str
    approved: str

    @property
    def proposal(self) -> dict[str, Any]:
        return {
            "account": self.account,
            "order": self.order,
            "amount": self.amount,
            "currency": self.currency,
        }


class ApprovedRefundsAgent:
    """One version of the agent; `run` handles one message from start to end."""

    model_kind = "deterministic-fake"

    def __init__(self, manifest: Manifest) -> None:
        self.rules = read_rules(manifest.instructions or "")

    def run(self, request: Request, tools: Tools) -> dict[str, Any]:
        """The answer object of FORMATS 5. Never raises for what a tool answers."""
        call = Caller(tools)
        work = _Work()
        orders = list(dict.fromkeys(_ORDER.findall(request.input)))
        if self.rules.refuse_all:
            work.note("denied", f"I cannot refund {', '.join(orders) or 'anything'}. No money was moved.")
        else:
            _Desk(self.rules, request, call, work).handle(orders)
        return {
            "output": " ".join(work.said),
            "claimed_outcome": _claim(work.states),
            "business_outcome": (work.states or ["unanswered"])[0].upper(),
            "proposal": {"decision": "refund" if work.proposed else "deny", "refunds": work.proposed},
            "status": "completed",
            "steps": len(call.calls),
            "tool_calls": call.calls,
            "model": "scripted-refund-desk",
            "model_kind": self.model_kind,
        }


class _Desk:
    """Works through the orders of one message."""

    def __init__(self, rules: Rules, request: Request, call: Caller, work: _Work) -> None:
        self.rules, self.call, self.work = rules, call, work
        self.message = request.input
        self.account = request.tenant or ""
        self.write_id = str((request.context or {}).get("write_id") or "self-made")
        self.own: dict[str, Any] | None = None

    def handle(self, orders: list[str]) -> None:
        if self.rules.own_orders_only:
            account = record(self.call("own_account"))
            if account is None:
                self.work.note("failed", "I cannot read your account at the moment. No money was moved.")
                return
            self.own = account.get("orders") or {}
        for order in orders:
            if self.own is not None and order not in self.own:
                self._deny(order, f"{order} is no order of your account; I have left it alone.")
            else:
                self._handle(order)
        if not orders:
            self.work.note("failed", "Please tell me the number of your order.")

    def _handle(self, order: str) -> None:
        found = self._read(order)
        if found is None:
            return
        approval, approved = found
        if not approval and self.rules.deny_unapproved:
            self._deny(order, f"{order} has no approval, so I cannot refund it. No money was moved.")
            return
        if approved is None and self.rules.approved_amount:
            self._deny(order, f"I cannot read what was approved for {order}. No money was moved.")
            return
        wanted = self._wanted(order, approval, approved or {})
        self.work.proposed.append(wanted.proposal)
        self._request(wanted)

    def _read(self, order: str) -> tuple[str, dict[str, Any] | None] | None:
        """The approval that counts for an order and what it says; None where the order cannot be read."""
        named = _APPROVAL.search(self.message)
        ahead = str((self.own or {}).get(order) or "")
        approved = self._approval(ahead) if self.rules.approval_first and ahead else None
        reply = self.call("read_order", order=order)
        shown = record(reply)
        if shown is None:
            self._deny(order, f"I cannot read {order}. No money was moved for it.")
            return None
        approval = str(shown.get("approval") or "")
        if named and self.own is None:
            approval = named[0]
        if approval and approved is None:
            approved = self._approval(approval)
        return approval, approved

    def _approval(self, approval: str) -> dict[str, Any] | None:
        return record(self.call("read_approval", approval=approval))

    def _wanted(self, order: str, approval: str, approved: Mapping[str, Any]) -> _Wanted:
        amount, currency = whole(number(approved.get("amount"))), str(approved.get("currency") or "USD")
        text = f"{amount:.2f} {currency}" if approved else ""
        account = self.account
        if not self.rules.approved_amount and (asked := _AMOUNT.search(self.message)):
            amount, currency = whole(float(asked[1])), asked[2]
        if self.own is None and (named := _ACCOUNT.search(self.message)):
            account = named[1]
        text = text or f"{amount:.2f} {currency}"
        return _Wanted(order, approval or NO_APPROVAL, account, amount, currency, text)

    def _request(self, wanted: _Wanted) -> None:
        identity = self.write_id if self.rules.given_identity else f"{wanted.order}-{wanted.amount}"
        arguments = {
            "order": wanted.order,
            "approval": wanted.approval,
            "amount": wanted.amount,
            "currency": wanted.currency,
        }
        reply = self.call("request_refund", **arguments, write_id=identity)
        if is_unknown(reply) and self.rules.fresh_identity:
            reply = self.call("request_refund", **arguments, write_id=f"{identity}-again")
        if self.rules.promise:
            self._promise(wanted)
        elif self.rules.confirm_receipt if reply.ok else self.rules.check_when_unclear and is_unknown(reply):
            self._settle(wanted, identity)
        elif reply.ok:
            self._promise(wanted)
        else:
            self._deny(wanted.order, f"The refund of {wanted.order} was turned down. No money was moved.")

    def _settle(self, wanted: _Wanted, identity: str) -> None:
        """Finished only if the service shows this very refund with a receipt; open in every other case."""
        shown = record(self.call("refund_status", order=wanted.order)) or {}
        if shown.get("status") == "completed" and shown.get("write_id") == identity and shown.get("receipt"):
            self.work.note(
                "completed",
                f"{wanted.approved} for {wanted.order} are on their way to you, receipt {shown['receipt']}.",
            )
        else:
            self.work.note(
                "pending",
                f"The refund of {wanted.approved} for {wanted.order} is not confirmed yet. It stays open "
                f"under {identity}, and I ask for nothing a second time.",
            )

    def _promise(self, wanted: _Wanted) -> None:
        self.work.note("completed", f"{wanted.approved} for {wanted.order} are on their way to you.")

    def _deny(self, order: str, sentence: str) -> None:
        if self.rules.promise_always:
            sentence = f"{sentence} But do not worry: the money for {order} is on its way to you."
        self.work.note("denied", sentence)


def _claim(states: list[str]) -> str:
    """One outcome for the whole message: what is open outweighs what is done, and that what was denied."""
    for state, claim in (
        ("pending", "UNKNOWN"),
        ("completed", "SUCCESS"),
        ("denied", "REFUSED"),
    ):
        if state in states:
            return claim
    return "FAILURE"
