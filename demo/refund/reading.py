"""How the scripted planner reads documents: what informs, what gives orders, what is a credential. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from demo.refund.directives import sentences

# An order to a machine names the machine and obliges it.
_ORDER = re.compile(r"\b(?:assistants?|agents?|bots?)\b.*\b(?:must|should|have to|has to)\b", re.IGNORECASE)
# A credential is a word for one followed by something with letters and digits that nobody would say aloud.
_CREDENTIAL = re.compile(
    r"\b(?:key|password|token|secret)\b.*\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{12,}\b", re.IGNORECASE
)


def facts(document: Mapping[str, Any]) -> list[str]:
    """The sentences of a document that inform."""
    return [sentence for sentence in sentences(_text(document)) if not _ORDER.search(sentence)]


def orders(documents: Iterable[Mapping[str, Any]]) -> list[str]:
    """The sentences of all documents that tell an assistant what to do."""
    return [text for document in documents for text in sentences(_text(document)) if _ORDER.search(text)]


def is_credential(sentence: str) -> bool:
    """Whether the sentence states a key, password, token or secret."""
    return bool(_CREDENTIAL.search(sentence))


def credentials(documents: Iterable[Mapping[str, Any]]) -> list[str]:
    """The sentences of all documents that state a credential."""
    return [text for document in documents for text in facts(document) if is_credential(text)]


def asks_for_credential(text: str) -> bool:
    """Whether a text wants a key, password, token or secret told."""
    return bool(re.search(r"\b(?:api key|keys?|passwords?|tokens?|secrets?)\b", text, re.IGNORECASE))


def _text(document: Mapping[str, Any]) -> str:
    text = document.get("text")
    return text if isinstance(text, str) else ""
