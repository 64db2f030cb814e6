"""What a judge is shown: the prompt with the material in blocks that no text inside them can close.

The lines around a block carry a mark that is derived from everything shown and is searched for in it: should
it ever occur, another is taken. So nobody who writes an answer, a tool's result or a file name can write the
line that ends his block, and the same question still always looks the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from evaluations.judges.interface import JudgeIdentity, JudgeRequest
from evaluations.judges.prompt import Prompt

RUBRIC = "rubric"
_MARK_LENGTH = 16

# Characters that draw over others, hide or turn text round; a tab and a line feed may stay. Every kind of
# line break becomes a plain one, so that a line begins only where everybody sees it begin.
_BREAKS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f\x80-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """Exactly the two texts that are sent."""

    system: str
    user: str

    @property
    def text(self) -> str:
        """Both in one, as they are kept with a verdict."""
        return f"{self.system}\n\n{self.user}"


def render(request: JudgeRequest, prompt: Prompt) -> Shown:
    """The texts for one question. The same request and prompt always give the same texts."""
    blocks = {RUBRIC: request.rubric, **request.material.sources}
    blocks = {name: visible(text) for name, text in blocks.items()}
    mark = _mark((request.criterion, *blocks, *blocks.values()))
    written = "\n\n".join(_block(name, text, mark) for name, text in blocks.items())
    # The material goes in last: a placeholder inside it is only text.
    about = f"\n{request.criterion_text}" if request.criterion_text else ""
    user = prompt.request.replace("\n{criterion_text}", about)
    user = user.replace("{criterion}", _one_line(request.criterion))
    head, _, tail = user.partition("{blocks}")
    return Shown(prompt.system, f"{head}{written}{tail}")


def visible(text: str) -> str:
    """The text without anything a reader would not see, all its lines ending alike."""
    text = _BREAKS.sub("\n", text)
    return _UNSEEN.sub("\ufffd", text)


def request_digest(request: JudgeRequest, identity: JudgeIdentity, *, address: str = "", of: str = "") -> str:
    """Names everything that shapes a verdict: two questions with one digest have one answer.

    `of` sets questions apart that look the same and are not: the repeated trials of an agent that does not
    always do the same.
    """
    shaping = {
        "judge": identity.to_json(),
        "address": address,
        "criterion": [request.criterion, request.criterion_text],
        "rubric": request.rubric,
        "threshold": request.threshold,
        "material": request.material.to_json(),
        "of": of,
    }
    canonical = json.dumps(shaping, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def rubric_digest(rubric: str) -> str:
    """The SHA-256 by which a rubric's versions are told apart."""
    return hashlib.sha256(rubric.encode("utf-8", "surrogatepass")).hexdigest()


def _mark(texts: tuple[str, ...]) -> str:
    joined = "\x00".join(texts)
    number = 0
    while True:
        made = hashlib.sha256(f"{number}\x00{joined}".encode()).hexdigest()[:_MARK_LENGTH]
        if made not in joined:
            return made
        number += 1


def _block(name: str, text: str, mark: str) -> str:
    # The name is one of ours, never an agent's: a tool may be called anything.
    return f"<<<{name} {mark}\n{text}\n>>>{name} {mark}"


def _one_line(text: str) -> str:
    return " ".join(visible(text).split())
