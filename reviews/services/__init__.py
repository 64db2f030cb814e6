"""Use cases of the reviews room: deciding, the queue, people.

Pages, API, admin actions and commands call these and nothing else, so every path leaves the same record.
"""

from reviews.services.agreeing import ReviewerAgreement, reviewer_agreement
from reviews.services.deciding import BulkOutcome, override_result, override_results, withdraw_review
from reviews.services.outlook import explain_effect, explain_withdrawal, latest_review_ids, refusals
from reviews.services.policies import current_policy, set_policy
from reviews.services.progress import (
    QueueOverview,
    ReviewerProgress,
    progress_by_reviewer,
    queue_counts,
    queue_overview,
)
from reviews.services.queueing import assign, close_entry, flag_case, release, reserve, reserve_next
from reviews.services.tokens import create_token, revoke_token

__all__ = [
    "BulkOutcome",
    "QueueOverview",
    "ReviewerAgreement",
    "ReviewerProgress",
    "assign",
    "close_entry",
    "create_token",
    "current_policy",
    "explain_effect",
    "explain_withdrawal",
    "flag_case",
    "latest_review_ids",
    "override_result",
    "override_results",
    "progress_by_reviewer",
    "queue_counts",
    "queue_overview",
    "refusals",
    "release",
    "reserve",
    "reserve_next",
    "reviewer_agreement",
    "revoke_token",
    "set_policy",
    "withdraw_review",
]
