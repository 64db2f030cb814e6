"""The admin of the reviews room: looking at records, and deciding through the same services as the pages."""

from reviews.admin.double import DoubleReviewAdmin, ReviewPolicyAdmin
from reviews.admin.people import AccountAdmin, RoleAdmin
from reviews.admin.records import AuditEntryAdmin, QueueEntryAdmin, ReviewAdmin
from reviews.admin.results import DecidableResultAdmin
from reviews.admin.tokens import ApiTokenAdmin

__all__ = [
    "AccountAdmin",
    "ApiTokenAdmin",
    "AuditEntryAdmin",
    "DecidableResultAdmin",
    "DoubleReviewAdmin",
    "QueueEntryAdmin",
    "ReviewAdmin",
    "ReviewPolicyAdmin",
    "RoleAdmin",
]
