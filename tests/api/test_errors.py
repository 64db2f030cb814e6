"""Whatever goes wrong below /api/ is told in one form, as JSON."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

import pytest
from django.db import InterfaceError, OperationalError
from django.test import Client

from tests.running import documents

pytestmark = pytest.mark.django_db


def told(response: Any, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.content[:300]
    assert response["Content-Type"] == "application/json"
    body = json.loads(response.content)
    assert body["code"] == code, body
    assert isinstance(body["detail"], str)
    assert body["detail"]
    assert set(body) <= {"code", "detail", "problems"}
    for problem in body.get("problems", ()):
        assert {"path", "detail"} <= set(problem) <= {"path", "line", "detail"}
    return body


@pytest.mark.parametrize(
    "path", ["/api/", "/api/v2/", "/api/v1/nothing/", "/api/v1/twins", "/api/v1/cases/x/"]
)
def test_an_address_that_is_not_there(api, path) -> None:
    told(api().get(path), 404, "not_found")
    told(api().post(path), 404, "not_found")
    told(Client().get(path), 404, "not_found")


@pytest.mark.parametrize(
    "path", ["comparisons/9/", "twins/none/", "scenarios/none/", "agents/none/", "cases/9/"]
)
def test_a_thing_that_is_not_there(api, path) -> None:
    assert "There is no" in told(api().get(path), 404, "not_found")["detail"]


@pytest.mark.parametrize("name", ["%00", "a%00b", "%F0%9F%98%80", "%ED%A0%80", "x" * 300, "..", "%2F"])
def test_names_that_no_row_has(api, name) -> None:
    for path in (f"twins/{name}/", f"scenarios/{name}/versions/1/", f"agents/{name}/versions/{name}/"):
        assert api().get(path).status_code == 404, path


@pytest.mark.parametrize("number", ["0", "99999999999999999999", "9" * 18, "-1", "1.5"])
def test_numbers_that_no_row_has(api, number) -> None:
    for path in (f"comparisons/{number}/", f"cases/{number}/calls/?side=baseline", f"audit/{number}/"):
        told(api().get(path), 404, "not_found")


@pytest.mark.parametrize("method", ["DELETE", "PUT", "PATCH", "OPTIONS", "TRACE"])
def test_a_method_the_address_does_not_know(api, method) -> None:
    answer = api().ask(method, "comparisons/")
    told(answer, 405, "method_not_allowed")
    assert set(answer["Allow"].replace(" ", "").split(",")) == {"GET", "HEAD", "POST"}


def test_head_is_get_without_a_body(api) -> None:
    answer = api().ask("HEAD", "comparisons/")
    assert (answer.status_code, answer.content) == (200, b"")


def test_a_content_type_that_is_not_taken(api) -> None:
    for content_type in ("text/html", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = api().ask("POST", "comparisons/", data=b"a=1", content_type=content_type)
        told(answer, 415, "unsupported_media_type")


def test_an_answer_that_is_not_made(api) -> None:
    told(api().get("comparisons/", headers={"Accept": "text/html"}), 406, "not_acceptable")


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"{'a': 1}",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"seed": NaN}',
        b'{"seed": Infinity}',
        b'{"a": ' + b"9" * 9000 + b"}",
    ],
)
def test_broken_json(api, body) -> None:
    answer = api().ask("POST", "comparisons/", data=body, content_type="application/json")
    told(answer, 400, "parse_error")


def test_a_lone_surrogate_is_a_problem_and_no_crash(api) -> None:
    body = b'{"agent": "\\ud800", "baseline": "1", "candidate": "2"}'
    told(api().ask("POST", "comparisons/", data=body, content_type="application/json"), 400, "invalid")


def test_a_value_of_another_kind_is_not_turned_into_the_right_one(api) -> None:
    """JSON has texts, numbers and truth values: `5` for a name is a mistake, and told with all others."""
    sent = {"agent": 5, "baseline": True, "candidate": "2", "seed": "7", "trials": 0}
    refused = told(api().post("comparisons/", {**sent, "scenarios": ["a", 1], "x": 1}), 400, "invalid")
    problems = {one["path"]: one["detail"] for one in refused["problems"]}
    assert set(problems) == {"agent", "baseline", "seed", "trials", "scenarios[1]", "x"}
    assert {problems[name] for name in ("agent", "baseline", "scenarios[1]")} == {"must be a JSON string"}
    assert problems["seed"] == "must be a JSON number"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("comparisons/", b'{"\\ud800": 1}'),
        ("queue/", b'{"pair": 1, "side": "\\ud800", "note": "Long enough a note."}'),
        ("review-policy/", b'{"two_reviewers": ["\\ud800"]}'),
    ],
)
def test_a_lone_surrogate_that_is_told_again_can_be_sent(api, path: str, body: bytes) -> None:
    told(api().ask("POST", path, data=body, content_type="application/json"), 400, "invalid")


@pytest.mark.parametrize("path", ["twins/", "agents/", "datasets/", "scenarios/", "gate/policies/"])
def test_a_document_named_by_a_lone_surrogate_is_refused(api, path: str) -> None:
    kind = {"twins/": "TwinDefinition", "agents/": "Agent", "datasets/": "Dataset", "scenarios/": "Scenario"}
    document = (
        b'{"apiVersion": "agenttwin.dev/v1", "kind": "%s", "metadata": {"name": "\\ud800"}, "spec": {}}'
        % kind.get(path, "GatePolicy").encode()
    )
    answer = api().ask("POST", path, data=document, content_type="application/json")
    told(answer, 400, "invalid_document")


def test_a_body_that_is_too_large(api, settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
    body = b'{"agent": "' + b"x" * 1024 * 1024 + b'"}'
    for path, content_type in (("comparisons/", "application/json"), ("twins/", "application/yaml")):
        told(api().ask("POST", path, data=body, content_type=content_type), 413, "too_large")


def test_a_body_without_a_length(api) -> None:
    answer = api().ask("POST", "comparisons/", headers={"Transfer-Encoding": "chunked"}, CONTENT_LENGTH="")
    told(answer, 411, "length_required")


def test_a_host_that_is_not_ours() -> None:
    told(Client(headers={"Host": "evil.example"}).get("/api/v1/comparisons/"), 400, "bad_request")


@pytest.mark.parametrize("broken", [OperationalError("connection refused"), InterfaceError("closed")])
def test_a_database_that_does_not_answer(api, broken) -> None:
    client = api()
    for place in ("reviews.api.credentials.token_of", "evaluations.api.comparisons.page_of"):
        with patch(place, side_effect=broken):
            answer = client.get("comparisons/")
        told(answer, 503, "unavailable")
        assert int(answer["Retry-After"]) > 0


def test_a_database_that_goes_away_before_any_view(client) -> None:
    client.cookies["sessionid"] = "a-session-that-is-looked-up"
    client.raise_request_exception = False
    with patch("django.contrib.sessions.backends.db.SessionStore.load", side_effect=OperationalError("gone")):
        answer = client.get("/api/v1/comparisons/")
    told(answer, 503, "unavailable")
    assert int(answer["Retry-After"]) > 0


def test_a_fault_of_ours_says_nothing_of_itself(api) -> None:
    with patch("evaluations.api.comparisons.page_of", side_effect=RuntimeError("secret detail")):
        answer = api().get("comparisons/")
    assert "secret" not in told(answer, 500, "error")["detail"]


def test_readiness_tells_why_not() -> None:
    with patch("agenttwin_site.api.site.connection.ensure_connection", side_effect=OperationalError("gone")):
        answer = Client().get("/api/v1/readiness/")
        body = told(answer, 503, "not_ready")
        assert Client().get("/api/v1/health/").status_code == 200
    assert body["problems"] == [{"path": "database", "detail": "does not answer"}]
    assert int(answer["Retry-After"]) > 0
    assert Client().get("/api/v1/readiness/").json()["status"] == "ready"


# --------------------------------------------------------------------------------------------- documents

TWIN = """\
apiVersion: agenttwin.dev/v1
kind: TwinDefinition
metadata: {name: shop}
spec:
  tools:
    lookup: {handler: {kind: read, path: orders}}
