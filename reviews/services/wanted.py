"""One decision as a person wants it, on its way through the services."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from evaluations.models import ExpectationResult
from reviews.errors import FormTokenError
from reviews.models import Review


@dataclass(frozen=True, slots=True)
class Wanted:
    """`result` is locked with its pair and comparison, `latest` its latest review.

    `status` is what the result would count as, `withdraws` the review that a withdrawal takes back.
    """

    result: ExpectationResult
    latest: Review | None
    decision: str
    status: str
    note: str
    actor: Any
    form_token: uuid.UUID
    via: str | None
    token_name: str
    withdraws: Review | None = None

    def refuse_if_other(self, result_id: int, stored: Any) -> None:
        """Raises FormTokenError if the same form was sent with another decision before."""
        made = (result_id, stored.reviewer_id, stored.decision, stored.note)
        if made != (self.result.pk, self.actor.pk, self.decision, self.note):
            raise FormTokenError("This form was already sent with another decision. Open the case again.")


def label_of(result: ExpectationResult) -> str:
    """The result in words, as the audit log names it."""
    case = result.case
    side = case.run.side.lower()
    return f"{result.expectation_id} of {case.pair}, {side}, comparison {case.pair.comparison_id}"
