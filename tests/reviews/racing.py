"""Two processes that do the same at the same moment: `python -m tests.reviews.racing ME MEETING_POINT`.

Both meet before every race. What each got is printed as one JSON object, race by race. Without ME the rows
to race for are made.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django

NOTE = "Checked by hand, twice."
APPENDS = 40
ENTRIES = 12
PAIRS = 10
TRIALS = 150


def prepare() -> None:
    from evaluations.services.agents import save_agent
    from reviews import services
    from scenarios.services import save_scenario
    from tests.models import factories
    from tests.reviews.conftest import paired, person
    from tests.running import documents
    from twins.services import save_twin

    ann, bob = person("ann"), person("bob")
    passes, fails = dict.fromkeys("ab", "PASS"), dict.fromkeys("ab", "FAIL")
    for _ in range(3 * PAIRS):
        paired(passes, fails)
    for _ in range(PAIRS):
        paired({"sealed": "PASS"}, {"sealed": "FAIL"})
    comparison = factories.comparison(state="COMPLETED")
    for number in range(ENTRIES):
        pair = factories.pair(comparison, class_rank=0, severity_rank=number % 4)
        services.flag_case(pair_id=pair.pk, note=NOTE, actor=(ann, bob)[number % 2])
    save_twin(document=documents.twin())
    save_scenario(document=documents.scenario("refund"))
    save_agent(document=documents.agent("1.0.0", *documents.GOOD))
    save_agent(document=documents.agent("2.0.0", *documents.TWICE))


class Racer:
    """One of the two; `me` is 0 or 1."""

    def __init__(self, me: int, meeting_point: Path) -> None:
        from django.contrib.auth.models import User

        from evaluations.models import PairedCase

        self.me, self.meeting_point = me, meeting_point
        self.ann = User.objects.get(username="ann")
        self.actor = User.objects.get(username=("ann", "bob")[me])
        failing = PairedCase.objects.filter(classification="NEW_CRITICAL_FAILURE").order_by("pk")
        self.pairs = list(failing)

    def meet(self, name: str) -> None:
        """Wait for the other, who may have failed: then this one fails too instead of waiting for ever."""
        (self.meeting_point / f"{name}-{self.me}").touch()
        deadline = time.monotonic() + 60
        while not (self.meeting_point / f"{name}-{1 - self.me}").exists():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the other racer did not come to {name}")
            time.sleep(0.0005)

    def same_form(self) -> list[Any]:
        """A double click: the same person, the same token."""
        tokens = [uuid.uuid5(uuid.NAMESPACE_OID, str(pair.pk)) for pair in self.pairs[:PAIRS]]
        return [
            self.decide("form", pair, self.ann, "a", token)
            for pair, token in zip(self.pairs, tokens, strict=False)
        ]

    def same_result(self) -> list[Any]:
        """Two reviewers who both saw no review yet."""
        return [self.decide("result", pair, self.actor, "a") for pair in self.pairs[PAIRS : 2 * PAIRS]]

    def same_pair(self) -> list[Any]:
        """Two reviewers on the two failing checks of one case: together they lift it."""
        return [
            self.decide("pair", pair, self.actor, "ab"[self.me]) for pair in self.pairs[2 * PAIRS : 3 * PAIRS]
        ]

    def under_seal(self) -> list[Any]:
        """Two reviewers who both mean to be the first of a round. Last of all: it sets a policy."""
        from reviews.models import ReviewPolicy

        # The other one may still be deciding in the race before.
        self.meet("before the policy")
        if self.me == 0:
            ReviewPolicy.objects.create(
                number=1,
                two_reviewers=["NEW_CRITICAL_FAILURE"],
                sample_percent=0,
                confidence_below=0,
                note=NOTE,
                created_by=self.ann,
            )
        self.meet("policy")
        return [
            self.decide("seal", pair, self.actor, "sealed", decision="FAIL", kind=True)
            for pair in self.pairs[3 * PAIRS :]
        ]

    def one_person_takes(self) -> Any:
        """The same person asks for the next entry in two windows."""
        from reviews import services

        self.meet("window")
        entry = services.reserve_next(actor=self.ann)
        self.meet("window-done")
        if self.me == 0 and entry:
            services.release(entry_id=entry.pk, actor=self.ann)
        return entry and entry.pk

    def two_take(self) -> list[int]:
        """Both empty the queue."""
        from reviews import services

        taken = []
        self.meet("takers")
        while entry := services.reserve_next(actor=self.actor):
            taken.append(entry.pk)
            services.close_entry(entry_id=entry.pk, note=NOTE, actor=self.actor)
        return taken

    def both_flag(self) -> Any:
        from reviews import services

        self.meet("flag")
        entry, is_new = services.flag_case(pair_id=self.pairs[0].pk, note=NOTE, actor=self.actor)
        return [entry.pk, is_new]

    def append(self) -> list[int]:
        from reviews import audit

        self.meet("append")
        return [
            audit.record(action="raced", subject_type="race", actor=self.actor).sequence
            for _ in range(APPENDS)
        ]

    def run_and_review(self) -> Any:
        """One runs a comparison and stores all its cases; the other decides meanwhile."""
        if self.me == 0:
            return self._run()
        self.meet("run")
        waits = []
        while not (self.meeting_point / "ran").exists():
            begun = time.monotonic()
            for pair in self.pairs[: 2 * PAIRS]:
                answer = self.attempt(lambda pair=pair: self._flip(pair))
                assert isinstance(answer, int), answer
                waits.append(time.monotonic() - begun)
                begun = time.monotonic()
        return [len(waits), max(waits)]

    def _run(self) -> int:
        from evaluations.models import Case
        from evaluations.services.comparisons import start_comparison
        from evaluations.services.waiting import run_here
        from tests.running import documents

        comparison, _ = start_comparison(
            agent=documents.AGENT, baseline="1.0.0", candidate="2.0.0", trials=TRIALS, wake=False
        )
        self.meet("run")
        run_here(comparison.pk)
        (self.meeting_point / "ran").touch()
        return Case.objects.filter(run__comparison=comparison, state="FINISHED").count()

    def _flip(self, pair: Any) -> Any:
        from reviews import services

        target = self.target(pair, "b")
        seen = services.latest_review_ids([target])[target]
        return services.override_result(
            result_id=target, decision="FAIL", note=NOTE, seen_review_id=seen, actor=self.actor
        )

    def decide(
        self,
        race: str,
        pair: Any,
        actor: Any,
        check: str,
        token: Any = None,
        *,
        decision: str = "PASS",
        kind: bool = False,
    ) -> Any:
        from reviews import services

        target = self.target(pair, check)
        self.meet(f"{race}-{pair.pk}")
        return self.attempt(
            lambda: services.override_result(
                result_id=target,
                decision=decision,
                note=NOTE,
                seen_review_id=0,
                actor=actor,
                form_token=token,
            ),
            kind=kind,
        )

    def target(self, pair: Any, check: str) -> int:
        from evaluations.models import ExpectationResult

        results = ExpectationResult.objects.filter(case__pair=pair, case__run__side="CANDIDATE")
        return results.get(expectation_id=check).pk

    def attempt(self, do: Callable[[], Any], *, kind: bool = False) -> Any:
        """The id of what was made (or of which kind it is), or the code of the refusal."""
        from reviews.errors import ReviewError

        try:
            made = do()
            return type(made).__name__ if kind else made.pk
        except ReviewError as refusal:
            return refusal.code


RACES = (
    "same_form",
    "same_result",
    "same_pair",
    "one_person_takes",
    "two_take",
    "both_flag",
    "append",
    "run_and_review",
    "under_seal",
)

if __name__ == "__main__":
    django.setup()
    if len(sys.argv) == 1:
        prepare()
    else:
        racer = Racer(int(sys.argv[1]), Path(sys.argv[2]))
        print(json.dumps({name: getattr(racer, name)() for name in RACES}))
