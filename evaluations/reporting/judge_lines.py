"""Who judged and what that is worth, in the words of the reports: an honest label beside every judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evaluations.judges.interface import FAKE_LABEL, NOT_A_MODEL

if TYPE_CHECKING:
    from evaluations.page_queries.judged import JudgeOfComparison


def judge_lines(judges: Sequence[JudgeOfComparison]) -> list[str]:
    """A line for each judge: what it is, and by which criterion it is calibrated or not."""
    return [
        f"judged by {_name(one)}: {', '.join(f'{by.criterion} {by.standing.tag}' for by in one.criteria)}"
        for one in judges
    ]


def _name(one: JudgeOfComparison) -> str:
    honest = NOT_A_MODEL if one.judge.label == FAKE_LABEL else one.judge.label
    return f"{one.judge.provider} {one.judge.model} ({honest})"
