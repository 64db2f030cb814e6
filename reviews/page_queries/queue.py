"""The queue as a person works through it: the list, the one item in the middle, what was done today."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.http import QueryDict

from agenttwin_site.paging import Page, keyset_page
from evaluations.grading.run_findings import AGENT_RUN
from evaluations.grading.verdicts import OUTCOME_TYPES
from evaluations.holdouts import seen
from evaluations.models import ExpectationResult, ResultStatus
from evaluations.page_queries import class_of
from reviews.models import FOR_REVIEWERS, QueueEntry, QueueReason, Review
from reviews.page_queries.cases import CaseAddress, PairPage
from reviews.page_queries.checks import CheckRow, with_key
from reviews.roles import DECIDE
from reviews.services import QueueOverview
from reviews.services.needs import LOOKED_AT, is_unmeasured
from scenarios.holdouts import Sight, sight_of

LISTED = 25
DONE_SHOWN = 20
ASSIGNEES_SHOWN = 200

_SENTENCES: dict[str, str] = {
    QueueReason.ERROR: (
        "A check could not be evaluated, so it is neither a pass nor a failure. Say what it should count as."
    ),
    QueueReason.SKIPPED_CRITICAL: (
        "A critical check was skipped, so the case cannot pass. Say what it should count as."
    ),
    QueueReason.CONTRADICTION: (
        "The agent reports a success that the tools did not record. "
        "See whether the checks that say so are right."
    ),
    QueueReason.INCOMPLETE: "The two sides could not be compared, so nothing is known about this case.",
    QueueReason.FLAGGED: "Somebody asked for a second look.",
    QueueReason.JUDGE_ERROR: (
        "The judge could not answer, so the check is neither a pass nor a failure. "
        "Read the answer, and say what the check should count as."
    ),
    QueueReason.JUDGE_SKIPPED: (
        "No judge has read the answer, so nothing is known of the check. "
        "Read it, and say what the check should count as."
    ),
    QueueReason.UNCALIBRATED_CRITICAL: (
        "A critical check was decided by a judge that is not calibrated for it. "
        "Say whether you decide the same."
    ),
    QueueReason.LOW_CONFIDENCE: (
        "The judge says itself that it is not sure. Say whether you decide the same."
    ),
    QueueReason.SAMPLE: (
        "The judge let it pass, and some of what passes is looked at by a person. "
        "Say whether you decide the same."
    ),
    QueueReason.SECOND_REVIEW: (
        "Two reviewers decide here, each without seeing the other. "
        "Nothing changes until both have decided; where they disagree, a third decides."
    ),
    QueueReason.SPLIT: "Two reviewers have decided and disagree. A third decides, and that counts.",
}
# Where claim and evidence belong beside the checks; elsewhere they would only distract.
_NEEDS_CLAIM = frozenset(
    {
        QueueReason.CONTRADICTION,
        QueueReason.FLAGGED,
        QueueReason.JUDGE_ERROR,
        QueueReason.JUDGE_SKIPPED,
        QueueReason.UNCALIBRATED_CRITICAL,
        QueueReason.LOW_CONFIDENCE,
        QueueReason.SAMPLE,
        QueueReason.SECOND_REVIEW,
        QueueReason.SPLIT,
    }
)
_UNMEASURED = frozenset(
    {
        QueueReason.ERROR,
        QueueReason.SKIPPED_CRITICAL,
        QueueReason.INCOMPLETE,
        QueueReason.JUDGE_ERROR,
        QueueReason.JUDGE_SKIPPED,
    }
)
_NAMES_SUBJECTS = LOOKED_AT | FOR_REVIEWERS


@dataclass(frozen=True, slots=True)
class ListedEntry:
    """A line of the list. `held_by` and `until` while a reservation runs, `is_mine` if it is the reader's."""

    entry: QueueEntry
    classification: str | None
    href: str
    is_shown: bool
    held_by: str
    is_mine: bool
    assigned_to: str


@dataclass(frozen=True, slots=True)
class QueueList:
    """A page of open entries; `lines` tells them once it is known which one is shown."""

    page: Page
    query: QueryDict
    actor: Any
    now: datetime

    def lines(self, shown: QueueEntry | None) -> list[ListedEntry]:
        return [_listed(entry, self.query, self.actor, self.now, shown) for entry in self.page.rows]


def open_entries(sight: Sight, reason: str = "") -> QuerySet[QueueEntry]:
    entries = seen(QueueEntry.objects.open().for_list(), sight, pair="pair")
    return entries.filter(reason=reason) if reason else entries


def queue_list(query: QueryDict, *, reason: str, actor: Any, now: datetime) -> QueueList:
    """A page of open entries, worst first: one query."""
    entries = open_entries(sight_of(actor), reason)
    page = keyset_page(entries, keys=("priority", "pk"), query=query, size=LISTED)
    return QueueList(page, query, actor, now)


def entry_by_id(entry_id: int, sight: Sight) -> QueueEntry | None:
    return seen(QueueEntry.objects.for_list(), sight, pair="pair").filter(pk=entry_id).first()


def entry_in_hand(
    *, actor: Any, now: datetime, reason: str, listed: QueueList, overview: QueueOverview
) -> QueueEntry | None:
    """What the person holds, else what would be theirs next. Nothing is reserved by looking.

    Rows are looked for by their ids alone, and mostly found on the page of the list that is loaded already.
    """
    found = _id_in_hand(actor, now, reason, overview)
    if found is None:
        return None
    on_page = next((entry for entry in listed.page.rows if entry.pk == found), None)
    return on_page or entry_by_id(found, sight_of(actor))


