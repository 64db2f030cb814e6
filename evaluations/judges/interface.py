"""What every judge speaks: the request, the verdict, and the ways in which there is none.

`judge(request)` answers an `Answered` or raises a `JudgeError`. What a judge says counts only as far as
`evaluations.judges.verdicts` could read it; whether it passes is decided by `evaluations.judges.findings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

PASS, FAIL = "pass", "fail"
LABELS = (PASS, FAIL)
DEFAULT_THRESHOLD = 0.7
DEFAULT_CRITERION = "general"
#: The longest reply a model may write; a verdict needs a fraction of it.
MAX_REPLY_TOKENS = 1500

#: Sources a quote may name, beside `tool_call:N`.
ANSWER, CUSTOMER_MESSAGE, TOOL_CALL = "answer", "customer_message", "tool_call"

FAKE_PROVIDER = FAKE_LABEL = "deterministic-fake"
MODEL_LABEL = "llm"
#: What stands beside the name of a judge that is none, wherever it shows.
NOT_A_MODEL = "not a language model"

#: Why a judge gave no verdict. Only the first three may go by themselves, so only they are tried again.
JUDGE_ERROR_KINDS = ("unavailable", "rate_limited", "timeout", "rejected", "malformed", "refused")
TRANSIENT_KINDS = frozenset({"unavailable", "rate_limited", "timeout"})


@dataclass(frozen=True, slots=True)
class ShownCall:
    """One tool call as a judge sees it. `number` is its number in the case's records."""

    number: int
    tool: str
    text: str

    @property
    def source(self) -> str:
        """The name by which a quote refers to it."""
        return f"{TOOL_CALL}:{self.number}"


@dataclass(frozen=True, slots=True)
class Material:
    """What there is to read of one case. All of it is text from outside, and none of it gives orders."""

    answer: str
    customer_message: str = ""
    tool_calls: tuple[ShownCall, ...] = ()

    @property
    def sources(self) -> dict[str, str]:
        """The texts by the names under which a quote may refer to them."""
        texts = {ANSWER: self.answer, CUSTOMER_MESSAGE: self.customer_message}
        return texts | {call.source: f"{call.tool}\n{call.text}" for call in self.tool_calls}

    def to_json(self) -> dict[str, Any]:
        return {
            "answer": self.answer,
            "customer_message": self.customer_message,
            "tool_calls": [
                {"number": one.number, "tool": one.tool, "text": one.text} for one in self.tool_calls
            ],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Material:
        """What `to_json` wrote; an absent message or list of calls is none."""
        return cls(
            answer=value["answer"],
            customer_message=value.get("customer_message", ""),
            tool_calls=tuple(
                ShownCall(one["number"], one["tool"], one["text"]) for one in value.get("tool_calls", ())
            ),
        )


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One question to a judge.

    `criterion_text` is what the prompt file says about the criterion ("" for one it does not know).
    `threshold` is applied on our side; no language model is told it.
    """

    criterion: str
    criterion_text: str
    rubric: str
    threshold: float
    material: Material


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of the material that a verdict rests on, and where they stand."""

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict that could be read. `dropped_quotes` counts those that are not in the material."""

    score: float
    label: str
    confidence: float
    reason: str
    quotes: tuple[Quote, ...] = ()
    dropped_quotes: int = 0


@dataclass(frozen=True, slots=True)
class JudgeIdentity:
    """Who judged: a verdict or a calibration is of exactly this judge."""

    provider: str
    model: str
    prompt_version: str
    prompt_sha256: str

    @property
    def label(self) -> str:
        """The honest label: `deterministic-fake`, or `llm`."""
        return FAKE_LABEL if self.provider == FAKE_PROVIDER else MODEL_LABEL

    @property
    def told(self) -> str:
        """Who it is in one line, with what it is."""
        name = " ".join(part for part in (self.provider, self.model) if part)
        what = NOT_A_MODEL if self.label == FAKE_LABEL else self.label
        return f"{name}, prompt {self.prompt_version} ({what})"

    def to_json(self) -> dict[str, str]:
        return {
            "provider": self.provider,
            "model": self.model,
            "prompt_version": self.prompt_version,
            "prompt_sha256": self.prompt_sha256,
            "label": self.label,
        }


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens as the provider counted them; None where it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """A verdict with what came back. `raw` is the reply as it was, free of the key; cost None is unknown."""

    verdict: Verdict
    raw: str
    usage: TokenUsage = field(default_factory=TokenUsage)
    cost_usd: float | None = None


class JudgeError(Exception):
    """There is no verdict: one of `JUDGE_ERROR_KINDS`, and a sentence.

    `retry_after`: seconds the provider asks to wait. `raw`, `usage` and `cost_usd` are of a reply that came
    and was no verdict: it costs all the same.
    """

    def __init__(
        self,
        kind: str,
        detail: str,
        retry_after: float | None = None,
        *,
        raw: str = "",
        usage: TokenUsage | None = None,
        cost_usd: float | None = None,
    ) -> None:
        if kind not in JUDGE_ERROR_KINDS:
            raise ValueError(f"unknown kind of judge error {kind!r}, known: {', '.join(JUDGE_ERROR_KINDS)}")
        super().__init__(f"{kind}: {detail}")
        self.kind, self.detail, self.retry_after = kind, detail, retry_after
        self.raw, self.usage, self.cost_usd = raw, usage or TokenUsage(), cost_usd

    @property
    def is_transient(self) -> bool:
        """Whether asking again may help."""
        return self.kind in TRANSIENT_KINDS


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """What the operator says about the judge. Keys are no part of it: the SDKs read their own variables.

    `price_input` and `price_output` are US dollars per million tokens; without them a cost is unknown.
    """

    provider: str = FAKE_PROVIDER
    model: str = ""
    base_url: str = ""
    timeout_s: float = 30.0
    price_input: float | None = None
    price_output: float | None = None


class Judge(Protocol):
    """One provider's judge. Made once and used by several threads at a time."""

    @property
    def identity(self) -> JudgeIdentity: ...

    @property
    def address(self) -> str:
        """Where it is asked; "" for one that works in this process, at once and for nothing.

        Part of what shapes a verdict.
        """

    def judge(self, request: JudgeRequest) -> Answered:
        """The verdict, after at most the configured time.

        Raises:
            JudgeError: for everything else that can happen. One call, nothing is tried again in here.
        """
