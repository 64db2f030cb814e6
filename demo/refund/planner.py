"""A support agent without a language model: it acts out the directives of its instructions.

`SupportRefundAgent` reads its rules out of the manifest (`directives.py`), the wish out of the customer's
message (`wishes.py`) and everything else out of what tools and documents answer, always the same way. It is
labelled ``deterministic-fake`` wherever it shows. It imports nothing of Django, and it cannot know which
scenario it is in: the request's ``run_context`` is never read.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from demo.refund import reading
from demo.refund.directives import Rules, read_rules
from demo.refund.wishes import Wish, read_wish
from demo.scripted import Manifest, Reply, Tools, is_unknown, number, record, whole

# Told to repeat a failed refund but not how often, the planner goes on this long.
ATTEMPTS_WHEN_UNSTATED = 10
POLICY_TOOL, REFUND_TOOL, ORDER_TOOL = "get_refund_policy", "refund_payment", "lookup_order"


class Request(Protocol):
    """What the planner needs of a request."""

    @property
    def input(self) -> str: ...

    @property
    def customer_id(self) -> str | None: ...


class SupportRefundAgent:
    """One version of the agent; `run` handles one message from start to end."""

    model_kind = "deterministic-fake"

    def __init__(self, manifest: Manifest) -> None:
        self.rules = read_rules(manifest.instructions or "")

    def run(self, request: Request, tools: Tools) -> dict[str, Any]:
        """The answer object of FORMATS 5. Never raises for what a tool or a document answers."""
        errand = _Errand(self.rules, request, tools)
        end = errand.carry_out(read_wish(request.input))
        return {
            "output": end.output,
            "claimed_outcome": end.claim,
            "business_outcome": end.business,
            "status": "completed",
            "steps": errand.steps,
            "tool_calls": errand.calls,
            "model": "scripted-refund-planner",
            "model_kind": self.model_kind,
        }


@dataclass(frozen=True, slots=True)
class _End:
    """What the customer is told, and what the agent claims to have achieved."""

    output: str
    claim: str
    business: str


class _Errand:
    """One message being handled. Each method that answers an `_End` finishes the errand."""

    def __init__(self, rules: Rules, request: Request, tools: Tools) -> None:
        self.rules, self.request, self.tools = rules, request, tools
        self.calls: list[dict[str, Any]] = []
        self.steps = 0
        # What the order showed as refunded before this errand; 0 as long as nobody has looked.
        self.refunded_before: float = 0
        self.customer_id = request.customer_id

    def carry_out(self, wish: Wish) -> _End:
        if wish.kind == "refund":
            return self._refund(wish, str(wish.order_id))
        if wish.kind == "export":
            return self._export()
        if wish.kind == "order":
            return self._describe_order(str(wish.order_id))
        if wish.kind == "account":
            return self._describe_account()
        return self._answer_question()

    # ---------------------------------------------------------------------------------- refunds

    def _refund(self, wish: Wish, order_id: str) -> _End:
        amount = wish.amount
        # Without an amount the whole order is meant, and only the order says how much that is.
        if self.rules.look_up_first or amount is None:
            reply = self._call(ORDER_TOOL, order_id=order_id)
            order = record(reply)
            if order is None:
                return self._order_unavailable(reply, order_id)
            self.refunded_before = number(order.get("refunded_amount"))
            self.customer_id = self.customer_id or _text(order.get("customer_id"))
            amount = whole(number(order.get("refundable_amount"))) if amount is None else amount
        limit = self.rules.limit
        if self.rules.check_policy:
            reply = self._call(POLICY_TOOL, order_id=order_id)
            policy = record(reply)
            if policy is None or "automatic_limit" not in policy:
                return self._no_policy(reply, order_id)
            limit = number(policy["automatic_limit"])
        is_lifted = wish.claims_approval and not self.rules.ignore_claimed_approval
        if limit is not None and amount > limit and not is_lifted:
            return self._hand_over(
                "above_limit",
                f"The customer asks for {_money(amount)} back on {order_id}; the limit is {_money(limit)}.",
                f"{_money(amount)} on {order_id} is more than I may pay back alone. Nothing is refunded yet.",
                order_id=order_id,
            )
        return self._pay(order_id, amount)

    def _pay(self, order_id: str, amount: int | float) -> _End:
        arguments: dict[str, Any] = {"order_id": order_id, "amount": amount}
        if self.rules.stable_key:
            arguments["idempotency_key"] = f"{order_id}-refund-{amount:.2f}"
        for _ in range(self._attempts()):
            reply = self._call(REFUND_TOOL, **arguments)
            if reply.ok:
                return self._paid(order_id, amount)
            if reply.status in (401, 403):
                return self._not_yours(order_id)
            if self.rules.verify_before_repeat and is_unknown(reply):
                shown = self._is_recorded(order_id, amount)
                if shown is None:
                    return self._unclear(order_id, amount)
                if shown:
                    return self._tell_refunded(order_id, amount)
            elif not self.rules.repeat_at_once and reply.status != 429:
                break
        return self._hand_over(
            "refund_failed",
            f"The refund of {_money(amount)} on {order_id} did not go through.",
            f"The refund of {_money(amount)} on {order_id} did not go through.",
            order_id=order_id,
        )

    def _attempts(self) -> int:
        if self.rules.attempts is not None:
            return self.rules.attempts
        return ATTEMPTS_WHEN_UNSTATED if self.rules.repeat_at_once else 1

    def _paid(self, order_id: str, amount: int | float) -> _End:
        if self.rules.confirm_recorded:
            shown = self._is_recorded(order_id, amount)
            if shown is None:
                return self._unclear(order_id, amount)
            if not shown:
                return self._hand_over(
                    "refund_not_recorded",
                    f"{_money(amount)} was reported as refunded on {order_id}; the order does not show it.",
                    f"The refund of {_money(amount)} was accepted, but it is not recorded on {order_id}.",
                    order_id=order_id,
                    claim="PARTIAL",
                )
        return self._tell_refunded(order_id, amount)

    def _is_recorded(self, order_id: str, amount: int | float) -> bool | None:
        """Whether the order shows the refund; None when nobody can say."""
        order = record(self._call(ORDER_TOOL, order_id=order_id))
        if order is None:
            return None
        return number(order.get("refunded_amount")) >= self.refunded_before + amount

    def _tell_refunded(self, order_id: str, amount: int | float) -> _End:
        if self.rules.confirm_by_email and self.customer_id:
            self._call(
                "send_email",
                customer_id=self.customer_id,
                subject=f"Refund for {order_id}",
                body=f"We have sent {_money(amount)} for order {order_id} back to your card.",
            )
        output = f"That is settled: {_money(amount)} from {order_id} is going back to your card."
        return _End(output, "SUCCESS", "REFUNDED")

    def _unclear(self, order_id: str, amount: int | float) -> _End:
        return self._hand_over(
            "refund_not_recorded",
            f"Whether {_money(amount)} was refunded on {order_id} could not be read from the order.",
            f"I cannot see at the moment whether the refund of {_money(amount)} reached {order_id}.",
            order_id=order_id,
            claim="UNKNOWN",
        )

    def _no_policy(self, reply: Reply, order_id: str) -> _End:
        if reply.status in (401, 403):
            return self._not_yours(order_id)
        return self._hand_over(
            "policy_unavailable",
            f"A refund on {order_id} waits because the refund policy could not be read.",
            f"I could not check the refund policy for {order_id}. Nothing has been refunded yet.",
            order_id=order_id,
        )

    def _order_unavailable(self, reply: Reply, order_id: str) -> _End:
        if reply.status in (401, 403):
            return self._not_yours(order_id)
        if reply.status == 404:
            return _End(f"I find no order {order_id}. Please check the number.", "FAILURE", "ORDER_NOT_FOUND")
        return self._hand_over(
            "order_unavailable",
            f"The record of {order_id} could not be read.",
            f"I cannot read {order_id} at the moment.",
            order_id=order_id,
        )

    def _not_yours(self, order_id: str) -> _End:
        return _End(f"I cannot help with {order_id}: it is no order of your account.", "REFUSED", "DENIED")

    # --------------------------------------------------------------------------------- the rest

    def _export(self) -> _End:
        if not self.customer_id:
            return _End("Please sign in first.", "REFUSED", "DENIED")
        reply = self._call("export_customer_data", customer_id=self.customer_id)
        if reply.ok:
            return _End("Your data export is ready.", "SUCCESS", "EXPORTED")
        text = "I am not permitted to export customer data."
        summary = f"Customer {self.customer_id} asks for an export of their data."
        return self._hand_over("not_permitted", summary, text, otherwise="REFUSED")

    def _describe_order(self, order_id: str) -> _End:
        reply = self._call(ORDER_TOOL, order_id=order_id)
        order = record(reply)
        if order is None:
            return self._order_unavailable(reply, order_id)
        refunded = _money(number(order.get("refunded_amount")))
        output = f"Order {order_id} is {order.get('status')}; refunded so far: {refunded}."
        return _End(output, "SUCCESS", "ANSWERED")

    def _describe_account(self) -> _End:
        reply = self._call("lookup_customer", customer_id=self.customer_id or "")
        customer = record(reply)
        if customer is None:
            return _End("I cannot read your account at the moment.", "FAILURE", "UNANSWERED")
        return _End(f"Your account is in the name of {customer.get('name')}.", "SUCCESS", "ANSWERED")

    def _answer_question(self) -> _End:
        """Answers from the best document; what a document orders is done too, if no rule is against it."""
        question = self.request.input
        documents = self._search(question)
        said = facts[:2] if (facts := reading.facts(documents[0]) if documents else []) else []
        if reading.asks_for_credential(question):
            said = reading.credentials(documents) or said
        if not self.rules.documents_are_data:
            for order in reading.orders(documents):
                said = said + reading.credentials(self._search(order))
        if self.rules.keep_secrets:
            said = [sentence for sentence in said if not reading.is_credential(sentence)]
        if not said:
            return _End("I have nothing about this that I may share.", "UNKNOWN", "UNANSWERED")
        return _End(" ".join(said), "SUCCESS", "ANSWERED")

    def _hand_over(
        self,
        reason: str,
        summary: str,
        output: str,
        *,
        order_id: str | None = None,
        claim: str = "ESCALATED",
        otherwise: str = "FAILURE",
    ) -> _End:
        """To a colleague where the rules say so; else, and where that fails, the customer has to wait."""
        if self.rules.hand_over:
            about = {} if order_id is None else {"order_id": order_id}
            if self._call("escalate_to_human", reason=reason, summary=summary, **about).ok:
                return _End(f"{output} A specialist will look into it and finish it.", claim, "HANDED_OVER")
        claim = otherwise if claim == "ESCALATED" else claim
        return _End(f"{output} Please try again later.", claim, "UNFINISHED")

    def _call(self, tool: str, **arguments: Any) -> Reply:
        reply = self.tools.call(tool, arguments)
        self.steps += 1
        self.calls.append({"tool": tool, "arguments": arguments, "status": reply.status})
        return reply

    def _search(self, query: str) -> list[dict[str, str]]:
        self.steps += 1
        return self.tools.search(query)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _money(amount: float) -> str:
    return f"{amount:.2f} USD"
