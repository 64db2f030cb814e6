"""The parts of the case page. Each is built when it is asked for, so a fragment pays for itself alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpRequest, QueryDict
from django.urls import reverse

from evaluations.case_filter import CaseFilter
from evaluations.models import PairedCase, Side
from evaluations.page_queries import class_counts, has_trials, neighbouring_scenarios, neighbours
from evaluations.services.effective import preview_effective_status
from reviews.models import Review
from reviews.page_queries.alignment import Alignment, Row, alignment_of
from reviews.page_queries.cases import (
    CaseAddress,
    PairPage,
    entries_of,
    load_pair,
    scenario_history,
)
from reviews.page_queries.checks import CheckRow, CheckSide, check_rows, cited_paths, contradictions
from reviews.page_queries.claims import claimed_calls, claims, effects, metrics_of, same_claim
from reviews.page_queries.rounds import ShownRound
from reviews.page_queries.states import Facts, FinalStates, States, final_states
from reviews.page_queries.steps import page_number_of, step_page, step_rows
from reviews.page_queries.trials import TrialGrid, standing_of, trial_grid
from reviews.roles import DECIDE, FLAG
from reviews.views.forms import (
    FLAG as FLAG_FORM,
)
from reviews.views.forms import (
    OVERRIDE,
    WITHDRAW,
    Typed,
    override_form,
    with_query,
    withdraw_form,
)
from scenarios.holdouts import sight_of

_CALL = re.compile(r"(baseline|candidate)-([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class Asked:
    """What of the page an address opens: a step by its row or by a side's record, a page of steps, a form."""

    step: int | None = None
    call: tuple[str, int] | None = None
    steps: int | None = None
    override: int | None = None
    withdraw: int | None = None
    flag: bool = False
    closed: bool = False
    reviewed: int | None = None
    # The round in which the reader has just decided.
    sealed: int | None = None

    @classmethod
    def from_query(cls, query: QueryDict) -> Asked:
        call = _CALL.fullmatch(query.get("call", ""))
        return cls(
            step=_whole(query.get("step")),
            call=(call[1].upper(), int(call[2])) if call else None,
            steps=_whole(query.get("steps")),
            override=_whole(query.get("override")),
            withdraw=_whole(query.get("withdraw")),
            flag=bool(query.get("flag")),
            closed=bool(query.get("closed")),
            reviewed=_whole(query.get("reviewed")),
            sealed=_whole(query.get("sealed")),
        )

    def form(self, kept: Typed | None) -> Typed | None:
        """The form to open. What was typed earlier stays in its own form and keeps no other from opening."""
        if self.closed:
            return None
        for kind, target in ((OVERRIDE, self.override), (WITHDRAW, self.withdraw)):
            if target is not None:
                is_same = kept is not None and (kept.kind, kept.target) == (kind, target)
                return kept if is_same else Typed(kind, target)
        return kept


