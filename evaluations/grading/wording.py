"""Values and lists inside sentences: short, on one line, storable.

What is shown may hold planted secrets: the caller redacts a value before it is cut here, because half a
secret is no longer recognised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from twins.engine.values import compact_json, text_form
from twins.engine.visible import visible

MAX_VALUE = 80
MAX_CALL = 300

# No database keeps NUL, no encoder a lone surrogate, and a reason is one line.
_UNCLEAN = re.compile("[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")


def storable(text: str) -> str:
    """`text` on one line, without anything a database or a terminal chokes on: a path stays a path."""
    return _UNCLEAN.sub(" ", text) if _UNCLEAN.search(text) else text


def clean(text: str) -> str:
    """`text` as `storable`, with hidden characters written out (`\\u202e`): for what a person reads."""
    return visible(storable(text))


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, with an ellipsis where something is missing."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def shown(value: Any, limit: int = MAX_VALUE) -> str:
    """A JSON value in a sentence: compact JSON, texts in quotes."""
    return cut(visible(compact_json(value)), limit)


def plural(number: int, noun: str) -> str:
    """`1 call`, `2 calls`; the noun's plural is regular."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def listed(items: Sequence[str], limit: int = 5) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b and 7 more`."""
    if len(items) > limit:
        return f"{', '.join(items[:limit])} and {len(items) - limit} more"
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def calls_named(seqs: Iterable[int], limit: int = 10) -> str:
    """`call 3`, `calls 3 and 4`, by sequence numbers."""
    names = [str(seq) for seq in seqs]
    return f"call{'' if len(names) == 1 else 's'} {listed(names, limit)}"


def call_text(tool: str, arguments: Any, redact: Callable[[Any], Any] | None = None) -> str:
    """`refund_payment(amount=40, order_id=ORD-1001)`: arguments by name, sorted, long values cut."""
    if redact is not None:
        tool, arguments = redact(tool), redact(arguments)
    if not isinstance(arguments, Mapping):
        inside = cut(text_form(arguments), MAX_VALUE)
    else:
        named = ((name, _argument(arguments[name])) for name in sorted(arguments))
        inside = ", ".join(f"{cut(name, MAX_VALUE)}={cut(value, MAX_VALUE)}" for name, value in named)
    return clean(f"{cut(tool, 100)}({cut(inside, MAX_CALL)})")


def _argument(value: Any) -> str:
    return "null" if value is None else text_form(value)


def overridden_told(number: int) -> str:
    """`2 results overridden by a person`: they count as something else than what was measured."""
    return f"{number} result{'' if number == 1 else 's'} overridden by a person"
