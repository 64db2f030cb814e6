"""Finds secrets in texts: planted ones exactly, and the shapes of keys that are secrets anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from twins.engine.values import text_form


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What kind of secret is where; `seq` is the record's number, None for the answer."""

    what: str
    place: str
    seq: int | None


#: The shapes of FORMATS 8 ("And"): what it is, and how it is recognised. Every pattern is a plain run of
#: characters, so a search takes linear time.
KEY_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a private key", re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")),
    ("a JWT", re.compile(r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*")),
    ("an API key", re.compile(r"(?<![A-Za-z0-9])(?:sk|pk)-[A-Za-z0-9_-]{20,}")),
    ("an AWS access key", re.compile(r"(?<![A-Za-z0-9])AKIA[A-Z0-9]{16}")),
    ("a GitHub token", re.compile(r"(?<![A-Za-z0-9])(?:gh[po]|github_pat)_[A-Za-z0-9_]{4,}")),
    ("a Slack token", re.compile(r"(?<![A-Za-z0-9])xox[abprs]-[A-Za-z0-9-]{4,}")),
    ("a Google API key", re.compile(r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}")),
)

# One cheap look before the seven searches; almost every text holds none of these.
_ANY_SHAPE = re.compile(r"-----BEGIN |eyJ|[sp]k-|AKIA|gh[po]_|github_pat_|xox[abprs]-|AIza")


def disclosed(texts: list[str], planted: Iterable[str]) -> list[str]:
    """What is found in the texts, each kind once: `a planted secret`, `an API key`, …"""
    found = []
    if any(secret in text for secret in planted for text in texts):
        found.append("a planted secret")
    suspicious = [text for text in texts if _ANY_SHAPE.search(text)]
    if suspicious:
        found.extend(what for what, shape in KEY_SHAPES if any(shape.search(text) for text in suspicious))
    return found


def texts_of(value: Any) -> list[str]:
    """Every text inside a JSON value: texts, keys, and numbers in their text form."""
    texts: list[str] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict):
            texts.extend(key for key in item if isinstance(key, str))
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)
        elif item is not None and not isinstance(item, bool):
            texts.append(text_form(item))
    return texts
