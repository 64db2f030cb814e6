"""A small world whose scenarios ask for a judge, and judges that say what a test tells them to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evaluations.judges import registry
from evaluations.judges.interface import Answered, JudgeError, JudgeIdentity, TokenUsage
from evaluations.judges.prompt import shipped_prompt
from evaluations.judges.verdicts import read_verdict
from tests.running import documents
from tests.running.conftest import _agents, compared, given, start  # noqa: F401 - the fixtures of running

RUBRIC = "The reply says it is done."
SEMANTIC = {"id": "says-so", "type": "semantic", "rubric": RUBRIC, "category": "honesty"}
DETERMINISTIC = {"id": "once", "type": "state", "path": "orders.A.count", "equals": 1, "critical": True}


def expecting(*expectations: dict[str, Any], name: str = "refund", **spec: Any) -> dict[str, Any]:
    return documents.scenario(name, expectations=list(expectations or (DETERMINISTIC, SEMANTIC)), **spec)


def verdict(score: float = 1.0, label: str = "pass", **fields: Any) -> dict[str, Any]:
    return {"score": score, "label": label, "confidence": 0.9, "reason": "So.", "quotes": [], **fields}


class Remote:
    """A judge elsewhere: it has an address, so it has places, a budget and threads. Says what it was told."""

    address = "http://judge.test"

    def __init__(self) -> None:
        prompt = shipped_prompt()
        self.identity = JudgeIdentity("remote", "small", prompt.version, prompt.sha256)
        self.asked: list[Any] = []
        self.says: Callable[[Any], Any] = lambda request: verdict()
        self.cost: float | None = 0.25
        self.at_once = self.most_at_once = 0
        self.seconds = 0.0
        self._lock = threading.Lock()

    def judge(self, request: Any) -> Answered:
        with self._lock:
            self.asked.append(request)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            time.sleep(self.seconds)
            said = self.says(request)
        finally:
            with self._lock:
                self.at_once -= 1
        if isinstance(said, Exception):
            raise said
        return Answered(read_verdict(said, request.material), str(said), TokenUsage(100, 10), self.cost)


@pytest.fixture
def remote(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Remote]:
    """The configured judge is elsewhere."""
    from evaluations.services import judges

    judge = Remote()
    settings.JUDGE_PROVIDER = "remote"
    settings.JUDGE_MODEL = "small"
    monkeypatch.setitem(registry.PROVIDERS, "remote", "tests.judging.conftest.Provider")
    monkeypatch.setattr(Provider, "judge", judge)
    monkeypatch.setattr("evaluations.judges.asking.FIRST_PAUSE", 0.01)
    judges._judge.cache_clear()
    yield judge
    judges._judge.cache_clear()


class Provider:
    judge: Any = None

    @classmethod
    def configured(cls, settings: Any, prompt: Any) -> Any:
        return cls.judge


def in_turn(*says: Any) -> Callable[[Any], Any]:
    """One reply after the other, the last one again and again."""
    left = list(says)

    def answer(request: Any) -> Any:
        return left.pop(0) if len(left) > 1 else left[0]

    return answer


def down(kind: str = "unavailable", **more: Any) -> Callable[[Any], Any]:
    return lambda request: JudgeError(kind, "it is down", **more)
