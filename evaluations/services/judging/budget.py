"""What a judge may use up: calls and money, counted before a question goes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from django.conf import settings
from django.db import transaction
from django.db.models import F

from evaluations.judges.interface import MAX_REPLY_TOKENS, JudgeSettings
from evaluations.models import JudgeSpending


class Budget(Protocol):
    """Hands out calls as long as there is something left."""

    def reserve(self, wanted: int) -> int:
        """How many of these calls may be made. They count from now on, also when they fail."""

    def settle(self, cost_usd: float | None, shown: str) -> None:
        """A reply came and cost this much; None is not known."""

    def close(self) -> None:
        """Write down what has come in since the last call was reserved."""

    @property
    def told(self) -> str:
        """What was spent of what may be, in words."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that may be used up; no cost is no limit."""

    calls: int
    cost_usd: float | None

    @classmethod
    def configured(cls) -> Limits:
        return cls(settings.JUDGE_MAX_CALLS, settings.JUDGE_MAX_COST_USD)

    def left(self, calls: int, cost_usd: float) -> int:
        if self.cost_usd is not None and cost_usd >= self.cost_usd:
            return 0
        return max(self.calls - calls, 0)

    def told(self, calls: int, cost_usd: float) -> str:
        spent = f"{calls:,} of {self.calls:,} calls"
        if self.cost_usd is not None:
            spent += f" and {cost_usd:.4f} of {self.cost_usd:.4f} USD"
        elif cost_usd:
            spent += f" and {cost_usd:.4f} USD"
        return f"its budget is used up ({spent})"


class ComparisonBudget:
    """Shared by all who judge one comparison, in one row."""

    def __init__(self, comparison_id: int, chosen: JudgeSettings) -> None:
        self._comparison_id, self._chosen = comparison_id, chosen
        self._limits = Limits.configured()
        self._unsettled = 0.0
        self._seen = (0, 0.0)

    def reserve(self, wanted: int) -> int:
        with transaction.atomic():
            row, _ = JudgeSpending.objects.select_for_update().get_or_create(
                comparison_id=self._comparison_id
            )
            cost = row.cost_usd + self._unsettled
            granted = min(wanted, self._limits.left(row.calls, cost))
            JudgeSpending.objects.filter(pk=row.pk).update(
                calls=F("calls") + granted, cost_usd=F("cost_usd") + self._unsettled
            )
        self._unsettled = 0.0
        self._seen = (row.calls + granted, cost)
        return granted

    def settle(self, cost_usd: float | None, shown: str) -> None:
        self._unsettled += at_most(cost_usd, shown, self._chosen)

    def close(self) -> None:
        if self._unsettled:
            JudgeSpending.objects.filter(pk=self._comparison_id).update(
                cost_usd=F("cost_usd") + self._unsettled
            )
            self._unsettled = 0.0

    @property
    def told(self) -> str:
        return self._limits.told(*self._seen)


class SessionBudget:
    """Of one manual session: it is judged in one go, so nobody else counts."""

    def __init__(self, chosen: JudgeSettings) -> None:
        self._chosen = chosen
        self._limits = Limits.configured()
        self._calls, self._cost = 0, 0.0

    def reserve(self, wanted: int) -> int:
        granted = min(wanted, self._limits.left(self._calls, self._cost))
        self._calls += granted
        return granted

    def settle(self, cost_usd: float | None, shown: str) -> None:
        self._cost += at_most(cost_usd, shown, self._chosen)

    def close(self) -> None:
        """Nothing is kept of it."""

    @property
    def told(self) -> str:
        return self._limits.told(self._calls, self._cost)


def at_most(cost_usd: float | None, shown: str, chosen: JudgeSettings) -> float:
    """The cost, or where a provider does not say what it counted, the most that it can have been.

    A token is at least a byte, and a reply has no more tokens than were allowed.
    """
    if cost_usd is not None:
        return cost_usd
    if chosen.price_input is None or chosen.price_output is None:
        return 0.0
    sent = len(shown.encode("utf-8", "replace"))
    return (sent * chosen.price_input + MAX_REPLY_TOKENS * chosen.price_output) / 1_000_000
