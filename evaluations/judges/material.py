"""From what is stored of a case to what a judge is shown: bounded, and redacted as the rows are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evaluations.judges.interface import Material, ShownCall
from twins.engine.records import CallRecord
from twins.engine.values import compact_json

# An answer is kept with 20,000 characters; the calls are only there to understand it.
MAX_TEXT = 20_000
MAX_CALLS = 50
MAX_CALL = 1_500
CUT = "… [cut]"


def case_material(*, answer: str, customer_message: str, records: Iterable[Any]) -> Material:
    """The material of one case. Texts must be redacted already; what is too long is cut, and says so.

    Second deliveries and searches are left out: a judge reads what the agent did.
    """
    calls = [one for one in records if isinstance(one, CallRecord) and not one.redelivered]
    return Material(
        answer=_cut(answer, MAX_TEXT),
        customer_message=_cut(customer_message, MAX_TEXT),
        tool_calls=tuple(_shown(call) for call in calls[:MAX_CALLS]),
    )


def _shown(call: CallRecord) -> ShownCall:
    answered = "no answer" if call.http_status == 0 else f"answered {call.http_status}"
    text = f"arguments: {_json(call.arguments)}\n{answered}: {_json(call.response)}"
    return ShownCall(call.seq, call.tool, _cut(text, MAX_CALL))


def _json(value: Any) -> str:
    return value if isinstance(value, str) else compact_json(value)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}{CUT}"
