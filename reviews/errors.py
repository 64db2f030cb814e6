"""Why a decision was not taken. Each error has a stable code and says what was found and what is possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviews.models import QueueEntry, Review


class ReviewError(Exception):
    """Base of this room's errors: ``code`` is stable, the text is one sentence for a person."""

    code = "review_error"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class NotAllowedError(ReviewError):
    """The actor lacks the permission; `permission` is its name."""

    code = "not_allowed"

    def __init__(self, detail: str, permission: str = "") -> None:
        super().__init__(detail)
        self.permission = permission


class NotFoundError(ReviewError):
    """There is no row of this id."""

    code = "not_found"


class InvalidInputError(ReviewError):
    """A field of the request cannot be used; `field` names it, so a form can show the text beside it."""

    code = "invalid_input"

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(detail)
        self.field = field


class NotReviewableError(ReviewError):
    """A person may not decide here: the result is a fact of the run, or the comparison has not ended."""

    code = "not_reviewable"


class ReviewConflict(ReviewError):
    """Somebody decided after the page was read. `newer` holds those reviews, oldest first."""

    code = "review_conflict"

    def __init__(self, newer: Sequence[Review], latest_id: int) -> None:
        count = len(newer)
        if count:
            last = newer[-1]
            detail = (
                f"{last.reviewer.get_username()} decided {last.decision} on this result meanwhile"
                f"{f' (and {count - 1} more)' if count > 1 else ''}. Look again, then decide."
            )
        else:
            detail = "The review this page was read against is not the latest one of this result. Look again."
        super().__init__(detail)
        self.newer = tuple(newer)
        self.latest_id = latest_id


class NotInForceError(ReviewError):
    """Only the review that counts at the moment can be withdrawn."""

    code = "not_in_force"


class FormTokenError(ReviewError):
    """The form token already belongs to another decision."""

    code = "form_token_used"


class EntryTakenError(ReviewError):
    """Somebody else holds the queue entry; `entry` says who and until when."""

    code = "entry_taken"

    def __init__(self, detail: str, entry: QueueEntry) -> None:
        super().__init__(detail)
        self.entry = entry


class EntryClosedError(ReviewError):
    """The queue entry is done."""

    code = "entry_closed"


class AlreadyDecidedError(ReviewError):
    """Two people must decide, and this one of them has."""

    code = "already_decided"


class EntryUndecidedError(ReviewError):
    """The queue entry ends when reviewers have decided, and not by hand."""

    code = "entry_undecided"


class EntryNotForYouError(ReviewError):
    """All that is left of the queue entry is for somebody else to decide."""

    code = "entry_not_for_you"


class StalePolicyError(ReviewError):
    """Another policy was set since this one was looked at; `current` is its number."""

    code = "stale_policy"

    def __init__(self, current: int) -> None:
        super().__init__(
            f"The policy was changed meanwhile: number {current} is in force now. Look at it, then set yours."
        )
        self.current = current


class TokenRefusedError(ReviewError):
    """The credential of a program opens nothing (any more)."""

    code = "token_refused"


class AuditLogError(ReviewError):
    """The audit log cannot be continued: its head does not fit its entries."""

    code = "audit_log_broken"
