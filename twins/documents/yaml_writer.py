"""A document as YAML that a person likes to read and ``read_source`` reads back as the same value."""

from __future__ import annotations

from typing import Any

import yaml

from twins.documents.scalars import plain_scalar

_TAGS = {
    str: "tag:yaml.org,2002:str",
    int: "tag:yaml.org,2002:int",
    float: "tag:yaml.org,2002:float",
    bool: "tag:yaml.org,2002:bool",
    type(None): "tag:yaml.org,2002:null",
}
# Words that are text by the core schema and something else to readers of older YAML.
_OLD_WORDS = frozenset(["y", "n", "yes", "no", "on", "off"])
_NO_FOLDING = 1_000_000


def to_yaml(document: Any) -> str:
    """The document as YAML: keys in their order, texts of several lines as blocks, no anchors.

    Loads back to the same value under ``read_source``. For plain JSON values only.
    """
    text: str = yaml.dump(
        document,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=_NO_FOLDING,
        indent=2,
    )
    return text


class _Dumper(yaml.SafeDumper):
    """Decides by the 1.2 core schema which texts need quotes; the resolvers of PyYAML follow YAML 1.1.

    PyYAML's own emitter and not libyaml's, which writes every emoji as an escape.
    """

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        if kind is yaml.ScalarNode and implicit[0]:
            return _TAGS.get(type(plain_scalar(value)), _TAGS[str])
        return super().resolve(kind, value, implicit)

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _represent_text(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar(_TAGS[str], text, style=_style(text))


def _style(text: str) -> str | None:
    """ "|" for a block, quotes where the plain text would be another value, None where YAML may decide."""
    if _fits_block(text):
        return "|"
    if not isinstance(plain_scalar(text), str) or text.lower() in _OLD_WORDS or _looks_old(text):
        return "'"
    # Breaks and other control characters survive only in double quotes.
    return None if text.isprintable() else '"'


def _fits_block(text: str) -> bool:
    """Whether a block keeps the text exactly: it trims what stands at the ends of lines and of the text."""
    if "\n" not in text.rstrip("\n") or not text.strip():
        return False
    lines = text.removesuffix("\n").split("\n")
    return (
        not text[0].isspace()
        and not text.endswith("\n\n")
        and all(line.isprintable() and line == line.rstrip() for line in lines)
    )


def _looks_old(text: str) -> bool:
    """Dates, times and grouped digits, which older readers turn into other things."""
    return text[:1].isdigit() and not text.strip("0123456789-:_.TZ +")


def _represent_number(dumper: Any, number: float) -> Any:
    return dumper.represent_scalar(_TAGS[float], repr(number))


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(float, _represent_number)
