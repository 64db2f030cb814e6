"""Every judge provider by its name. A new one is one module with one class, and one line here.

The module of a provider is imported when it is asked for, and its client library with it: whoever judges with
the fake needs neither.
"""

from __future__ import annotations

import importlib

from evaluations.judges.interface import FAKE_PROVIDER, Judge, JudgeSettings
from evaluations.judges.prompt import Prompt, shipped_prompt

#: name -> the class that `configured(settings, prompt)` makes a judge of.
PROVIDERS: dict[str, str] = {
    FAKE_PROVIDER: "evaluations.judges.fake.FakeJudge",
    "anthropic": "evaluations.judges.anthropic.AnthropicJudge",
    "openai": "evaluations.judges.openai.OpenAIJudge",
}
#: Those that need `model` to be named.
NAMED_MODEL = frozenset(PROVIDERS) - {FAKE_PROVIDER}


def judge_for(settings: JudgeSettings, prompt: Prompt | None = None) -> Judge:
    """The configured judge.

    Raises:
        ValueError: an unknown provider (says which there are), or one that needs a model without one.
    """
    place = PROVIDERS.get(settings.provider)
    if place is None:
        raise ValueError(f"unknown judge {settings.provider!r}, known: {', '.join(sorted(PROVIDERS))}")
    if settings.provider in NAMED_MODEL and not settings.model:
        raise ValueError(f"the judge {settings.provider!r} needs JUDGE_MODEL")
    module, _, name = place.rpartition(".")
    made: Judge = getattr(importlib.import_module(module), name).configured(
        settings, prompt or shipped_prompt()
    )
    return made