"""


def test_a_document_is_saved_once_as_yaml_and_as_json(api) -> None:
    client = api("edit")
    first = client.save("twins/", TWIN)
    again = client.post("twins/", first.body["document"])
    assert (first.status_code, again.status_code) == (201, 200)
    assert (first.body["version"], again.body["digest"]) == (1, first.body["digest"])
    other = client.save("twins/", TWIN.replace("orders", "order_book"))
    assert (other.status_code, other.body["version"]) == (201, 2)
    versions = client.get("twins/shop/versions/").body["results"]
    assert [(one["version"], one["is_current"]) for one in versions] == [(2, True), (1, False)]


def test_a_wrong_document_is_told_with_every_place_and_line(api) -> None:
    text = TWIN.replace("kind: read", "kind: reed").replace("metadata:", "meta:")
    body = told(api("edit").save("twins/", text), 400, "invalid_document")
    places = {(one["path"], one.get("line")) for one in body["problems"]}
    assert ("meta", 3) in places
    assert ("spec.tools.lookup.handler.kind", 6) in places
    assert api().get("twins/").body["results"] == []


@pytest.mark.parametrize("text", ["", "\x00", "a: [", "- 1", "a: !!python/object:os.system {}", "\ud800"])
def test_what_is_no_document(api, text) -> None:
    for kind in ("yaml", "json"):
        data = text.encode("utf-8", "surrogatepass")
        answer = api("edit").ask("POST", "scenarios/", data=data, content_type=f"application/{kind}")
        told(answer, 400, "invalid_document")


def test_validating_stores_nothing(api) -> None:
    client = api("edit")
    answer = client.save("twins/?validate_only=true", TWIN)
    assert (answer.status_code, answer.body["valid"], answer.body["is_new"]) == (200, True, True)
    assert client.get("twins/").body["results"] == []
    told(client.save("twins/?validate_only=true", TWIN.replace("spec", "spice")), 400, "invalid_document")
    client.save("twins/", TWIN)
    assert client.save("twins/?validate_only=true", TWIN).body["is_new"] is False


def test_saving_over_a_newer_version_is_a_conflict(api) -> None:
    client = api("edit")
    client.save("twins/?based_on=0", TWIN)
    told(client.save("twins/?based_on=0", TWIN.replace("orders", "o")), 409, "stale_edit")
    assert client.save("twins/?based_on=1", TWIN.replace("orders", "o")).status_code == 201
    told(client.save("twins/?based_on=x", TWIN), 400, "invalid")


def test_other_content_under_a_registered_version_is_refused(api) -> None:
    client = api("edit")
    assert client.post("agents/", documents.agent("1.0.0", "a")).status_code == 201
    assert client.post("agents/", documents.agent("1.0.0", "a")).status_code == 200
    body = told(client.post("agents/", documents.agent("1.0.0", "b")), 400, "invalid_document")
    assert [one["path"] for one in body["problems"]] == ["metadata.version"]


def test_a_scenario_needs_its_twin(api) -> None:
    client = api("edit")
    body = told(client.post("scenarios/", documents.scenario("refund")), 400, "invalid_document")
    assert [one["path"] for one in body["problems"]] == ["spec.twin"]
    client.post("twins/", documents.twin())
    saved = client.post("scenarios/", documents.scenario("refund", tags=("vip",)))
    assert (saved.status_code, saved.body["tags"]) == (201, ["vip"])


def test_secrets_are_shown_to_who_may_edit_them_and_to_nobody_else(api) -> None:
    editor = api("edit", role="editor", name="ed")
    assert documents.SECRET in editor.post("twins/", documents.twin()).content.decode()
    assert editor.get("twins/shop/").body["is_redacted"] is False
    for client in (api("read", role="editor", name="ed"), api("read", role="viewer", name="vi")):
        answer = client.get("twins/shop/")
        assert documents.SECRET not in answer.content.decode()
        assert answer.body["is_redacted"] is True


# --------------------------------------------------------------------------------------------- decisions


@pytest.fixture
def failing(given, compared) -> Any:
    given()
    return compared().pairs.get().cases.get(run__side="CANDIDATE").results.get(expectation_id="once")


def decision(row: Any, /, **changed: Any) -> dict[str, Any]:
    return {
        "result": row.pk,
        "decision": "PASS",
        "note": "Looked at it by hand.",
        "seen_review": 0,
        **changed,
    }


def test_a_decision_moves_the_case_and_can_be_withdrawn(api, failing) -> None:
    client = api("review", "read")
    review = client.post("reviews/", decision(failing)).body
    case = client.get(f"cases/{review['case']}/").body
    assert (case["class"], review["status_after"]) == ("UNCHANGED", "PASS")
    withdrawal = client.post(
        f"reviews/{review['id']}/withdraw/", {"note": "That was the wrong case.", "seen_review": review["id"]}
    )
    assert (withdrawal.status_code, withdrawal.body["withdraws"]) == (201, review["id"])
    listed = client.get(f"reviews/?result={failing.pk}").body["results"]
    assert [one["id"] for one in listed] == [withdrawal.body["id"], review["id"]]
    assert client.get(f"cases/{review['case']}/").body["class"] == "NEW_CRITICAL_FAILURE"


def test_the_same_key_decides_once(api, failing) -> None:
    client = api("review")
    keyed = {"headers": {"Idempotency-Key": "decision-1"}}
    first = client.post("reviews/", decision(failing), **keyed)
    again = client.post("reviews/", decision(failing), **keyed)
    assert (first.status_code, again.body) == (201, first.body)
    other = client.post("reviews/", decision(failing, decision="FAIL"), **keyed)
    told(other, 409, "form_token_used")


def test_a_decision_against_an_older_one_is_a_conflict(api, failing) -> None:
    client = api("review")
    latest = client.post("reviews/", decision(failing)).body["id"]
    body = told(client.post("reviews/", decision(failing, decision="FAIL")), 409, "review_conflict")
    assert str(latest) in body["problems"][0]["detail"]


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"note": "short"}, "note"),
        ({"decision": "MAYBE"}, "decision"),
        ({"result": 0}, "result"),
        ({"seen_review": -1}, "seen_review"),
        ({"why": "x"}, "why"),
    ],
)
def test_a_decision_that_cannot_be_meant(api, failing, changed, path) -> None:
    body = told(api("review").post("reviews/", decision(failing, **changed)), 400, "invalid")
    assert [one["path"] for one in body["problems"]] == [path]
    told(api("review").post("reviews/", decision(failing, result=999_999)), 404, "not_found")


def test_the_queue_is_listed_flagged_and_closed(api, failing) -> None:
    client = api("review")
    pair = failing.case.pair_id
    flag = {"case": pair, "note": "The tone is off, look again.", "side": "candidate"}
    first, again = client.post("queue/", flag), client.post("queue/", flag)
    assert (first.status_code, again.status_code, first.body["side"]) == (201, 200, "candidate")
    entry = first.body["id"]
    assert entry in [one["id"] for one in client.get(f"queue/?case={pair}&reason=FLAGGED").body["results"]]
    closed = client.post(f"queue/{entry}/close/", {"note": "As it should be, after all."})
    assert (closed.status_code, closed.body["state"]) == (200, "DONE")
    told(client.post(f"queue/{entry}/close/", {"note": "As it should be, after all."}), 409, "entry_closed")
    assert entry in [one["id"] for one in client.get("queue/?state=DONE").body["results"]]


def test_the_audit_log_is_filtered_and_cannot_be_written(api, failing) -> None:
    client = api("read", "review")
    client.post("reviews/", decision(failing))
    rows = client.get("audit/?action=result_overridden&via=token 1").body["results"]
    assert [one["actor"] for one in rows] == ["ci"]
    assert client.get(f"audit/{rows[0]['sequence']}/").body == rows[0]
    told(client.get("audit/?since=yesterday"), 400, "invalid")
    told(client.post("audit/", {}), 405, "method_not_allowed")
    assert client.get("audit/?since=2001-01-01&until=2001-01-02").body["results"] == []
