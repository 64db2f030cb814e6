"""A twin's tools in plain sentences. Pure: from the document as it is shown, so with its secrets redacted.

The words follow the engine (FORMATS 2); tests hold every table here against the engine's own registries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from twins.engine.values import compact_json

VALUE_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a sentence; `is_code`: a name, a path or a value, set in the monospaced face."""

    text: str
    is_code: bool = False


Sentence = tuple[Part, ...]

RISK_WORDS: Final[Mapping[str, str]] = {
    "READ": "It reads and changes nothing.",
    "WRITE_REVERSIBLE": "It changes something that can be taken back.",
    "WRITE_IRREVERSIBLE": "It changes something that cannot be taken back.",
    "EXECUTE": "It runs something.",
    "ADMIN": "For administrators: an agent that calls it meets a policy and gets 403 ADMIN_ONLY.",
}

# Verb, preposition, whether the operand is named before the place.
EFFECT_WORDS: Final[Mapping[str, tuple[str, str, bool]]] = {
    "set": ("sets", "to", False),
    "increment": ("adds", "to", True),
    "decrement": ("subtracts", "from", True),
    "append": ("appends", "to", True),
    "delete": ("deletes", "", False),
    "merge": ("merges", "into", True),
}

COMPARATOR_WORDS: Final[Mapping[str, str]] = {
    "equals": "is",
    "notEquals": "is not",
    "in": "is one of",
    "exists": "exists",
    "gte": "is at least",
    "lte": "is at most",
    "gt": "is more than",
    "lt": "is less than",
    "matches": "matches",
}

# Status and code of an error that a document leaves out.
NOT_FOUND: Final = (404, "NOT_FOUND")
PRECONDITION_FAILED: Final = (409, "PRECONDITION_FAILED")

_PLACEHOLDER: Final = re.compile(r"\{[^{}]+\}")


@dataclass(frozen=True, slots=True)
class ToolWords:
    """One tool in words: what comes first, what it changes, what it answers, and what holds around it.

    `effects` complete the sentence `changes`; `facts` are pairs of a label and a sentence.
    """

    first: tuple[Sentence, ...]
    changes: Sentence
    effects: tuple[Sentence, ...]
    answer: Sentence
    facts: tuple[tuple[str, Sentence], ...]


def tool_words(spec: Mapping[str, Any], *, tenant_key: str | None) -> ToolWords:
    """What the tool of this document does. `tenant_key` is the twin's: without one no tenant is checked."""
    handler = spec.get("handler") or {}
    kind = _HANDLERS.get(handler.get("kind", ""))
    first, answer = kind(handler) if kind else ((), say("What it does is not written down."))
    effects, record = handler.get("effects") or (), handler.get("path")
    is_all_below = all(_below(effect["path"], record) for effect in effects)
    return ToolWords(
        first=first,
        changes=say("Changes ", code(record), ":") if is_all_below else say("Then:"),
        effects=tuple(_effect(effect, record if is_all_below else None) for effect in effects),
        answer=answer,
        facts=tuple(_facts(spec, tenant_key)),
    )


def say(*pieces: str | Part | Sentence) -> Sentence:
    """A sentence of texts and parts, in their order."""
    parts: list[Part] = []
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(Part(piece))
        elif isinstance(piece, Part):
            parts.append(piece)
        else:
            parts.extend(piece)
    return tuple(parts)


def code(text: Any) -> Part:
    return Part(str(text), is_code=True)


def value(operand: Any) -> Part:
    """A JSON value in a sentence: a lone placeholder as it is, texts in quotes, long ones cut."""
    if isinstance(operand, str) and _PLACEHOLDER.fullmatch(operand):
        return code(operand)
    text = compact_json(operand)
    return code(text if len(text) <= VALUE_CHARACTERS else text[: VALUE_CHARACTERS - 1] + "…")


def compared(comparators: Mapping[str, Any]) -> Sentence:
    """Comparators as the rest of a sentence about a place: "is at least 40 and is at most 50"."""
    phrases: list[Part] = []
    for name in (known for known in COMPARATOR_WORDS if known in comparators):
        phrases.append(Part(" and " if phrases else " "))
        operand = comparators[name]
        if name == "exists":
            phrases.append(Part("exists" if operand else "does not exist"))
        else:
            phrases += say(f"{COMPARATOR_WORDS[name]} ", value(operand))
    return tuple(phrases)


# --- handlers: the sentences before anything changes, and what is answered ----------------------------

_Told = tuple[tuple[Sentence, ...], Sentence]


def _read(handler: Mapping[str, Any]) -> _Told:
    missing = say("Where there is none: ", _error(handler.get("notFound"), NOT_FOUND), ".")
    if "response" not in handler:
        return (say("Reads the record at ", code(handler["path"]), "."), missing), say("Answers that record.")
    return (say("Looks up ", code(handler["path"]), "."), missing), _answers(handler)


