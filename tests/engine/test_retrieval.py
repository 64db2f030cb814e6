from __future__ import annotations

import pytest

from twins.engine.retrieval import Document, rank, twin_documents


def found(query: str, *texts: str, limit: int = 10) -> list[str]:
    documents = [Document(f"d-{index}", "", text, True) for index, text in enumerate(texts)]
    return [one.id for one in rank(documents, query, limit)]


@pytest.mark.parametrize(
    ("query", "texts", "ids"),
    [
        ("fee", ["fee", "fee fee", "none"], ["d-1", "d-0"]),
        ("fee", ["fee", "Fee", "FEE."], ["d-0", "d-1", "d-2"]),  # ties by id
        ("FEE", ["a fee"], ["d-0"]),
        ("STRASSE", ["straße"], ["d-0"]),  # case folding, not lower case
        ("a to be", ["a to be a to be"], []),  # short words of the query do not count
        ("fee fee fee", ["room room", "fee"], ["d-1"]),
        ("fee fee room", ["fee", "room room"], ["d-1", "d-0"]),  # a repeated word counts once
        ("fee", ["fees coffee fee-free", "feel"], ["d-0"]),  # whole words only
        ("", ["fee"], []),
        ("...", ["..."], []),
        ("größe, preis!", ["Größe und Preis", "Preis"], ["d-0", "d-1"]),
        ("4711", ["order 4711"], ["d-0"]),
    ],
)
def test_ranking(query, texts, ids):
    assert found(query, *texts) == ids


def test_the_title_counts_like_the_text():
    documents = [Document("a", "Fee", "x", True), Document("b", "x", "fee fee", True)]
    assert [one.id for one in rank(documents, "fee", 10)] == ["b", "a"]


def test_ties_are_ordered_by_id_as_text():
    documents = [Document(id_, "", "fee", True) for id_ in ("d-2", "d-10", "d-1")]
    assert [one.id for one in rank(documents, "fee", 10)] == ["d-1", "d-10", "d-2"]


def test_the_limit_cuts_the_ranked():
    assert found("fee", "fee", "fee fee", limit=1) == ["d-1"]
    assert found("fee", "fee", limit=0) == []


@pytest.mark.parametrize(
    ("value", "documents"),
    [
        (None, []),
        ("text", []),
        ({"id": "x"}, []),
        ([1, "x", {}, {"title": "no id"}, {"id": None}], []),
        ([{"id": "a"}], [Document("a", "", "", True)]),
        ([{"id": 7, "title": 1, "text": None, "more": 1}], [Document("7", "1", "", True)]),
    ],
)
def test_entries_that_are_no_documents_are_passed_over(value, documents):
    assert twin_documents(value) == documents


def test_a_caller_does_not_see_whether_a_document_is_trusted():
    assert Document("a", "T", "x", False).to_json() == {"id": "a", "title": "T", "text": "x"}