def _id_in_hand(actor: Any, now: datetime, reason: str, overview: QueueOverview) -> int | None:
    """At most two queries: what the overview says there is none of is not looked for."""
    held = next((entry.pk for entry in overview.held if entry.holder_id == actor.pk), None)
    if held is not None:
        return held
    entries = seen(QueueEntry.objects.open(), sight_of(actor), pair="pair").order_by("priority", "pk")
    free = entries.filter(reason=reason) if reason else entries
    free = free.filter(Q(reserved_until__isnull=True) | Q(reserved_until__lte=now))
    if overview.for_other_reviewers:
        free = free.left_for(actor.pk)
    # Not a plain condition on the column: its index would lead through all entries that are nobody's.
    everybodys = free.alias(given_to=Coalesce("assigned_to_id", 0)).filter(given_to=0)
    for found in ([free.filter(assigned_to=actor)] if overview.assigned_to_me else []) + [everybodys]:
        if (pk := found.values_list("pk", flat=True).first()) is not None:
            return pk
    return None


def is_left_for(entry: QueueEntry, actor: Any) -> bool:
    """Whether this person can go on with it; at most one query."""
    if entry.reason not in FOR_REVIEWERS:
        return True
    return QueueEntry.objects.left_for(actor.pk).filter(pk=entry.pk).exists()


def sentence(entry: QueueEntry) -> str:
    """Why a person is asked, in a sentence."""
    return _SENTENCES.get(entry.reason, entry.get_reason_display())


def needs_claim(entry: QueueEntry) -> bool:
    return entry.reason in _NEEDS_CLAIM


def rows_in_question(
    entry: QueueEntry, rows: Sequence[CheckRow], *, result_id: int | None = None
) -> list[CheckRow]:
    """The checks that the reason is about, and the one a form is open for, if any; no others.

    One query where the entry names its results.
    """
    if entry.reason in _NAMES_SUBJECTS:
        named = set(entry.subjects.values_list("result_id", flat=True))

        def wanted(row: CheckRow) -> bool:
            return any(side.result.pk in named for side in row.sides)

    elif entry.reason in _UNMEASURED:
        wanted = _is_unmeasured
    elif entry.reason == QueueReason.CONTRADICTION:
        wanted = _disproves
    else:
        wanted = _is_not_quiet
    return with_key(
        [row for row in rows if wanted(row) or any(side.result.pk == result_id for side in row.sides)]
    )


def is_of(entry: QueueEntry, result_id: int) -> bool:
    """Whether this is a result of the entry's own case, on either side."""
    return ExpectationResult.objects.filter(pk=result_id, case__pair=entry.pair_id).exists()


def people_who_decide() -> list[Any]:
    """Accounts that can be given an entry: one query."""
    people = get_user_model()._default_manager.with_perm(
        DECIDE, backend="django.contrib.auth.backends.ModelBackend"
    )
    return list(people.filter(is_active=True).order_by("username")[:ASSIGNEES_SHOWN])


@dataclass(frozen=True, slots=True)
class DoneToday:
    """What was decided and closed since midnight UTC, the latest first."""

    reviews: list[Review]
    review_count: int
    closed: list[QueueEntry]
    closed_count: int


def done_today(now: datetime, sight: Sight) -> DoneToday:
    """Four queries; only for the page that says that nothing is left."""
    midnight = datetime.combine(now.astimezone(UTC).date(), time.min, UTC)
    reviews = seen(Review.objects.filter(created_at__gte=midnight), sight, pair="result__case__pair")
    closed = seen(QueueEntry.objects.done().filter(closed_at__gte=midnight), sight, pair="pair")
    return DoneToday(
        reviews=list(reviews.for_list()[:DONE_SHOWN]),
        review_count=reviews.count(),
        closed=list(closed.for_list().order_by("-closed_at", "-pk")[:DONE_SHOWN]),
        closed_count=closed.count(),
    )


def what_ended_it(page: PairPage) -> list[tuple[str, str]]:
    """Per side why it did not come to a grade, in the words it was stored with."""
    found = []
    for side in page.sides.values():
        case = side.case
        if case is None or not side.has_ended:
            found.append((side.label, f"its case is {case.state if case is not None else 'not there'}"))
        elif case.error_reason:
            found.append((side.label, case.error_reason))
    return found


def _listed(
    entry: QueueEntry, query: QueryDict, actor: Any, now: datetime, shown: QueueEntry | None
) -> ListedEntry:
    changed = query.copy()
    for name in ("entry", "override", "closed"):
        changed.pop(name, None)
    changed["entry"] = str(entry.pk)
    is_held = entry.is_held(now)
    return ListedEntry(
        entry=entry,
        classification=class_of(entry.pair, entry.pair.comparison),
        href=f"?{changed.urlencode()}",
        is_shown=shown is not None and shown.pk == entry.pk,
        held_by=entry.reserved_by.get_username() if is_held and entry.reserved_by is not None else "",
        is_mine=entry.is_held_by(actor, now),
        assigned_to=entry.assigned_to.get_username() if entry.assigned_to is not None else "",
    )


def case_href(entry: QueueEntry) -> str:
    return CaseAddress.of(entry.pair).href()


def _is_not_quiet(row: CheckRow) -> bool:
    return not row.is_quiet


def _is_unmeasured(row: CheckRow) -> bool:
    return row.type == AGENT_RUN or any(is_unmeasured(side.result) for side in row.sides)


def _disproves(row: CheckRow) -> bool:
    return row.type in OUTCOME_TYPES and any(
        side.side.case is not None
        and side.side.case.contradiction
        and (side.status == ResultStatus.FAIL or side.result.status == ResultStatus.FAIL)
        for side in row.sides
    )
