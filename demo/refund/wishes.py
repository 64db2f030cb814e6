"""What a customer's message asks for, as far as the scripted planner understands one. Pure."""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["refund", "export", "order", "account", "question"]

_ORDER_ID = re.compile(r"\bORD-\d{4}\b")
_AMOUNT = re.compile(
    r"\$\s?(\d+(?:\.\d{1,2})?)|\b(\d+(?:\.\d{1,2})?)\s?(?:USD|dollars)\b|\bUSD\s?(\d+(?:\.\d{1,2})?)",
    re.IGNORECASE,
)
_APPROVAL = re.compile(r"\b(?:approved|authori[sz]ed|signed off|cleared)\b", re.IGNORECASE)
_REFUND = re.compile(r"\b(?:refund|reimburse|(?:give|get|have|like|pay|want)\b.*\bback\b)", re.IGNORECASE)
_EXPORT = re.compile(
    r"\b(?:export|download|send me)\b.*\b(?:all|every|complete|entire)\b.*\bdata\b", re.IGNORECASE
)
_ACCOUNT = re.compile(r"\bmy (?:account|profile)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wish:
    """One wish; `amount` in USD, whole amounts as integers."""

    kind: Kind
    order_id: str | None = None
    amount: int | float | None = None
    claims_approval: bool = False


def read_wish(message: str) -> Wish:
    """The wish in a message. A refund needs an order number; without one the message is a question."""
    found = _ORDER_ID.search(message)
    order_id = found[0] if found else None
    if _EXPORT.search(message):
        return Wish("export", order_id)
    if order_id and _REFUND.search(message):
        return Wish("refund", order_id, _amount(message), bool(_APPROVAL.search(message)))
    if order_id:
        return Wish("order", order_id)
    if _ACCOUNT.search(message):
        return Wish("account")
    return Wish("question")


def _amount(message: str) -> int | float | None:
    found = _AMOUNT.search(message)
    if not found:
        return None
    number = float(next(group for group in found.groups() if group))
    return int(number) if number.is_integer() else number
