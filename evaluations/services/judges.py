"""The judge of this installation, out of its settings."""

from __future__ import annotations

import functools

from django.conf import settings

from evaluations.judges.interface import (
    DEFAULT_CRITERION,
    FAKE_PROVIDER,
    Judge,
    JudgeRequest,
    JudgeSettings,
    Material,
)
from evaluations.judges.prompt import shipped_prompt
from evaluations.judges.registry import judge_for

# What an expectation may write to say that any judge will do.
DEFAULT_JUDGE = "default"


def judge_settings() -> JudgeSettings:
    """What the operator says about the judge."""
    return JudgeSettings(
        provider=settings.JUDGE_PROVIDER,
        model=settings.JUDGE_MODEL,
        base_url=settings.JUDGE_BASE_URL,
        timeout_s=settings.JUDGE_TIMEOUT_S,
        price_input=settings.JUDGE_PRICE_INPUT,
        price_output=settings.JUDGE_PRICE_OUTPUT,
    )


def configured_judge() -> Judge:
    """The judge that grades here. ValueError if the settings name none."""
    return _judge(judge_settings())


def judge_named(name: str | None) -> tuple[Judge, str]:
    """The judge that an expectation asks for, and why it cannot be asked here ("" if it can).

    The configured one by its provider's name, the fake by its own; another provider has no model here.
    """
    judge = configured_judge()
    if name is None or name in (DEFAULT_JUDGE, judge.identity.provider):
        return judge, ""
    if name == FAKE_PROVIDER:
        return _judge(JudgeSettings()), ""
    configured = judge.identity.provider
    return judge, f"the scenario asks for the judge {name!r}, and {configured} is the one configured here"


def judge_request(*, category: str, rubric: str, threshold: float, material: Material) -> JudgeRequest:
    """The question of one expectation: its category is the criterion."""
    criterion = category or DEFAULT_CRITERION
    text = shipped_prompt().criterion_text(criterion)
    return JudgeRequest(criterion, text, rubric, threshold, material)


@functools.lru_cache(maxsize=8)
def _judge(chosen: JudgeSettings) -> Judge:
    return judge_for(chosen)
