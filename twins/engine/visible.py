"""Text a stranger wrote, as a reader must see it: what is invisible, or reorders the rest, is written out.

Knows nothing of pages: sentences of findings, pages and reports all show evidence through it.
"""

from __future__ import annotations

import re

# Controls (line ends and tabs are layout), marks of direction, blanks without width, tags. Not the joiners
# U+200C and U+200D: Persian and emoji are written with them, and they reorder nothing.
# U+202E alone makes a page show the end of a value before its beginning.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """`text` with each hidden character as its code, such as `\\u202e`; any other text as it is."""
    return _HIDDEN.sub(_code, text) if _HIDDEN.search(text) else text


def _code(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
