"""The demo is written in its own words: nothing in it repeats the articles it tells the facts of.

The articles themselves are no part of the project. ``known_wording.txt`` holds fingerprints of their wording:
of every fourth run of eight words, and of every whole sentence of five to ten words. So a copied run of
eleven words is always noticed, and so is a copied short sentence.
"""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
KNOWN = frozenset((HERE / "known_wording.txt").read_text().split())
RUN = 8
TEXTS = sorted(
    path
    for path in [*(ROOT / "demo").rglob("*"), ROOT / "docs" / "demo.md"]
    if path.suffix in {".yaml", ".py", ".md"}
)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9$]+", text.lower())


def fingerprint(run: Iterable[str]) -> str:
    return hashlib.sha256(" ".join(run).encode()).hexdigest()[:8]


def sentences(text: str) -> list[list[str]]:
    folded = re.sub(r"\s+", " ", re.sub(r"(?m)^[\s#>*+-]+", "", text))
    return [words(part) for part in re.split(r"(?<=[.!?:;])\s|[\"“”]", folded)]


def prose(path: Path) -> str:
    """What people wrote for people: of a YAML document its comments and texts, not its names and ids; of a
    page everything but the program's own output."""
    text = path.read_text()
    if path.suffix == ".md":
        return re.sub(r"(?ms)^```.*?^```$", "", text)
    if path.suffix != ".yaml":
        return text
    comments = [line.strip("# ") for line in text.splitlines() if line.lstrip().startswith("#")]
    return "\n".join([*comments, *texts(yaml.safe_load(text))])


def texts(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        return [
            text for item in (value.values() if isinstance(value, dict) else value) for text in texts(item)
        ]
    return [value] if isinstance(value, str) and " " in value else []


def repeated(text: str, known: frozenset[str]) -> list[str]:
    """The runs of words in `text` that `known` has fingerprints of."""
    folded = words(re.sub(r"(?m)^[\s#>*+-]+", "", text))
    runs = [folded[start : start + RUN] for start in range(len(folded) - RUN + 1)]
    runs += [sentence for sentence in sentences(text) if 5 <= len(sentence) <= 10]
    return [" ".join(run) for run in runs if fingerprint(run) in known]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_sentence_is_taken_from_the_articles(path: Path) -> None:
    assert repeated(prose(path), KNOWN) == []


def test_a_copied_sentence_would_be_noticed() -> None:
    known = frozenset(
        {
            fingerprint(words("never trust a tool that is always right")),
            fingerprint(words("so it goes on and on")),
        }
    )
    assert repeated("They say:\n  # never trust a tool\n  # that is always right.", known)
    assert repeated("Well. So it goes, on and on! Yes.", known)
    assert not repeated("Never trust a tool that is always wrong.", known)


def test_there_are_fingerprints_and_texts_to_compare() -> None:
    assert len(KNOWN) > 1000
    assert len(TEXTS) >= 18
