"""Text that people typed, made storable."""

import re

from reviews.errors import InvalidInputError

NOTE_MIN_LENGTH = 10
NOTE_MAX_LENGTH = 10_000

# NUL (PostgreSQL stores none) and lone surrogates (not text at all).
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: object) -> str:
    """The text without outer white space, with plain line ends, and with unstorable characters replaced."""
    cleaned = _UNSTORABLE.sub("\ufffd", "" if text is None else str(text))
    return cleaned.replace("\r\n", "\n").replace("\r", "\n").strip()


def clean_note(text: object, *, field: str = "note") -> str:
    """A note that says something: 10 to 10,000 characters.

    Raises InvalidInputError(field) otherwise.
    """
    note = clean_text(text)
    if len(note) < NOTE_MIN_LENGTH:
        raise InvalidInputError(
            field, f"Say why in at least {NOTE_MIN_LENGTH} characters; this is {len(note)}."
        )
    if len(note) > NOTE_MAX_LENGTH:
        raise InvalidInputError(field, f"Keep it to {NOTE_MAX_LENGTH:,} characters; this is {len(note):,}.")
    return note
