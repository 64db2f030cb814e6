"""Search in a twin's knowledge base: by how often the words of the query occur (FORMATS 8)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from .values import text_form

DEFAULT_LIMIT: Final = 3
MAX_LIMIT: Final = 10
SHORTEST_WORD: Final = 3

_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Document:
    """A document that can be found. `trusted` is false for one planted by a scenario that does not say so."""

    id: str
    title: str
    text: str
    trusted: bool

    def to_json(self) -> dict[str, str]:
        """What a caller sees of it; whether it is trusted is for the reviewer only."""
        return {"id": self.id, "title": self.title, "text": self.text}


def twin_documents(value: Any) -> list[Document]:
    """The documents of a twin's own knowledge base; an entry that is no object with an id is passed over."""
    if not isinstance(value, list):
        return []
    return [
        Document(
            text_form(entry["id"]), text_form(entry.get("title")), text_form(entry.get("text")), trusted=True
        )
        for entry in value
        if isinstance(entry, dict) and entry.get("id") is not None
    ]


def effective_limit(limit: Any) -> int:
    """How many documents are answered: 3 unless a number is asked for, at most 10, not below 0."""
    if isinstance(limit, bool) or not isinstance(limit, int):
        return DEFAULT_LIMIT
    return max(0, min(limit, MAX_LIMIT))


def rank(documents: Iterable[Document], query: str, limit: int) -> list[Document]:
    """The best documents for a query: most occurrences of its words first, ties by id, no hit left out.

    Whole words of three or more characters count, case folded, each word of the query once.
    """
    words = {word for word in _words(query) if len(word) >= SHORTEST_WORD}
    scored = []
    for document in documents:
        counts = _word_counts(document.title, document.text)
        score = sum(counts[word] for word in words)
        if score:
            scored.append((-score, document.id, document))
    scored.sort(key=lambda entry: entry[:2])
    return [document for _, _, document in scored[:limit]]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


@lru_cache(maxsize=2048)
def _word_counts(title: str, text: str) -> Counter[str]:
    """Counted once per text: every case of a run searches the same documents."""
    return Counter(_words(title) + _words(text))
