"""docs/README.md lists every page and every decision, and no link of the documentation leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, anchor, headings, links

INDEX = (DOCS / "README.md").read_text(encoding="utf-8")
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])


def test_the_index_lists_every_page_and_every_decision_once() -> None:
    there = {str(page.relative_to(DOCS)) for page in PAGES if DOCS in page.parents} - {"README.md"}
    listed = list(links(INDEX))
    assert sorted(listed) == sorted(there), "docs/README.md has one line for each file"


def test_decisions_are_listed_by_number_and_no_number_is_taken_twice() -> None:
    numbers = re.findall(r"(?m)^\| \[(\d{4})\]\(decisions/(\d{4})-", INDEX)
    assert all(shown == real for shown, real in numbers)
    assert [shown for shown, _ in numbers] == sorted({shown for shown, _ in numbers})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    dead = []
    for target in links(page.read_text(encoding="utf-8")):
        path, _, fragment = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        is_there = there.exists()
        if is_there and fragment:
            is_there = fragment in map(anchor, headings(there.read_text(encoding="utf-8")))
        if not is_there:
            dead.append(target)
    assert dead == []