class CaseParts:
    """One request for (a part of) the page of a pair."""

    def __init__(
        self,
        request: HttpRequest,
        pair: PairedCase,
        *,
        asked: Asked | None = None,
        typed: Typed | None = None,
        decided: Review | None = None,
    ) -> None:
        self.request = request
        self.asked = asked or Asked.from_query(request.GET)
        self.typed = typed
        self.decided = decided
        self.chosen = CaseFilter.from_query(request.GET)
        self.page: PairPage = load_pair(pair, self.chosen, actor=request.user)
        self.may_decide = request.user.has_perm(DECIDE)
        self.may_flag = request.user.has_perm(FLAG)
        # Name of the draft in the browser that has been sent and is not needed any more.
        self.clear_draft = ""

    @property
    def address(self) -> CaseAddress:
        return self.page.address

    @cached_property
    def alignment(self) -> Alignment:
        for case in self.page.cases.values():
            case.has_answer = case.answer is not None  # type: ignore[attr-defined]
        return alignment_of(self.page.cases)

    @cached_property
    def states(self) -> States:
        return States(self.page)

    @cached_property
    def _cited(self) -> list[str]:
        return cited_paths(self.page)

    @cached_property
    def facts(self) -> Facts:
        return self.states.facts(self._cited)

    @cached_property
    def ends(self) -> FinalStates:
        return final_states(self.page, self.facts.ends, self._cited)

    @cached_property
    def checks(self) -> list[CheckRow]:
        """The rows, one of them with an open form if one was asked for and may be given."""
        rows = check_rows(self.page, self.ends)
        if self.may_decide:
            self._open_form(rows)
        return rows

    def verdict(self) -> dict[str, Any]:
        """Head, claim against records, checks: what decides, and the way to act."""
        page = self.page
        said = claims(page)
        return self._common() | {
            "contradictions": contradictions(page),
            "claims": said,
            "same_claim": same_claim(said),
            "effects": [(side, effects(page, self.facts, name)) for name, side in page.sides.items()],
            "places": self.ends.told(),
            "ends": self.ends,
            "checks": self.checks,
            "first_check": next((row for row in self.checks if row.is_first), None),
            "closed_for_all": self._closed_for_all(),
            "open_entries": [entry for entry in self._entries if entry.is_open],
            "divergence_href": self._divergence_href(),
            "flag_form": self._flag_form(),
            "neighbours": self._neighbours(),
            "trial_grid": self._trial_grid,
            "standing": standing_of(page),
            "may_rerun": self.request.user.has_perm("evaluations.add_comparison"),
            "decided": self.decided,
            "has_moved": self._has_moved(),
            "counts": self._counts() if self.decided else None,
            "sealed": self._sealed(),
            "clear_draft": self.clear_draft,
            "rounds": [(row, side, one) for row in self.checks for side, one in row.rounds],
        }

    def check(self, anchor: str) -> dict[str, Any] | None:
        """One row of the checks, None if there is none of this id."""
        row = next((row for row in self.checks if row.anchor == anchor), None)
        return None if row is None else self._common() | {"row": row}

    def steps(self) -> dict[str, Any]:
        """The page of steps that the address asks for."""
        row = self._asked_row()
        number = self.asked.steps or (page_number_of(row.number) if row else 1)
        shown = step_page(
            self.page,
            self.alignment,
            self.states,
            self.facts,
            number=number,
            open_row=row.number if row else None,
        )
        return self._common() | {"steps": shown, "alignment": self.alignment}

    def step(self, number: int) -> dict[str, Any] | None:
        """One row of the steps, open if the address opens it."""
        if not 1 <= number <= len(self.alignment.rows):
            return None
        asked = self._asked_row()
        opened = number if asked is not None and asked.number == number else None
        rows = step_rows(
            self.page,
            self.alignment,
            self.states,
            self.facts,
            [self.alignment.rows[number - 1]],
            open_row=opened,
        )
        return self._common() | {"step": rows[0]}

    def decisions(self) -> dict[str, Any]:
        """Reviews and flags."""
        lines = [line for row in check_rows(self.page) for line in row.reviews]
        lines.sort(key=lambda line: -line.review.pk)
        return self._common() | {"reviews": lines, "entries": self._entries}

    def history(self) -> dict[str, Any]:
        """The scenario in other comparisons."""
        return self._common() | {"history": scenario_history(self.page, sight_of(self.request.user))}

    def whole(self) -> dict[str, Any]:
        """Everything."""
        known, missing = metrics_of(self.page)
        return (
            self.verdict()
            | self.steps()
            | self.decisions()
            | self.history()
            | {
                "metrics": known,
                "unknown_metrics": missing,
                "claimed_calls": claimed_calls(self.page, self.alignment),
                "baseline_state_href": self.address.raw_href("state", Side.BASELINE),
                "candidate_state_href": self.address.raw_href("state", Side.CANDIDATE),
            }
        )

    # ------------------------------------------------------------------------------------ inside

    def _common(self) -> dict[str, Any]:
        page = self.page
        return {
            "page": page,
            "pair": page.pair,
            "comparison": page.comparison,
            "address": page.address,
            "may_decide": self.may_decide,
            "may_flag": self.may_flag,
            "list_href": with_query(
                reverse("evaluations:comparison", args=[page.comparison.pk]), page.address.query
            ),
        }

    @cached_property
    def _entries(self) -> list[Any]:
        return entries_of(self.page.pair)

    @cached_property
    def _trial_grid(self) -> TrialGrid | None:
        return trial_grid(self.page)

    def _neighbours(self) -> tuple[str, str]:
        sight = sight_of(self.request.user)
        if has_trials(self.page.comparison):
            # By scenario, as the list goes: the trials of this one are in its grid.
            return neighbouring_scenarios(self.page.pair, self.chosen, sight)
        found = neighbours(self.page.pair, self.chosen, sight)
        previous, following = (
            CaseAddress.of(other, self.chosen).href() if other is not None else "" for other in found
        )
        return previous, following

    def _asked_row(self) -> Row | None:
        asked, rows = self.asked, self.alignment.rows
        if asked.step is not None and 1 <= asked.step <= len(rows):
            return rows[asked.step - 1]
        return self.alignment.row_of(*asked.call) if asked.call is not None else None

    def _divergence_href(self) -> str:
        divergence = self.page.pair.first_divergence
        step = divergence.get("step") if isinstance(divergence, dict) else None
        return self.address.href(f"step-{step}", step=step) if type(step) is int else ""

    def _closed_for_all(self) -> str:
        """The one reason why nothing at all can be decided here."""
        reasons = {reason for side in self.page.sides.values() for reason in side.refusals.values()}
        every = all(side.closed for row in self.checks for side in row.sides)
        return reasons.pop() if every and len(reasons) == 1 else ""

    def _has_moved(self) -> bool:
        """Whether the decision just made changed the class of the case: three queries, only after one."""
        if self.decided is None:
            return False
        without = preview_effective_status(result=self.decided.result, status=self.decided.status_before)
        return without.after.classification != self.page.pair.classification

    def _counts(self) -> Any:
        comparison = self.page.comparison
        return class_counts(PairedCase.objects.counted().filter(comparison=comparison), comparison)

    def _sealed(self) -> ShownRound | None:
        """The round that the reader's decision has just become part of, if it is their own."""
        rounds = self.page.two.rounds if self.asked.sealed else []
        return next((one for one in rounds if one.round.pk == self.asked.sealed and one.own), None)

    def _flag_form(self) -> dict[str, Any] | None:
        if not self.may_flag:
            return None
        typed = self.typed if self.typed is not None and self.typed.kind == FLAG_FORM else None
        if self.asked.closed:
            typed = None
        pk = self.page.pair.pk
        if typed is not None and typed.target != pk:
            typed = None
        return {
            "action": with_query(reverse("reviews:flag", args=[pk]), self.address.query),
            "typed": typed or Typed(FLAG_FORM, pk),
            "is_open": self.asked.flag or typed is not None,
            "draft": f"flag-{pk}",
        }

    def _open_form(self, rows: list[CheckRow]) -> None:
        typed = self.asked.form(self.typed)
        if typed is None:
            return
        for row in rows:
            for side in row.sides:
                self._attach(row, side, typed)

    def _attach(self, row: CheckRow, side: CheckSide, typed: Typed) -> None:
        if side.closed:
            return
        if typed.kind == OVERRIDE and side.result.pk == typed.target:
            row.form = override_form(row=row, side=side, typed=typed, address=self.address)
        if typed.kind != WITHDRAW:
            return
        review = next((one for one in side.reviews if one.pk == typed.target), None)
        # Somebody may have decided after the note was begun: it is told there, and the note stays.
        if review is not None and (review == side.standing or typed.is_written):
            row.form = withdraw_form(row=row, side=side, review=review, typed=typed, address=self.address)


def _whole(text: str | None) -> int | None:
    """A whole number from 1 that fits a row id; None for anything else."""
    if not text or not text.isascii() or not text.isdigit() or len(text) > 18:
        return None
    return int(text) or None
