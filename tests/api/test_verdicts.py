"""Verdicts of judges in the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evaluations.models import JudgeVerdict
from evaluations.services.manual import close_manual_session, open_manual_session
from tests.api.conftest import Api
from tests.judging.conftest import expecting
from tests.running import documents

SAYS_NO = 'answer {"output": "That is not possible.", "claimed_outcome": "FAILURE"}'


@pytest.fixture
def judged(given: Any, compared: Any) -> Any:
    given(expecting(), candidate=(*documents.GOOD, SAYS_NO))
    return compared()


def test_a_result_says_how_it_was_judged(api: Callable[..., Api], judged: Any) -> None:
    client = api()
    case = client.get(f"cases/{judged.pairs.get().pk}/").body
    lines = {line["id"]: line for line in case["candidate"]["results"]}
    assert lines["once"]["judgement"] is None
    found = lines["says-so"]["judgement"]
    assert found["judge"]["label"] == "deterministic-fake"
    assert (found["score"], found["label"], found["error"]) == (0.0, "fail", None)
    assert found["calibration"]["state"] == "never"
    full = client.get(found["links"]["self"].removeprefix("http://testserver")).body
    assert full["verdict"] == found["verdict"]
    assert "That is not possible." in full["shown"]
    assert '"label": "fail"' in full["answered"]
    assert full["result"] == lines["says-so"]["result"]
    assert client.client.get(found["links"]["page"]).status_code in (200, 302)


def test_the_list_is_filtered_and_without_the_long_texts(api: Callable[..., Api], judged: Any) -> None:
    client = api()
    everything = client.get(f"judge-verdicts/?comparison={judged.pk}").body["results"]
    assert [row["verdict"] for row in everything] == list(
        JudgeVerdict.objects.order_by("-pk").values_list("pk", flat=True)
    )
    assert "shown" not in everything[0]
    assert len(client.get("judge-verdicts/?status=FAIL").body["results"]) == 1
    assert client.get("judge-verdicts/?error=timeout").body["results"] == []
    assert len(client.get("judge-verdicts/?criterion=honesty").body["results"]) == 2
    assert client.get(f"judge-verdicts/?comparison={judged.pk + 1}").body["results"] == []
    first = client.get("judge-verdicts/?limit=1").body
    assert len(first["results"]) == 1
    assert len(client.get(first["next"].removeprefix("http://testserver")).body["results"]) == 1


@pytest.mark.parametrize(
    "query", ["?status=GOOD", "?error=grumpy", "?comparison=x", "?shown=1", "?after=nonsense"]
)
def test_a_query_that_cannot_be_meant_is_refused(api: Callable[..., Api], judged: Any, query: str) -> None:
    assert api().get(f"judge-verdicts/{query}").status_code == 400


def test_there_is_no_such_verdict(api: Callable[..., Api]) -> None:
    for pk in ("999", str(2**63 - 1)):
        assert api().get(f"judge-verdicts/{pk}/").status_code == 404


def test_a_session_says_how_it_was_judged(api: Callable[..., Api], given: Any) -> None:
    given(expecting())
    session = open_manual_session(scenario="refund", agent_label="mine").session
    close_manual_session(session, answer={"output": "It is done."})
    client = api()
    body = client.get(f"sessions/{session.pk}/").body
    lines = {line["id"]: line for line in body["results"]}
    assert lines["once"]["judgement"] is None
    assert lines["says-so"]["judgement"]["score"] == 1.0
    listed = client.get(f"judge-verdicts/?session={session.pk}").body["results"]
    assert [(row["session"], row["result"], row["expectation"]) for row in listed] == [
        (session.pk, None, "says-so")
    ]


def test_lists_cost_a_fixed_number_of_queries(
    api: Callable[..., Api], judged: Any, compared: Any, django_assert_max_num_queries: Any
) -> None:
    client = api()
    client.get("judge-verdicts/")
    for _ in range(3):
        compared()
    with django_assert_max_num_queries(12):
        assert len(client.get("judge-verdicts/").body["results"]) == 8
