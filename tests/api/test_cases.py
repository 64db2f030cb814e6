"""Reading cases through the API."""

from __future__ import annotations

import pytest

from evaluations.models import ToolCall
from tests.running import documents


@pytest.fixture
def pair(given, compared):
    given(documents.scenario("refund"), documents.scenario("other", tags=("vip",), severity="low"))
    return compared().pairs.get(scenario_name="refund")


def test_cases_of_a_comparison_are_listed_worst_first_and_filtered(api, pair) -> None:
    client = api("read")
    rows = client.get(f"comparisons/{pair.comparison_id}/cases/").body["results"]
    assert [(row["scenario"], row["class"]) for row in rows] == [
        ("refund", "NEW_CRITICAL_FAILURE"),
        ("other", "NEW_CRITICAL_FAILURE"),
    ]

    def names(query: str) -> list[str]:
        found = client.get(f"comparisons/{pair.comparison_id}/cases/?{query}").body["results"]
        return [row["scenario"] for row in found]

    assert names("tag=vip") == ["other"]
    assert names("severity=high") == ["refund"]
    assert names("class=IMPROVED&class=UNCHANGED") == []
    assert names("class=NEW_CRITICAL_FAILURE&q=oth") == ["other"]
    assert names("tool=refund") == ["refund", "other"]
    assert names("check=once&limit=1") == ["refund"]
    assert client.get(f"comparisons/{pair.comparison_id}/cases/?class=BAD").status_code == 400


def test_a_case_has_both_sides_with_results(api, pair) -> None:
    body = api("run").get(f"cases/{pair.pk}/").body
    assert (body["baseline"]["verdict"], body["candidate"]["verdict"]) == ("PASSED", "FAILED")
    [once] = [one for one in body["candidate"]["results"] if one["id"] == "once"]
    assert (once["status"], once["measured_status"], once["critical"]) == ("FAIL", "FAIL", True)
    assert body["newly_failing"] == ["once"]
    assert body["first_divergence"]["kind"] == "extra_steps"
    assert body["links"]["page"].endswith(f"/comparisons/{pair.comparison_id}/cases/refund/")


def test_calls_are_the_records_of_the_twin(api, pair) -> None:
    client = api("read")
    stored = ToolCall.objects.filter(case__pair=pair, case__run__side="CANDIDATE").order_by("seq")
    body = client.get(f"cases/{pair.pk}/calls/?side=candidate").body
    assert body["results"] == [row.to_record().to_json() for row in stored]
    assert client.get(f"cases/{pair.pk}/calls/").status_code == 400


def test_the_trajectory_is_aligned_and_paged(api, pair) -> None:
    client = api("read")
    whole = client.get(f"cases/{pair.pk}/trajectory/").body["results"]
    assert [row["row"] for row in whole] == list(range(1, len(whole) + 1))
    assert {row["match"] for row in whole} >= {"same", "right"}
    assert whole[-1]["candidate"]["kind"] == "OUTCOME"
    found, address = [], f"cases/{pair.pk}/trajectory/?limit=1"
    while address:
        page = client.get(address).body
        found += page["results"]
        address = page["next"]
    assert found == whole
    assert client.get(page["previous"]).body["results"] == whole[-2:-1]


def test_the_divergence_alone(api, pair) -> None:
    body = api("read").get(f"cases/{pair.pk}/divergence/").body
    assert body["case"] == pair.pk
    assert body["first_divergence"]["summary"] == pair.first_divergence["summary"]


@pytest.mark.parametrize("part", ["", "calls/?side=baseline", "trajectory/", "divergence/"])
def test_a_case_that_is_not_there_is_404(api, part) -> None:
    answer = api("read").get(f"cases/999999/{part}")
    assert (answer.status_code, answer.body["code"]) == (404, "not_found")


def test_an_unfinished_case_can_be_read(api, given, start) -> None:
    given()
    pair = start().pairs.get()
    client = api("read")
    assert client.get(f"cases/{pair.pk}/").body["class"] is None
    assert client.get(f"cases/{pair.pk}/trajectory/").body["results"] == []


def test_no_answer_of_the_api_holds_a_planted_secret(api, given, compared) -> None:
    given(candidate=(*documents.TWICE, "config"))
    comparison = compared()
    client = api("read", role="viewer")
    pair = comparison.pairs.get()
    for address in (
        "twins/shop/",
        "twins/shop/versions/1/",
        "scenarios/refund/",
        f"agents/{documents.AGENT}/",
        f"comparisons/{comparison.pk}/report/",
        f"cases/{pair.pk}/",
        f"cases/{pair.pk}/calls/?side=candidate",
        f"cases/{pair.pk}/trajectory/",
        "audit/",
        "queue/",
    ):
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert documents.SECRET not in answer.content.decode(), address
