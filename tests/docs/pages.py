"""Reading the Markdown pages of docs/."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"


def fenced(text: str, language: str) -> list[str]:
    """The blocks of one language."""
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", text)


def table(text: str, first_heading: str) -> list[list[str]]:
    """The cells of the table whose first column has this heading, without its head."""
    rows = re.search(rf"(?m)^\| {re.escape(first_heading)} \|.*\n\|[-|]+\n((?:\|.*\n)+)", text)
    assert rows is not None, first_heading
    return [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows[1].splitlines()]


def names(cell: str) -> list[str]:
    """What a cell has in backquotes."""
    return re.findall(r"`([^`]+)`", cell)


def headings(text: str) -> list[str]:
    outside = re.sub(r"(?ms)^```.*?^```$", "", text)
    return re.findall(r"(?m)^#+ (.+)$", outside)


def anchor(heading: str) -> str:
    """The fragment that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def links(text: str) -> Iterator[str]:
    """The targets of links that stay in this repository."""
    outside = re.sub(r"(?ms)^```.*?^```$", "", text)
    for target in re.findall(r"\]\(([^)\s]+)\)", outside):
        if "://" not in target:
            yield target
