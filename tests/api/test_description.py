"""The description is whole: every operation says what it does, shows an example and tells how it fails."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
from django.test import Client
from django.urls import URLResolver, get_resolver

from agenttwin_site.api.site import _description

DESCRIPTION: dict[str, Any] = json.loads(_description())
OPERATIONS = [
    pytest.param(path, method, one, id=f"{method.upper()} {path}")
    for path, methods in DESCRIPTION["paths"].items()
    for method, one in methods.items()
]
PUBLIC = {"/api/v1/health/", "/api/v1/readiness/"}


def test_it_is_openapi_3_1_and_open_to_everybody(client: Client) -> None:
    answer = client.get("/api/schema/")
    assert answer.json()["openapi"].startswith("3.1")
    assert answer.json() == DESCRIPTION


def test_every_address_of_the_api_is_described() -> None:
    [api] = [
        one for one in get_resolver().url_patterns if isinstance(one, URLResolver) and one.namespace == "api"
    ]
    assert len(DESCRIPTION["paths"]) == len(api.url_patterns)


def test_the_generator_has_nothing_to_complain_about(capsys: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _description.__wrapped__()
    assert "arning" not in capsys.readouterr().err


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_an_operation_is_documented_with_examples_and_errors(path: str, method: str, operation: Any) -> None:
    assert operation["summary"]
    assert operation["description"]
    assert operation["tags"]
    answers = operation["responses"]
    good = {status: one for status, one in answers.items() if status.startswith("2")}
    assert good
    assert any(content.get("examples") for one in good.values() for content in one["content"].values())
    if "requestBody" in operation:
        assert operation["requestBody"]["content"]["application/json"]["examples"]
    expected = {"400", "405", "406", "503"}
    if path not in PUBLIC:
        expected |= {"401", "403", "404", "429"}
        assert operation["security"]
    if method == "post":
        expected |= {"409", "411", "413", "415"}
    assert expected <= set(answers)
    for status in expected:
        content = answers[status]["content"]["application/json"]
        assert content["schema"]["$ref"].endswith("/ErrorShape")
        [example] = content["examples"].values()
        assert {"code", "detail"} <= set(example["value"])
    for parameter in operation.get("parameters", ()):
        assert parameter["description"], parameter["name"]


def test_examples_of_bodies_can_be_sent(api: Any, given: Any) -> None:
    """What the page offers to try is well formed: refused for what it names, never for its fields."""
    given()
    client = api()
    for path, methods in DESCRIPTION["paths"].items():
        body = methods.get("post", {}).get("requestBody")
        if body is None or "{" in path:
            continue
        [example] = body["content"]["application/json"]["examples"].values()
        answer = client.post(path, example["value"])
        assert answer.status_code in (200, 201, 400, 404), path
        if answer.status_code == 400:
            assert answer.body["code"] in ("invalid_request", "invalid_document"), (path, answer.body)
