"""One's own reviews: everything one decided, what became of it, and nothing of anybody else's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from reviews import services
from reviews.models import Review
from tests.pages.case_data import NOTE, double_refund, page_of, result_of
from tests.reviews.conftest import person as account


@pytest.fixture
def reviewer(person: Callable[..., Client]) -> Client:
    return person("reviewer")


def decide(result: Any, actor: User, decision: str = "PASS", note: str = NOTE) -> Review:
    return services.override_result(
        result_id=result.pk,
        decision=decision,
        note=note,
        seen_review_id=services.latest_review_ids([result.pk])[result.pk],
        actor=actor,
    )


def me() -> User:
    return User.objects.get(username="reviewer")


def shown(client: Client, query: str = "") -> str:
    response = client.get(f"/reviews/mine/{query}")
    assert response.status_code == 200
    return response.content.decode()


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_only_ones_own_are_listed_newest_first_with_the_way_to_the_case(reviewer: Client) -> None:
    pair = double_refund()
    decide(result_of(pair, "once"), me(), note="My first decision.")
    decide(result_of(pair, "backed"), account("ann"), note="Somebody else's decision.")
    decide(result_of(pair, "no-double"), me(), note="My second decision.")

    html = shown(reviewer)

    assert html.index("My second decision.") < html.index("My first decision.")
    assert "Somebody else" not in html
    assert html.count(f'href="{page_of(pair)}"') == 2
    assert "FAIL → PASS; counts" in words(html)


def test_it_says_what_became_of_each(reviewer: Client) -> None:
    pair = double_refund()
    replaced = decide(result_of(pair, "once"), me())
    decide(result_of(pair, "once"), account("ann"), "FAIL")
    withdrawn = decide(result_of(pair, "backed"), me())
    services.withdraw_review(
        review_id=withdrawn.pk, note="That was the wrong one.", seen_review_id=withdrawn.pk, actor=me()
    )

    text = words(shown(reviewer))

    assert replaced.pk < withdrawn.pk
    assert "a later decision counts" in text
    assert "withdrawn by reviewer" in text
    assert "withdrawal PASS → FAIL" in text


def test_a_long_list_is_paged_in_as_many_queries(reviewer: Client) -> None:
    pair = double_refund()
    decide(result_of(pair, "once"), me())
    shown(reviewer)
    with CaptureQueriesContext(connection) as few:
        shown(reviewer)
    for number in range(40):
        decide(result_of(pair, "once"), me(), ("PASS", "FAIL")[number % 2])
    with CaptureQueriesContext(connection) as many:
        html = shown(reviewer)

    assert len(few) == len(many)
    assert html.count("data-nav-item") == 30
    following = re.search(r'rel="next" href="(\?[^"]+)"', html)
    assert following
    assert shown(reviewer, following[1]).count("data-nav-item") == 11


def test_who_decided_nothing_is_told_so(reviewer: Client) -> None:
    assert "You have not decided anything yet" in shown(reviewer)


def test_a_note_with_markup_is_text(reviewer: Client) -> None:
    decide(result_of(double_refund(), "once"), me(), note="<script>alert(1)</script>")

    html = shown(reviewer)

    assert "<script>alert" not in html
    assert "&lt;script&gt;" in html


def test_htmx_gets_the_list_alone(reviewer: Client) -> None:
    part = reviewer.get("/reviews/mine/", headers={"HX-Request": "true"}).content.decode()

    assert part.strip().startswith('<section id="own-reviews"')


def test_no_role_no_page(person: Callable[..., Client]) -> None:
    assert person().get("/reviews/mine/").status_code == 403
    assert Client().get("/reviews/mine/").status_code == 302
