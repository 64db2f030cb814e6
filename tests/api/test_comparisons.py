"""Starting, reading and cancelling comparisons through the API."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from evaluations.models import Comparison
from evaluations.reporting.json_format import report_object
from evaluations.reporting.report import load_report
from tests.running import documents

REQUEST = {"agent": documents.AGENT, "baseline": "1.0.0", "candidate": "2.0.0"}


def keyed(key: str) -> dict[str, Any]:
    return {"headers": {"Idempotency-Key": key}}


def test_a_request_starts_one_comparison_and_the_same_again_answers_it(api, given) -> None:
    given()
    client = api("run")
    first = client.post("comparisons/", REQUEST, **keyed("build-1"))
    again = client.post("comparisons/", REQUEST, **keyed("build-1"))
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.body == first.body
    assert first.body["created_by"] == "ci"
    assert first.body["blocks"] is None
    assert Comparison.objects.count() == 1


def test_without_a_key_every_request_starts_one(api, given) -> None:
    given()
    client = api("run")
    answers = [client.post("comparisons/", REQUEST) for _ in range(2)]
    assert [one.status_code for one in answers] == [201, 201]
    assert Comparison.objects.count() == 2


def test_another_request_under_the_key_is_a_conflict(api, given) -> None:
    given()
    client = api("run")
    client.post("comparisons/", REQUEST, **keyed("build-1"))
    other = client.post("comparisons/", {**REQUEST, "seed": 5}, **keyed("build-1"))
    assert (other.status_code, other.body["code"]) == (409, "idempotency_conflict")
    assert Comparison.objects.count() == 1


@pytest.mark.parametrize(
    ("changed", "paths"),
    [
        ({"agent": "nobody"}, ["agent"]),
        ({"baseline": "9.9.9", "candidate": "8.8.8"}, ["baseline", "candidate"]),
        ({"scenarios": ["nothing", "refund"], "tags": ["none"]}, ["scenarios", "tags"]),
        ({"scenarios": []}, ["scenarios"]),
        ({"scenarios": [], "tags": []}, ["scenarios", "tags"]),
        ({"dataset": "golden"}, ["dataset"]),
        ({"trials": 0}, ["trials"]),
        ({"trials": "many", "seed": 2**70}, ["seed", "trials"]),
        ({"scenario": ["refund"]}, ["scenario"]),
        ({"scenarios": [1, {"a": 1}]}, ["scenarios[0]", "scenarios[1]"]),
        ({"agent": ""}, ["agent"]),
        ({"agent": "a\x00b"}, ["agent"]),
        ({"agent": None}, ["agent"]),
    ],
)
def test_what_cannot_be_compared_is_refused_with_every_problem(api, given, changed, paths) -> None:
    given()
    answer = api("run").post("comparisons/", {**REQUEST, **changed})
    assert answer.status_code == 400
    assert sorted(one["path"] for one in answer.body["problems"]) == paths
    assert not Comparison.objects.exists()


def test_a_body_that_is_no_object_is_refused(api, given) -> None:
    given()
    for body in ([], "text", 5, [REQUEST]):
        answer = api("run").post("comparisons/", body)
        assert (answer.status_code, answer.body["code"]) == (400, "invalid"), body


@pytest.mark.parametrize("key", ["", " ", "x" * 201, "tab\there"])
def test_a_key_that_is_none_is_refused(api, given, key) -> None:
    given()
    answer = api("run").post("comparisons/", REQUEST, **keyed(key))
    assert answer.status_code == 400
    assert [one["path"] for one in answer.body["problems"]] == ["Idempotency-Key"]


def test_an_agent_that_cannot_run_here_is_said_so(api, given, settings) -> None:
    given()
    settings.AGENTTWIN_IN_PROCESS_AGENTS = {}
    answer = api("run").post("comparisons/", REQUEST)
    assert (answer.status_code, answer.body["code"]) == (400, "not_runnable")


def test_a_comparison_tells_its_counts_and_whether_it_blocks(api, given, compared) -> None:
    given(documents.scenario("refund"), documents.scenario("other"))
    comparison = compared()
    body = api("read").get(f"comparisons/{comparison.pk}/").body
    assert body["state"] == "COMPLETED"
    assert body["summary"]["NEW_CRITICAL_FAILURE"] == 2
    assert body["progress"] == {"cases": 4, "ended": 4}
    assert body["blocks"] is True
    assert body["links"]["page"].endswith(f"/comparisons/{comparison.pk}/")


def test_a_comparison_without_a_new_failure_does_not_block(api, given, compared) -> None:
    given(candidate=documents.GOOD)
    comparison = compared()
    body = api("read").get(f"comparisons/{comparison.pk}/").body
    assert (body["blocks"], body["summary"]["UNCHANGED"]) == (False, 1)


def test_a_cancelled_comparison_blocks_and_cannot_be_cancelled_again(api, given, start) -> None:
    given()
    comparison = start()
    client = api("run")
    first = client.post(f"comparisons/{comparison.pk}/cancel/")
    second = client.post(f"comparisons/{comparison.pk}/cancel/")
    assert (first.status_code, first.body["state"], first.body["blocks"]) == (200, "CANCELLED", True)
    assert (second.status_code, second.body["code"]) == (409, "already_ended")


def test_the_report_is_that_of_the_command_line(api, given, compared) -> None:
    given()
    comparison = compared()
    client = api("run")
    answer = client.get(f"comparisons/{comparison.pk}/report/")
    assert answer.body == json.loads(json.dumps(report_object(load_report(comparison.pk))))
    junit = client.get(f"comparisons/{comparison.pk}/report/?as=junit")
    assert junit["Content-Type"].startswith("application/xml")
    assert ET.fromstring(junit.content).get("failures") == "1"
    text = client.get(f"comparisons/{comparison.pk}/report/?as=text", headers={"Accept": "text/plain"})
    assert "NEW CRITICAL FAILURE" in text.content.decode()
    markdown = client.get(f"comparisons/{comparison.pk}/report/?as=markdown").content.decode()
    assert "| refund | high | **new critical failure** |" in markdown
    assert client.get(f"comparisons/{comparison.pk}/report/?as=pdf").status_code == 400


def test_the_list_is_filtered_and_paged_without_gaps(api, given, start) -> None:
    given()
    ids = [start(seed=seed).pk for seed in range(5)]
    client = api("read")
    found, address = [], "comparisons/?limit=2&state=QUEUED"
    while address:
        page = client.get(address).body
        found += [one["id"] for one in page["results"]]
        address = page["next"]
    assert found == sorted(ids, reverse=True)
    assert page["previous"] is not None
    back = client.get(page["previous"]).body
    assert [one["id"] for one in back["results"]] == found[2:4]
    assert client.get("comparisons/?state=COMPLETED").body["results"] == []


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=201", "limit=x", "after=!", "after=WzFd&before=WzFd", "sate=QUEUED", "state=UP"],
)
def test_parameters_that_cannot_be_meant_are_refused(api, query) -> None:
    answer = api("read").get(f"comparisons/?{query}")
    assert (answer.status_code, answer.body["code"]) == (400, "invalid")


def test_lists_cost_a_fixed_number_of_queries(api, given, compared, start, django_assert_num_queries) -> None:
    given(documents.scenario("refund"), documents.scenario("other"))
    first = compared()
    client = api("read")
    for address in ("comparisons/", f"comparisons/{first.pk}/cases/", "cases/"):
        client.get(address)
        with django_assert_num_queries(_count(client, address)):
            client.get(address)
    before = {address: _count(client, address) for address in ("comparisons/", "cases/")}
    compared(seed=2)
    compared(seed=3)
    assert {address: _count(client, address) for address in before} == before
    assert max(before.values()) <= 8


def _count(client: Any, address: str) -> int:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)
