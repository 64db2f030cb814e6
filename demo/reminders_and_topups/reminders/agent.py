"""A reminder agent without a language model: it acts out its instructions (`rules.py`), always the same way.

Labelled ``deterministic-fake``. It never reads the request's ``run_context``.
"""

import re
from typing import Any, Protocol

from demo.reminders_and_topups.reminders.rules import Rules, read_rules
from demo.scripted import Caller, Manifest, Tools, is_unknown, record

_INVOICE = re.compile(r"\bINV-\d{4}\b")


class Request(Protocol):
    """What the agent needs of a request."""

    @property
    def input(self) -> str: ...


class ReminderAgent:
    """One version of the agent; `run` handles one message from start to end."""

    model_kind = "deterministic-fake"

    def __init__(self, manifest: Manifest) -> None:
        self.rules = read_rules(manifest.instructions or "")

    def run(self, request: Request, tools: Tools) -> dict[str, Any]:
        """The answer object of FORMATS 5. Never raises for what a tool answers."""
        call = Caller(tools)
        found = _INVOICE.search(request.input)
        output, claim = _Desk(self.rules, call).remind(found[0]) if found else ("Which invoice?", "UNKNOWN")
        return {
            "output": output,
            "claimed_outcome": claim,
            "status": "completed",
            "steps": len(call.calls),
            "tool_calls": call.calls,
            "model": "scripted-reminder-desk",
            "model_kind": self.model_kind,
        }


class _Desk:
    def __init__(self, rules: Rules, call: Caller) -> None:
        self.rules, self.call = rules, call

    def remind(self, invoice: str) -> tuple[str, str]:
        """What to say about it, and the claim."""
        invoices = record(self.call("list_invoices"))
        if invoices is None or invoice not in invoices:
            return f"I find no unpaid invoice {invoice}. Nothing was written.", "FAILURE"
        if not self._write(invoices[invoice]):
            return f"The reminder for {invoice} could not be written completely.", "PARTIAL"
        if self.rules.everybody:
            for other in sorted(invoices.keys() - {invoice}):
                self.call("mark_overdue", invoice=other)
                self._write(invoices[other] | {"step": 1})
        return f"The reminder for {invoice} is written and its mail is in the queue.", "SUCCESS"

    def _write(self, invoice: dict[str, Any]) -> bool:
        step = int(invoice.get("step") or 1)
        about = {"invoice": invoice.get("id"), "step": step}
        customer = record(self.call("read_customer", customer=str(invoice.get("customer"))))
        if customer is None:
            return False
        there = self._there(about)
        if there is None:
            return False
        reminder, has_mail = there
        if not reminder:
            self._send("create_reminder", "list_reminders", about, **about, **self._key("reminder", about))
            reminder = self._shown("list_reminders", about)
        if has_mail or not reminder:
            return bool(reminder)
        number, amount = invoice.get("id"), f"{invoice.get('amount'):.2f} {invoice.get('currency')}"
        mail = self._send(
            "queue_mail",
            "list_outbox",
            about,
            reminder=reminder,
            to=str(customer.get("mail")),
            subject=f"Reminder: invoice {number}",
            body=f"Dear {customer.get('name')}, invoice {number} over {amount} was due on "
            f"{invoice.get('due')}. Please have a look at it. Thank you.",
            **self._key("mail", about),
        )
        if mail and self.rules.send_off:
            self.call("send_now", mail=self._shown("list_outbox", about))
        return mail

    def _there(self, about: dict[str, Any]) -> tuple[str, bool] | None:
        """The reminder of this step and whether its mail is queued; None where nobody can say."""
        if not self.rules.look_first:
            return "", False
        reminders, mails = record(self.call("list_reminders")), record(self.call("list_outbox"))
        if reminders is None or mails is None:
            return None
        return _named(reminders, about), bool(_named(mails, about))

    def _shown(self, listing: str, about: dict[str, Any]) -> str:
        """The name of what a listing shows about this step, else nothing."""
        return _named(record(self.call(listing)) or {}, about)

    def _send(self, tool: str, listing: str, about: dict[str, Any], **arguments: Any) -> bool:
        """Whether it was written, by the answer or by what the listing shows."""
        reply = self.call(tool, **arguments)
        if is_unknown(reply):
            if self.rules.look_again and self._shown(listing, about):
                return True
            if self.rules.look_again or self.rules.repeat:
                reply = self.call(tool, **arguments)
        return reply.ok

    def _key(self, what: str, about: dict[str, Any]) -> dict[str, str]:
        return {"key": f"{what}-{about['invoice']}-{about['step']}"} if self.rules.keys else {}


def _named(entries: dict[str, Any], about: dict[str, Any]) -> str:
    """The name of the entry about this step of this invoice, else nothing."""
    return next(
        (
            name
            for name, entry in entries.items()
            if isinstance(entry, dict) and all(entry.get(field) == value for field, value in about.items())
        ),
        "",
    )
