"""Reading a judge's reply: exactly one verdict in exactly the agreed form, or nothing.

Nothing is repaired and nothing has a default. A reply that could be read in two ways (a field twice, two
objects, words around the object, a number that is none) is `malformed`, because a guess would be a grade.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from evaluations.judges.interface import LABELS, JudgeError, Material, Quote, Verdict
from evaluations.judges.rendering import visible

MAX_REPLY_CHARACTERS = 64 * 1024
MAX_REASON = 600
MAX_QUOTES = 10
MAX_QUOTE = 600
MAX_SENTENCES = 2
_FIELDS = ("score", "label", "confidence", "reason", "quotes")
_SHOWN = 60
_FENCE = re.compile(r"\A```[a-zA-Z]*[ \t]*\n(.*)\n```\Z", re.DOTALL)
# The end of a sentence: a stop and a blank after it. `2.5` and `ORD-1.` at the end of a text are none.
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+")


def read_json(text: str) -> Any:
    """The one JSON value of a text.

    Raises:
        ValueError: no JSON, more than one value, a key twice, or a number JSON does not have.
    """
    try:
        return json.loads(
            text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_without_doubles
        )
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def verdict_of_text(text: str, material: Material) -> Verdict:
    """The verdict of a reply in words: the whole reply is one JSON object, or one fenced block that is it.

    Raises:
        JudgeError: `malformed`, with what was found.
    """
    if len(text) > MAX_REPLY_CHARACTERS:
        raise JudgeError("malformed", f"the reply has more than {MAX_REPLY_CHARACTERS} characters")
    stripped = text.strip()
    fenced = _FENCE.match(stripped)
    try:
        value = read_json(fenced.group(1) if fenced else stripped)
    except ValueError as problem:
        raise JudgeError("malformed", f"the reply is not one JSON object: {problem}") from None
    return read_verdict(value, material)


def read_verdict(value: Any, material: Material) -> Verdict:
    """The verdict of a parsed reply. Quotes that are not in the material are dropped and counted.

    Raises:
        JudgeError: `malformed`, naming every problem at once.
    """
    if not isinstance(value, Mapping):
        raise JudgeError("malformed", f"the verdict must be an object, got {_shown(value)}")
    problems = [f"{name} is missing" for name in _FIELDS if name not in value]
    problems += [f"{_shown(name)} is no field of a verdict" for name in value if name not in _FIELDS]
    checks: dict[str, Callable[[Any, str, list[str]], Any]] = {
        "score": _share,
        "label": _label,
        "confidence": _share,
        "reason": _reason,
        "quotes": _quotes,
    }
    read = {name: check(value[name], name, problems) for name, check in checks.items() if name in value}
    if problems:
        raise JudgeError("malformed", f"no verdict: {'; '.join(problems[:_SHOWN])}")
    kept, dropped = _in_material(read["quotes"], material)
    return Verdict(
        score=read["score"],
        label=read["label"],
        confidence=read["confidence"],
        reason=read["reason"],
        quotes=kept,
        dropped_quotes=dropped,
    )


def _share(value: Any, name: str, problems: list[str]) -> float:
    # bool("false") is True and True is 1: only a number that is one counts.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:  # NaN is not between anything
        problems.append(f"{name} must be a number from 0 to 1, got {_shown(value)}")
        return 0.0
    return float(value)


def _label(value: Any, name: str, problems: list[str]) -> str:
    if not isinstance(value, str) or value not in LABELS:
        problems.append(f'{name} must be "pass" or "fail", got {_shown(value)}')
        return ""
    return value


def _reason(value: Any, name: str, problems: list[str]) -> str:
    text = " ".join(visible(value).split()) if isinstance(value, str) else ""
    if not text:
        problems.append(f"{name} must be a text that says something, got {_shown(value)}")
        return ""
    return _short(_first_sentences(text), MAX_REASON)


def _quotes(value: Any, name: str, problems: list[str]) -> list[Quote]:
    if not isinstance(value, list):
        problems.append(f"{name} must be a list, got {_shown(value)}")
        return []
    quotes = []
    for position, one in enumerate(value):
        fits = isinstance(one, Mapping) and one.keys() == {"source", "text"}
        if not fits or not all(isinstance(text, str) for text in one.values()):
            problems.append(f"{name}[{position}] must be a source and a text, got {_shown(one)}")
            continue
        quotes.append(Quote(one["source"], one["text"]))
    return quotes


def _in_material(quotes: list[Quote], material: Material) -> tuple[tuple[Quote, ...], int]:
    """The quotes that are really there. Blanks and line breaks may differ, letters may not."""
    sources = {name: _one_line(text) for name, text in material.sources.items()}
    kept: list[Quote] = []
    for quote in quotes:
        words = _one_line(quote.text)
        is_there = bool(words) and words in sources.get(quote.source, "")
        if is_there and len(words) <= MAX_QUOTE and len(kept) < MAX_QUOTES:
            kept.append(Quote(quote.source, words))
    return tuple(kept), len(quotes) - len(kept)


def _first_sentences(text: str) -> str:
    ends = [match.start() for match in _SENTENCE_END.finditer(text)]
    return text if len(ends) < MAX_SENTENCES else text[: ends[MAX_SENTENCES - 1]]


def _one_line(text: str) -> str:
    return " ".join(visible(text).split())


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return _short(text, _SHOWN)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {_short(text, 20)} is too large")
    return number


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key stands in it twice")
    return value
