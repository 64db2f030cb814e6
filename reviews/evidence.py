"""What a decision was taken on, as one hash: everything stored of both sides of a pair.

Records and results are written once and the database refuses to change them. The hash in the audit entry of a
decision shows it also to somebody who does not trust the database. Columns are named one by one: a column
added later is no change of what was decided on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from django.db.models import Model, TextField
from django.db.models.functions import Cast

from evaluations.models import Case, ExpectationResult, ToolCall

# Columns marked with "=" hold JSON as exact text and are hashed as stored, without being parsed.
_CASE = (
    "verdict",
    "claimed_outcome",
    "contradiction",
    "error_reason",
    "initial_state_digest",
    "final_state_digest",
    "=answer",
)
_RESULT = ("position", "expectation_id", "type", "critical", "status", "label", "reason", "=evidence")
_CALL = (
    "seq",
    "kind",
    "call_number",
    "tool",
    "=arguments",
    "http_status",
    "status",
    "error_code",
    "=response",
    "risk",
    "fault",
    "mutated",
    "expects_mutation",
    "replayed",
    "redelivered",
    "effect_key",
    "=idempotency_key",
    "cross_tenant",
    "policy_violation",
    "=changes",
    "delay_ms",
    "query",
    "limit",
    "=documents",
)


def evidence_digest(pair_id: int) -> str:
    """SHA-256 over the cases, results and records of the pair, read row by row."""
    whole = hashlib.sha256()
    sides = Case.objects.filter(pair_id=pair_id).order_by("run__side").values_list("pk", "run__side")
    for case_id, side in sides:
        whole.update(side.encode())
        for rows in (
            _rows(Case, _CASE, "pk", pk=case_id),
            _rows(ExpectationResult, _RESULT, "position", case_id=case_id),
            _rows(ToolCall, _CALL, "seq", case_id=case_id),
        ):
            for row in rows:
                whole.update(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass"))
                whole.update(b"\n")
    return whole.hexdigest()


def _rows(
    model: type[Model], columns: tuple[str, ...], order: str, **where: Any
) -> Iterator[tuple[Any, ...]]:
    texts = {f"{name[1:]}_text": Cast(name[1:], TextField()) for name in columns if name.startswith("=")}
    names = [f"{name[1:]}_text" if name.startswith("=") else name for name in columns]
    return (
        model._default_manager.filter(**where)
        .annotate(**texts)
        .order_by(order)
        .values_list(*names)
        .iterator(500)
    )
