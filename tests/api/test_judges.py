"""Criteria, examples, own labels and calibrations through the API, as blind as the pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from evaluations.models import Calibration, Criterion, Example, Label
from evaluations.services.calibrating import run_calibration
from tests.api.conftest import account
from tests.calibration.conftest import ScriptedJudge, example_at, good_and_bad, judge, label_all, people

__all__ = ["judge", "people"]

RUBRIC = "The reply says that a colleague takes over."
Client = Callable[..., Any]
People = Callable[..., User]
pytestmark = pytest.mark.django_db


def test_a_criterion_is_made_once_and_listed(api: Client, judge: ScriptedJudge) -> None:
    client = api("edit")
    body = {"name": "handover", "rubric": RUBRIC}
    first, again = client.post("criteria/", body), client.post("criteria/", body)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.body == again.body
    assert first.body["version"] == 1
    assert client.post("criteria/", {**body, "rubric": "Other words."}).body["version"] == 2
    [listed] = client.get("criteria/").body["results"]
    assert (listed["name"], listed["version"], listed["is_current"]) == ("handover", 2, True)
    assert client.get("criteria/?q=nothing").body["results"] == []
    one = client.get("criteria/handover/?version=1").body
    assert (one["rubric"], one["is_current"], one["standing"]["state"]) == (RUBRIC, False, "never")
    assert one["judge"]["label"] == "llm"


def test_a_criterion_that_does_not_hold_is_refused_with_every_problem(api: Client) -> None:
    answer = api("edit").post("criteria/", {"name": "a/b", "rubric": " "})
    assert answer.status_code == 400
    assert [one["path"] for one in answer.body["problems"]] == ["name", "rubric"]
    assert not Criterion.objects.exists()


def test_examples_are_imported_as_yaml_json_and_lines(api: Client, judge: ScriptedJudge) -> None:
    client = api("edit", "review")
    text = f"criterion: handover\nrubric: {RUBRIC}\nexamples: [{{answer: One.}}]"
    first = client.save("examples/", text)
    assert first.status_code == 201
    assert (first.body["created"], first.body["known"], first.body["is_new_version"]) == (1, 0, True)
    again = client.post("examples/", {"criterion": "handover", "examples": [{"answer": "One."}]})
    assert (again.status_code, again.body["created"], again.body["known"]) == (200, 0, 1)
    for media_type in ("application/x-ndjson", "application/jsonl"):
        lines = client.ask(
            "POST",
            "examples/?criterion=handover",
            data=f'{{"answer": "{media_type}"}}\n'.encode(),
            content_type=media_type,
        )
        assert lines.status_code == 201, lines.body
    listed = client.get("examples/?criterion=handover&limit=2").body
    assert [one["material"]["answer"] for one in listed["results"]] == ["One.", "application/x-ndjson"]
    assert len(client.get(listed["next"]).body["results"]) == 1


def test_every_problem_of_a_file_is_told_with_its_line_and_nothing_is_stored(api: Client) -> None:
    answer = api("edit").ask(
        "POST",
        "examples/?criterion=handover",
        data=b'{"answer": "One."}\n{"answr": 1}\n\xff\n',
        content_type="application/x-ndjson",
    )
    assert (answer.status_code, answer.body["code"]) == (400, "invalid_document")
    assert [(one["line"], one["path"]) for one in answer.body["problems"]] == [
        (2, "answer"),
        (2, "answr"),
        (3, "$"),
    ]
    assert not Example.objects.exists()
    empty = api("edit").ask("POST", "examples/", data=b"", content_type="application/yaml")
    assert empty.status_code == 400


def test_a_person_labels_and_sees_only_ones_own(api: Client, people: People) -> None:
    version = good_and_bad(1, 1)
    example = example_at(version, 0)
    label_all(version, people("ann"))
    client = api("review")
    body = {"example": example.pk, "label": "FAIL"}
    hidden = client.get(f"examples/{example.pk}/").body
    assert (hidden["labels"], hidden["own_label"], hidden["people"]) == (None, None, 1)
    first, again = client.post("labels/", body), client.post("labels/", body)
    assert (first.status_code, again.status_code) == (201, 200)
    assert client.post("labels/", {**body, "label": "PASS"}).body["code"] == "already_labelled"
    assert [one["label"] for one in client.get("labels/").body["results"]] == ["FAIL"]
    assert client.get("labels/?criterion=other").body["results"] == []
    shown = client.get(f"examples/{example.pk}/").body
    assert shown["labels"] == [{"person": "ann", "label": "PASS"}, {"person": "ci", "label": "FAIL"}]
    unlabelled = client.get("examples/?criterion=handover&unlabelled=true").body["results"]
    assert [one["id"] for one in unlabelled] == [example_at(version, 1).pk]


def test_a_label_is_taken_back_while_it_is_the_only_one(api: Client, people: People) -> None:
    version = good_and_bad(1, 0)
    example, client = example_at(version, 0), api("review")
    assert client.post("labels/take-back/", {"example": example.pk}).status_code == 400
    client.post("labels/", {"example": example.pk, "label": "PASS"})
    back = client.post("labels/take-back/", {"example": example.pk})
    assert (back.status_code, back.body["own_label"]) == (200, None)
    client.post("labels/", {"example": example.pk, "label": "FAIL"})
    label_all(version, people("ann"))
    settled = client.post("labels/take-back/", {"example": example.pk})
    assert (settled.status_code, settled.body["code"]) == (409, "label_settled")


def test_a_calibration_is_started_followed_and_read(
    api: Client, people: People, judge: ScriptedJudge
) -> None:
    version = good_and_bad(10, 10)
    label_all(version, people("ann"), wrong=1)
    client = api("run")
    key = {"headers": {"Idempotency-Key": "nightly-1"}}
    started = client.post("calibrations/", {"criterion": "handover"}, **key)
    assert (started.status_code, started.body["state"], started.body["kappa"]) == (201, "QUEUED", None)
    run_calibration(started.body["id"])
    again = client.post("calibrations/", {"criterion": "handover"}, **key)
    assert (again.status_code, again.body["id"]) == (200, started.body["id"])
    one = client.get(f"calibrations/{started.body['id']}/").body
    assert (one["state"], one["is_calibrated"], one["counted"], one["agreed"]) == ("COMPLETED", True, 20, 19)
    assert one["kappa"] == pytest.approx(0.9)
    assert {"people": "FAIL", "judge": "PASS", "examples": 1} in one["matrix"]
    assert one["standing"] == {
        "state": "calibrated",
        "sentence": one["decision"],
        "calibration": one["id"],
    }
    assert [row["id"] for row in client.get("calibrations/?state=COMPLETED").body["results"]] == [one["id"]]
    assert client.get("calibrations/?criterion=other").body["results"] == []


def test_an_undefined_kappa_is_null(api: Client, people: People, judge: ScriptedJudge) -> None:
    version = good_and_bad(20, 0)
    label_all(version, people("ann"))
    client = api("run")
    started = client.post("calibrations/", {"criterion": "handover"}).body
    run_calibration(started["id"])
    one = client.get(f"calibrations/{started['id']}/").body
    assert (one["agreed"], one["kappa"], one["kappa_low"], one["is_calibrated"]) == (20, None, None, False)


def test_rows_are_hidden_from_who_has_still_to_label_them(
    api: Client, people: People, judge: ScriptedJudge
) -> None:
    version = good_and_bad(2, 2)
    label_all(version, people("ann"), wrong=1)
    reviewer, viewer = api("read", role="reviewer", name="rev"), api("read", role="viewer", name="vic")
    started = api("run").post("calibrations/", {"criterion": "handover"}).body
    run_calibration(started["id"])
    address = f"calibrations/{started['id']}/results/"
    assert reviewer.get(address).body["results"] == []
    assert reviewer.get(f"{address}?agrees=false").body["results"] == []
    assert [one["agrees"] for one in viewer.get(address).body["results"]] == [False, True, True, True]
    [row] = viewer.get(f"{address}?agrees=false").body["results"]
    assert (row["truth"], row["outcome"], row["labels"]) == (
        "FAIL",
        "PASS",
        [{"person": "ann", "label": "FAIL"}],
    )
    assert len(viewer.get(f"{address}?outcome=FAIL").body["results"]) == 2
    rev = User.objects.get(username="rev")
    label_all(version, rev)
    assert len(reviewer.get(address).body["results"]) == 4


@pytest.mark.parametrize(
    ("scope", "role", "method", "path", "body"),
    [
        ("read", "admin", "post", "criteria/", {"name": "a", "rubric": "b"}),
        ("edit", "reviewer", "post", "criteria/", {"name": "a", "rubric": "b"}),
        (
            "edit",
            "viewer",
            "post",
            "examples/",
            {"criterion": "a", "rubric": "b", "examples": [{"answer": "x"}]},
        ),
        ("edit", "admin", "post", "labels/", {"example": 1, "label": "PASS"}),
        ("review", "editor", "post", "labels/", {"example": 1, "label": "PASS"}),
        ("review", "admin", "post", "calibrations/", {"criterion": "handover"}),
        ("run", "reviewer", "post", "calibrations/", {"criterion": "handover"}),
    ],
)
def test_scope_and_role_are_both_needed(
    api: Client, people: People, scope: str, role: str, method: str, path: str, body: Any
) -> None:
    version = good_and_bad(1, 1)
    label_all(version, people("ann"))
    assert getattr(api(scope, role=role), method)(path, body).status_code == 403
    assert (Criterion.objects.count(), Label.objects.count(), Calibration.objects.count()) == (1, 2, 0)


@pytest.mark.parametrize(
    "path",
    [
        "criteria/nobody/",
        "criteria/a%00b/",
        "examples/9/",
        "calibrations/9/",
        "calibrations/9/results/",
        "examples/?criterion=nobody",
    ],
)
def test_what_does_not_exist_is_not_found(api: Client, path: str) -> None:
    answer = api().get(path)
    assert (answer.status_code, answer.body["code"]) == (404, "not_found")


def test_lists_cost_the_same_however_long_they_are(
    api: Client, people: People, judge: ScriptedJudge, django_assert_max_num_queries: Any
) -> None:
    version = good_and_bad(20, 20)
    label_all(version, people("ann"))
    client = api()
    started = client.post("calibrations/", {"criterion": "handover"}).body
    run_calibration(started["id"])
    client.get("criteria/")
    account("zoe", "viewer")
    for path in (
        "criteria/",
        "examples/?criterion=handover",
        "labels/",
        "calibrations/",
        f"calibrations/{started['id']}/results/",
    ):
        # Token, account and permissions take some of them.
        with django_assert_max_num_queries(8):
            assert client.get(path).status_code == 200, path