def _mutate(handler: Mapping[str, Any]) -> _Told:
    record, first = handler.get("path"), []
    if record is not None:
        missing = _error(handler.get("notFound"), NOT_FOUND)
        first.append(say("Works on the record at ", code(record), "; where there is none: ", missing, "."))
    first += [_precondition(one) for one in handler.get("preconditions") or ()]
    if "response" in handler:
        return tuple(first), _answers(handler)
    if record is not None:
        return tuple(first), say("Answers the changed record.")
    return tuple(first), say("Answers ", code('{"ok":true}'), ".")


def _precondition(written: Mapping[str, Any]) -> Sentence:
    refusal = _error(written.get("error"), PRECONDITION_FAILED)
    return say("Refuses with ", refusal, " unless ", code(written["path"]), compared(written), ".")


def _answers(handler: Mapping[str, Any]) -> Sentence:
    return say("Answers ", value(handler["response"]), ".")


def _static(handler: Mapping[str, Any]) -> _Told:
    return (), say("Answers ", value(handler["response"]), " to every call.")


def _echo(_handler: Mapping[str, Any]) -> _Told:
    return (), say("Answers its own name and the arguments it was given.")


def _recorded(handler: Mapping[str, Any]) -> _Told:
    count = len(handler.get("fixtures") or ())
    return (
        say(f"Holds {count} recorded answer{'' if count == 1 else 's'}."),
        say("Where no answer’s match is contained in the arguments: ", code("404 NO_FIXTURE"), "."),
    ), say("Answers the first whose match is contained in the arguments, as it was recorded.")


def _custom(handler: Mapping[str, Any]) -> _Told:
    return (), say("Does what the adapter ", code(handler["adapter"]), " says, a function in code.")


_HANDLERS: Final[Mapping[str, Callable[[Mapping[str, Any]], _Told]]] = {
    "read": _read,
    "mutate": _mutate,
    "static": _static,
    "echo": _echo,
    "recorded": _recorded,
    "custom": _custom,
}


def _error(written: Mapping[str, Any] | None, default: tuple[int, str]) -> Sentence:
    written = written or {}
    status, name = written.get("status", default[0]), written.get("code", default[1])
    message = str(written.get("message", "")).removesuffix(".")
    return say(code(f"{status} {name}"), f" “{message}”" if message else "")


# --- effects --------------------------------------------------------------------------------------


def _effect(effect: Mapping[str, Any], record: str | None) -> Sentence:
    verb, preposition, operand_first = EFFECT_WORDS[effect["op"]]
    place = code(_below(effect["path"], record) or effect["path"])
    if not preposition:
        return say(f"{verb} ", place)
    operand = value(effect["by"] if "by" in effect else effect.get("value", 1))
    first, second = (operand, place) if operand_first else (place, operand)
    return say(f"{verb} ", first, f" {preposition} ", second)


def _below(path: str, record: str | None) -> str:
    """The rest of a path below the record; empty where it is not below it."""
    if record is None or not path.startswith(f"{record}."):
        return ""
    return path[len(record) + 1 :]


# --- the rest -------------------------------------------------------------------------------------


def _facts(spec: Mapping[str, Any], tenant_key: str | None) -> Iterator[tuple[str, Sentence]]:
    writes = bool((spec.get("handler") or {}).get("effects"))
    if spec.get("idempotency") or writes:
        yield "Idempotency", _idempotency(spec.get("idempotency") or {})
    if spec.get("effectKey") is not None:
        yield (
            "Effect key",
            say(code(spec["effectKey"]), ": two effects with one key are duplicates, whatever the arguments"),
        )
    elif writes:
        yield "Effect key", say("none: two effects with the same arguments are duplicates")
    if spec.get("tenantPath") is not None:
        yield "Tenant check", _tenant_check(spec["tenantPath"], tenant_key)
    elif tenant_key is not None:
        yield "Tenant check", say("none before it runs; an answer with another tenant’s record is marked")


def _idempotency(written: Mapping[str, Any]) -> Sentence:
    argument, header = written.get("argument"), written.get("header")
    sources: list[str | Part] = []
    if argument is not None:
        sources += ["the argument ", code(argument)]
    if header is not None:
        sources += [", else " if sources else "", "the header ", code(header)]
    if not sources:
        return say("takes no key: every call is a new one")
    return say("key from ", *sources, "; the same key and arguments replay the first answer")


def _tenant_check(path: str, tenant_key: str | None) -> Sentence:
    if tenant_key is None:
        return say("names ", code(path), ", but this twin has no tenant key: nothing is checked")
    return say(
        "the ",
        code(tenant_key),
        " of ",
        code(path),
        " must be the tenant of the case, else ",
        code("403 ACCESS_DENIED"),
    )
