"""Nothing before login: every address of the site, asked by nobody in every way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tests.pages.conftest import concluded

HTMX = {"HX-Request": "true"}
# What a stranger may have: the login page and what leads to it, and the client that a build fetches.
OPEN = ("login/", "favicon.ico", "admin/login/", "ci/agenttwin_ci.py")
# For programs with a token: refused in words, never with a page.
FOR_PROGRAMS = ("api/", "metrics")
# What a program may have without a credential: the description of the API, and whether the server is up.
OPEN_API = ("api/schema/", "api/docs/", "api/v1/health/", "api/v1/readiness/")
# Stand-ins for the parts of an address; "1" suits numbers and names alike.
_GROUP = re.compile(r"\(\?P<[^>]+>[^)]*\)")


def addresses(patterns: Any, prefix: str = "") -> Iterator[str]:
    """One address for each pattern of the resolver, its parameters filled in."""
    for pattern in patterns:
        own = str(pattern.pattern)
        own = re.sub(r"<uuid:[^>]+>", "00000000-0000-0000-0000-000000000001", own)
        own = re.sub(r"<[^>]+>", "1", _GROUP.sub("1", own))
        own = own.removeprefix("^").replace("\\Z", "").replace("$", "").replace("\\", "")
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, prefix + own)
        elif isinstance(pattern, URLPattern):
            yield prefix + own


CLOSED = sorted(set(addresses(get_resolver().url_patterns)) - set(OPEN) - set(OPEN_API))
PAGES = [address for address in CLOSED if not address.startswith(FOR_PROGRAMS)]


def test_the_walk_finds_the_pages() -> None:
    assert {"", "comparisons/", "comparisons/1/", "comparisons/1/report.1", "admin/", "password/"} <= set(
        CLOSED
    )


@pytest.mark.django_db
def test_a_stranger_is_sent_to_the_login_page(client: Client) -> None:
    concluded("REGRESSED")

    for address in CLOSED:
        for response in (client.get(f"/{address}"), client.post(f"/{address}")):
            # A pattern may not fit the stand-in: then there is nothing there, which gives nothing away.
            assert response.status_code in (302, 303, 401, 404, 405), (address, response.content[:200])
            assert b"helper" not in response.content, address
            assert b"scenario-0" not in response.content, address
            if response.status_code in (302, 303):
                assert urlsplit(response["Location"]).path in ("/login/", "/admin/login/"), address


@pytest.mark.django_db
def test_no_login_page_is_ever_swapped_into_a_fragment(client: Client) -> None:
    for address in PAGES:
        for response in (client.get(f"/{address}", headers=HTMX), client.post(f"/{address}", headers=HTMX)):
            assert b"<form" not in response.content, address
            if response.status_code not in (404, 405):
                assert response.status_code == 401, address
                assert not response.content, address
                told = response.get("HX-Redirect", "/login/")
                assert told.startswith("/login/") or "WWW-Authenticate" in response, address


@pytest.mark.django_db
def test_the_api_never_redirects_a_stranger(client: Client) -> None:
    for address in CLOSED:
        if not address.startswith(FOR_PROGRAMS):
            continue
        for response in (
            client.get(f"/{address}"),
            client.post(f"/{address}"),
            client.get(f"/{address}", headers=HTMX),
        ):
            assert response.status_code in (401, 404, 405), address
            assert set(response.json()) == {"code", "detail"}, address


@pytest.mark.django_db
@pytest.mark.parametrize("address", [*OPEN, *OPEN_API])
def test_what_is_open_shows_no_data(client: Client, address: str) -> None:
    concluded("REGRESSED")

    response = client.get(f"/{address}")

    assert response.status_code in (200, 302)
    assert b"helper" not in response.content


@pytest.mark.django_db
def test_login_leads_back_to_the_page_that_was_asked_for(client: Client) -> None:
    get_user_model().objects.create_user("ada", password="correct horse")

    asked = client.get("/comparisons/?state=RUNNING")
    fields = {"username": "ada", "password": "correct horse", "next": "/comparisons/?state=RUNNING"}
    response = client.post("/login/", fields)

    assert parse_qs(urlsplit(asked["Location"]).query) == {"next": ["/comparisons/?state=RUNNING"]}
    assert response["Location"] == "/comparisons/?state=RUNNING"


@pytest.mark.django_db
@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_login_never_leads_to_another_site(client: Client, elsewhere: str) -> None:
    get_user_model().objects.create_user("ada", password="correct horse")

    fields = {"username": "ada", "password": "correct horse", "next": elsewhere}
    response = client.post("/login/", fields)

    assert response["Location"] == "/"


@pytest.mark.django_db
def test_a_wrong_password_says_so_without_saying_which_part(client: Client) -> None:
    get_user_model().objects.create_user("ada", password="correct horse")

    wrong = client.post("/login/", {"username": "ada", "password": "nope"}).content
    unknown = client.post("/login/", {"username": "bob", "password": "nope"}).content

    said = re.compile(rb'role="alert">([^<]+)<')
    assert said.search(wrong)[1] == said.search(unknown)[1]  # type: ignore[index]


@pytest.mark.django_db
def test_logging_out_needs_a_post_and_ends_the_session(viewer: Client) -> None:
    assert viewer.get("/logout/").status_code == 405
    assert viewer.post("/logout/")["Location"] == "/login/"
    assert viewer.get("/comparisons/").status_code == 302


@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_the_admin_refuses_who_is_no_staff_and_starts_no_circle(person: Any, role: str) -> None:
    client = person(role)

    response = client.get("/admin/", follow=True)

    assert response.status_code == 403
    assert b"The admin pages are for editors and administrators." in response.content


def test_what_a_person_sees_is_stored_by_no_cache(viewer: Client) -> None:
    assert viewer.get("/comparisons/")["Cache-Control"] == "private, no-store"


def test_no_page_allows_inline_code_or_other_hosts(viewer: Client, client: Client) -> None:
    for response in (viewer.get("/comparisons/"), client.get("/login/"), viewer.get("/nothing/")):
        policy = response["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert not re.search(rb"<style|style=|<script(?![^>]* src=)|\son[a-z]+=|https?://", response.content)


def test_the_password_can_be_changed(person: Any) -> None:
    client = person("viewer")
    user = get_user_model().objects.get(username="viewer")
    user.set_password("correct horse")
    user.save()
    client.force_login(user)

    fields = {
        "old_password": "correct horse",
        "new_password1": "battery staple",
        "new_password2": "battery staple",
    }
    response = client.post("/password/", fields, follow=True)

    user.refresh_from_db()
    assert user.check_password("battery staple")
    assert b"Your password was changed." in response.content


def test_navigation_shows_only_where_the_person_may_go(person: Any) -> None:
    nobody, viewer = person().get("/").content, person("viewer").get("/").content

    assert b'href="/comparisons/"' in viewer
    assert b'<li><a href="/comparisons/"' not in nobody
    assert b'href="/admin/"' not in viewer
