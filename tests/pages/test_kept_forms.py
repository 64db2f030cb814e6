"""A session that ends under a half-written form: nothing typed is lost, nothing is sent by itself."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from agenttwin_site.kept_forms import typed_by
from evaluations.models import Comparison
from tests.models import factories

PAGE = "http://testserver/comparisons/start/?agent=helper"
FIELDS = {
    "agent": "helper",
    "form_key": "11111111-1111-1111-1111-111111111111",
    "baseline": "1.0.0",
    "candidate": "1.0.0",
    "scenarios": ["refund", "other"],
    "seed": "4711",
    "trials": "3",
    "csrfmiddlewaretoken": "t" * 64,
}


@pytest.fixture
def ada(db: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    factories.agent_version("helper", "1.0.0")
    for name in ("refund", "other"):
        factories.scenario_version(name, agent_name="helper")
    ada = get_user_model().objects.create_superuser("ada", password="correct horse")
    monkeypatch.setitem(FIELDS, "typed_by", typed_by(ada))
    return ada


def log_in(client: Client, to: str, name: str = "ada") -> Any:
    return client.post("/login/", {"username": name, "password": "correct horse", "next": to}, follow=True)


def test_what_was_typed_is_back_after_logging_in(client: Client, ada: Any) -> None:
    refused = client.post("/comparisons/start/", FIELDS, headers={"Referer": PAGE})

    assert refused.status_code == 303
    assert refused["Location"] == "/login/?next=%2Fcomparisons%2Fstart%2F%3Fagent%3Dhelper"
    assert b"What you typed is kept" in client.get(refused["Location"]).content

    page = log_in(client, "/comparisons/start/?agent=helper").content.decode()

    assert "It has not been sent yet" in page
    assert 'value="4711"' in page
    assert page.count("checked") == 2
    assert not Comparison.objects.exists()


def test_htmx_is_told_to_go_to_the_login_page_and_what_was_typed_is_kept(client: Client, ada: Any) -> None:
    refused = client.post(
        "/comparisons/start/", FIELDS, headers={"HX-Request": "true", "HX-Current-URL": PAGE}
    )

    assert (refused.status_code, refused.content) == (401, b"")
    assert refused["HX-Redirect"] == "/login/?next=%2Fcomparisons%2Fstart%2F%3Fagent%3Dhelper"
    assert 'value="4711"' in log_in(client, "/comparisons/start/?agent=helper").content.decode()


def test_reading_the_page_again_does_not_lose_it_and_sending_it_does(client: Client, ada: Any) -> None:
    client.post("/comparisons/start/", FIELDS, headers={"Referer": PAGE})
    log_in(client, "/comparisons/start/")

    assert b'value="4711"' in client.get("/comparisons/start/").content
    client.post("/comparisons/start/", {**FIELDS, "baseline": "unknown"})
    assert b'value="4711"' in client.get("/comparisons/start/").content
    session = client.session
    assert session["kept_forms"]

    client.post("/logout/")
    assert b'value="4711"' not in log_in(client, "/comparisons/start/").content


def test_passwords_and_tokens_are_never_kept(client: Client, ada: Any) -> None:
    secrets = {"old_password": "s3cret-old", "new_password1": "s3cret-new", "new_password2": "s3cret-new"}
    client.post(
        "/password/",
        {**secrets, "typed_by": typed_by(ada), "csrfmiddlewaretoken": "t" * 64},
        headers={"Referer": PAGE},
    )

    kept = str(client.session["kept_forms"])
    assert "s3cret" not in kept
    assert "tttt" not in kept


def test_what_is_kept_is_bounded(client: Client, ada: Any) -> None:
    many = {f"field{number}": "x" * 10_000 for number in range(49)} | {"typed_by": typed_by(ada)}
    for number in range(20):
        client.post("/comparisons/start/", many, headers={"Referer": f"http://testserver/page-{number}/"})

    kept = client.session["kept_forms"]
    assert len(kept) == 5
    assert all(sum(len(v) for vs in form["fields"].values() for v in vs) <= 100_000 for form in kept.values())


def test_another_sites_page_is_never_where_login_leads(client: Client, ada: Any) -> None:
    refused = client.post(
        "/comparisons/start/", FIELDS, headers={"Referer": "https://evil.example/comparisons/"}
    )

    assert refused["Location"] == "/login/?next=%2F"


def test_the_session_lives_as_long_as_others_after_the_login(client: Client, ada: Any) -> None:
    client.post("/comparisons/start/", FIELDS, headers={"Referer": PAGE})
    assert client.session.get_expiry_age() == 2 * 60 * 60

    log_in(client, "/")

    assert client.session.get_expiry_age() == 14 * 24 * 60 * 60


def test_a_form_made_before_a_new_login_comes_back_with_what_was_typed(ada: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    headers = {"Referer": PAGE, "Origin": "http://testserver"}

    response = client.post("/comparisons/start/", FIELDS, headers=headers)
    page = client.get(response["Location"]).content.decode()

    assert (response.status_code, response["Location"]) == (303, "/comparisons/start/?agent=helper")
    assert "so it was not taken" in page
    assert 'value="4711"' in page
    assert not Comparison.objects.exists()


@pytest.mark.parametrize(
    "headers", [{}, {"Referer": PAGE}, {"Referer": PAGE, "Origin": "https://evil.example"}]
)
def test_a_form_that_may_come_from_elsewhere_is_refused_and_not_kept(
    ada: Any, headers: dict[str, str]
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)

    response = client.post("/comparisons/start/", FIELDS, headers=headers)

    assert response.status_code == 403
    assert b"This form is out of date" in response.content
    assert "kept_forms" not in client.session


def test_whoever_else_logs_in_on_that_browser_does_not_read_it(client: Client, ada: Any) -> None:
    get_user_model().objects.create_superuser("bob", password="correct horse")
    client.post("/comparisons/start/", FIELDS, headers={"Referer": PAGE})

    page = log_in(client, "/comparisons/start/?agent=helper", name="bob").content.decode()

    assert 'value="4711"' not in page
    assert "What you typed" not in page
    assert "4711" not in str(dict(client.session))


@pytest.mark.parametrize("mark", ["", "1", "1:forged"])
def test_a_form_that_does_not_say_whose_it_is_is_not_kept(client: Client, ada: Any, mark: str) -> None:
    refused = client.post("/comparisons/start/", {**FIELDS, "typed_by": mark}, headers={"Referer": PAGE})

    assert refused.status_code == 303
    assert "kept_forms" not in client.session


def test_a_form_of_another_account_is_refused_after_a_new_login(ada: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(get_user_model().objects.create_superuser("bob"))

    response = client.post(
        "/comparisons/start/", FIELDS, headers={"Referer": PAGE, "Origin": "http://testserver"}
    )

    assert response.status_code == 403
    assert "kept_forms" not in client.session


@pytest.mark.parametrize("address", ["/comparisons/start/?agent=helper", "/admin/evaluations/agent/add/"])
def test_the_forms_say_whose_they_are(client: Client, ada: Any, address: str) -> None:
    client.force_login(ada)

    assert f'name="typed_by" value="{typed_by(ada)}"' in client.get(address).content.decode()
