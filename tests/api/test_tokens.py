"""Tokens: kept as a hash, shown once, within the rights of their account, named in every record."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from agenttwin_site.api.views import ApiView
from reviews.errors import InvalidInputError, NotAllowedError
from reviews.models import ApiToken, AuditEntry, Review
from reviews.services.tokens import create_token, expiry_from, hash_of, revoke_token
from tests.api.conftest import account
from tests.running import documents

pytestmark = pytest.mark.django_db
SECRET = re.compile(r"att_[A-Za-z0-9_-]{43}")


@pytest.fixture
def ann() -> User:
    return account("ann", "editor")


def asked(secret: str, path: str = "comparisons/", **headers: str) -> Any:
    return Client().get(f"/api/v1/{path}", headers={"Authorization": f"Bearer {secret}", **headers})


# ------------------------------------------------------------------------------------------------- making


def test_only_the_hash_is_stored(ann) -> None:
    token, secret = create_token(user=ann, name="ci", scopes=["run", "read"], actor=ann)
    row = ApiToken.objects.filter(pk=token.pk).values().get()
    assert SECRET.fullmatch(secret)
    assert secret not in str(row)
    assert (row["token_hash"], row["prefix"]) == (hash_of(secret), secret[:12])
    assert row["scopes"] == ["read", "run"]
    assert secret not in str(AuditEntry.objects.values())


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"name": "  "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "Session"}, "name"),
        ({"name": "command"}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["read", "root"]}, "scopes"),
        ({"expires_at": timezone.now() - timedelta(seconds=1)}, "expires_at"),
    ],
)
def test_a_token_that_cannot_be_meant_is_refused(ann, changed, field) -> None:
    with pytest.raises(InvalidInputError) as refused:
        create_token(**{"user": ann, "name": "ci", "scopes": ["read"], "actor": ann, **changed})
    assert refused.value.field == field
    assert not ApiToken.objects.exists()


def test_a_name_is_free_again_once_its_token_is_revoked(ann) -> None:
    token, _ = create_token(user=ann, name="ci", scopes=["read"], actor=ann)
    with pytest.raises(InvalidInputError):
        create_token(user=ann, name="ci", scopes=["read"], actor=ann)
    revoke_token(token_id=token.pk, actor=ann)
    create_token(user=ann, name="ci", scopes=["read"], actor=ann)


def test_nobody_makes_a_token_that_acts_as_another(ann) -> None:
    boss = account("boss", "admin")
    with pytest.raises(NotAllowedError):
        create_token(user=ann, name="ci", scopes=["read"], actor=boss)
    root = account("root", is_superuser=True)
    create_token(user=ann, name="ci", scopes=["read"], actor=root)
    assert AuditEntry.objects.get(action="api_token_created").actor_name == "root"


def test_making_and_revoking_are_recorded(ann) -> None:
    token, _ = create_token(user=ann, name="ci", scopes=["read"], actor=ann, via="session")
    revoke_token(token_id=token.pk, actor=ann, via="session")
    revoke_token(token_id=token.pk, actor=ann, via="session")
    entries = AuditEntry.objects.filter(subject_type="token").order_by("sequence")
    assert [(one.action, one.actor_name, one.subject_label) for one in entries] == [
        ("api_token_created", "ann", "token ci of ann"),
        ("api_token_revoked", "ann", "token ci of ann"),
    ]
    assert entries[0].after["scopes"] == ["read"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("12h", "2026-01-01T12:00:00+00:00"),
        ("90d", "2026-04-01T00:00:00+00:00"),
        ("2w", "2026-01-15T00:00:00+00:00"),
        ("2026-06-30", "2026-06-30T23:59:59.999999+00:00"),
        ("2026-06-30T10:00:00+02:00", "2026-06-30T10:00:00+02:00"),
    ],
)
def test_an_end_is_written_in_several_ways(text, expected) -> None:
    from datetime import UTC, datetime

    found = expiry_from(text, datetime(2026, 1, 1, tzinfo=UTC))
    assert (None if found is None else found.isoformat()) == expected


@pytest.mark.parametrize("text", ["soon", "0d", "-1d", "90", "2026-13-01", "1y", "99999999d"])
def test_an_end_that_is_none_is_refused(text) -> None:
    with pytest.raises(InvalidInputError):
        expiry_from(text, timezone.now())


# -------------------------------------------------------------------------------------------- the command


def test_the_command_prints_the_secret_alone(ann, capsys) -> None:
    call_command(
        "create_token", "ann", "--scope", "read", "--scope", "run", "--expires", "90d", "--name", "ci"
    )
    printed = capsys.readouterr()
    assert SECRET.fullmatch(printed.out.strip())
    assert printed.out.strip() not in printed.err
    assert asked(printed.out.strip()).status_code == 200
    [entry] = AuditEntry.objects.filter(action="api_token_created")
    assert (entry.actor_name, entry.via) == ("", "command")


@pytest.mark.parametrize(
    "arguments",
    [
        ("nobody", "--scope", "read"),
        ("ann", "--scope", "read", "--expires", "yesterday"),
        ("ann", "--scope", "read", "--expires", "2001-01-01"),
        ("ann", "--scope", "root"),
        ("ann",),
    ],
)
def test_the_command_refuses_wrong_arguments_with_status_2(ann, arguments) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("create_token", *arguments)
    assert refused.value.returncode in (2, 1)
    assert not ApiToken.objects.exists()


# ------------------------------------------------------------------------------------------------- using


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer  ",
        "Basic YTpi",
        "Bearer a b",
        "Bearer " + "x" * 5000,
        "Bearer att_unknown",
        "Bearer \xe9",
    ],
)
def test_a_header_that_is_no_token_is_refused(header) -> None:
    answer = Client().get("/api/v1/comparisons/", headers={"Authorization": header})
    assert answer.status_code == 401
    assert answer.json()["code"] == "authentication_failed"
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_without_any_credential_the_answer_is_401_and_no_redirect() -> None:
    for answer in (Client().get("/api/v1/comparisons/"), Client().post("/api/v1/comparisons/")):
        assert answer.status_code == 401
        assert answer.json()["code"] == "not_authenticated"
        assert answer["WWW-Authenticate"].startswith("Bearer")


def test_a_revoked_an_expired_and_a_deactivated_one_open_nothing(ann) -> None:
    tokens = [create_token(user=ann, name=f"t{n}", scopes=["read"], actor=ann) for n in range(3)]
    assert {asked(secret).status_code for _, secret in tokens} == {200}
    revoke_token(token_id=tokens[0][0].pk, actor=ann)
    ApiToken.objects.filter(pk=tokens[1][0].pk).update(expires_at=timezone.now())
    assert "revoked" in asked(tokens[0][1]).json()["detail"]
    assert "expired" in asked(tokens[1][1]).json()["detail"]
    User.objects.filter(pk=ann.pk).update(is_active=False)
    refused = asked(tokens[2][1])
    assert (refused.status_code, refused.json()["code"]) == (401, "authentication_failed")


def test_both_words_of_the_header_are_taken(ann) -> None:
    _, secret = create_token(user=ann, name="ci", scopes=["read"], actor=ann)
    for word in ("Token", "bearer"):
        answer = Client().get("/api/v1/", headers={"Authorization": f"{word} {secret}"})
        assert answer.json()["token"] == "ci"


@pytest.mark.parametrize(
    ("scope", "may", "may_not"),
    [
        ("read", ["comparisons/", "twins/", "audit/", "queue/", "reviews/"], []),
        ("run", ["comparisons/", "cases/"], ["twins/", "audit/", "queue/", "reviews/"]),
        ("review", ["cases/", "queue/", "reviews/"], ["comparisons/", "twins/", "audit/"]),
        ("edit", ["twins/", "scenarios/", "agents/"], ["comparisons/", "audit/", "queue/"]),
    ],
)
def test_a_scope_opens_what_it_says(api, scope, may, may_not) -> None:
    client = api(scope)
    assert {path: client.get(path).status_code for path in may} == dict.fromkeys(may, 200)
    assert {path: client.get(path).status_code for path in may_not} == dict.fromkeys(may_not, 403)


@pytest.mark.parametrize(
    ("scope", "method", "path"),
    [
        ("read", "POST", "comparisons/"),
        ("read", "POST", "comparisons/1/cancel/"),
        ("run", "POST", "twins/"),
        ("review", "POST", "scenarios/"),
        ("read", "POST", "agents/"),
        ("edit", "POST", "reviews/"),
        ("run", "POST", "queue/"),
    ],
)
def test_writing_needs_its_own_scope(api, scope, method, path) -> None:
    answer = api(scope).ask(method, path)
    assert (answer.status_code, answer.body["code"]) == (403, "permission_denied")


@pytest.mark.parametrize(
    ("role", "path"),
    [("viewer", "comparisons/"), ("viewer", "twins/"), ("viewer", "reviews/"), ("editor", "reviews/"),
     ("reviewer", "comparisons/"), ("reviewer", "agents/"), ("viewer", "queue/")],
)  # fmt: skip
def test_a_token_can_do_no_more_than_its_account(api, role, path) -> None:
    answer = api(role=role, name=role).post(path)
    assert (answer.status_code, answer.body["code"]) == (403, "permission_denied")


def test_an_account_without_a_role_sees_nothing(api) -> None:
    client = api(role="nobody", name="plain")
    assert client.get("").status_code == 200
    for path in ("comparisons/", "cases/", "twins/", "agents/", "scenarios/", "reviews/", "queue/", "audit/"):
        assert client.get(path).status_code == 403, path


def test_the_last_use_is_written_once_a_minute(ann, django_assert_num_queries) -> None:
    token, secret = create_token(user=ann, name="ci", scopes=["read"], actor=ann)
    asked(secret)
    token.refresh_from_db()
    first = token.last_used_at
    assert first is not None
    asked(secret)
    token.refresh_from_db()
    assert token.last_used_at == first
    ApiToken.objects.update(last_used_at=first - timedelta(seconds=61))
    asked(secret)
    token.refresh_from_db()
    assert token.last_used_at > first


def test_each_token_is_counted_for_itself(api, settings) -> None:
    settings.AGENTTWIN_API_RATE = 2
    one, other = api("read"), api("read")
    assert [one.get("comparisons/").status_code for _ in range(3)] == [200, 200, 429]
    refused = one.get("comparisons/")
    assert refused.body["code"] == "throttled"
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert other.get("comparisons/").status_code == 200
    assert one.get("health/").status_code == 200


# ----------------------------------------------------------------------------------------- what is recorded


def test_reviews_and_audit_name_the_account_and_the_token(api, given, compared) -> None:
    given()
    pair = compared().pairs.get()
    result = pair.cases.get(run__side="CANDIDATE").results.get(expectation_id="once")
    body = {"result": result.pk, "decision": "PASS", "note": "Looked at it by hand.", "seen_review": 0}
    answer = api("review").post("reviews/", body)
    assert answer.status_code == 201, answer.body
    assert (answer.body["reviewer"], answer.body["token"]) == ("ci", "token 1")
    assert Review.objects.get().token_name == "token 1"
    entry = AuditEntry.objects.get(action="result_overridden")
    assert (entry.actor_name, entry.via) == ("ci", "token 1")


def test_a_saved_document_names_the_token_too(api) -> None:
    answer = api("edit").post("twins/", documents.twin())
    assert answer.status_code == 201, answer.body
    entry = AuditEntry.objects.get(action="twin_version_created")
    assert (entry.actor_name, entry.via) == ("ci", "token 1")


# ---------------------------------------------------------------------------------------- session and CSRF


def test_a_session_may_read_and_needs_its_csrf_token_to_write(given) -> None:
    given()
    client = Client(enforce_csrf_checks=True)
    client.force_login(account("ed", "editor"))
    assert client.get("/api/v1/comparisons/").status_code == 200
    request = {"agent": documents.AGENT, "baseline": "1.0.0", "candidate": "2.0.0"}
    refused = client.post("/api/v1/comparisons/", request, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "csrf_failed")
    client.get("/account/tokens/")
    csrf = client.cookies["csrftoken"].value
    taken = client.post(
        "/api/v1/comparisons/", request, content_type="application/json", headers={"X-CSRFToken": csrf}
    )
    assert taken.status_code == 201


def test_a_token_needs_no_csrf_token(given, ann) -> None:
    given()
    _, secret = create_token(user=ann, name="ci", scopes=["run"], actor=ann)
    answer = Client(enforce_csrf_checks=True).post(
        "/api/v1/comparisons/",
        {"agent": documents.AGENT, "baseline": "1.0.0", "candidate": "2.0.0"},
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )
    assert answer.status_code == 201


# ------------------------------------------------------------------------------------------------ the pages


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_the_page_shows_a_new_token_once(ann) -> None:
    client = logged_in(ann)
    made = client.post("/account/tokens/", {"name": "ci", "scopes": ["read", "run"], "expires": "30d"})
    [secret] = SECRET.findall(made.content.decode())
    assert (made.status_code, made["Cache-Control"]) == (200, "private, no-store")
    assert asked(secret).status_code == 200
    again = client.get("/account/tokens/").content.decode()
    assert secret not in again
    assert secret[:12] in again
    assert AuditEntry.objects.get(action="api_token_created").via == "session"


def test_a_form_that_does_not_hold_comes_back(ann) -> None:
    client = logged_in(ann)
    answer = client.post("/account/tokens/", {"name": "session", "expires": "30d"})
    assert answer.status_code == 422
    assert not ApiToken.objects.exists()
    answer = client.post("/account/tokens/", {"name": "session", "scopes": ["read"], "expires": "30d"})
    assert "audit log" in answer.content.decode()
    assert answer.status_code == 422


def test_one_revokes_ones_own_and_nobody_elses(ann) -> None:
    token, secret = create_token(user=ann, name="ci", scopes=["read"], actor=ann)
    other = logged_in(account("bob", "admin"))
    assert other.post(f"/account/tokens/{token.pk}/revoke/").status_code == 404
    assert asked(secret).status_code == 200
    assert logged_in(ann).get(f"/account/tokens/{token.pk}/revoke/").status_code == 405
    assert logged_in(ann).post(f"/account/tokens/{token.pk}/revoke/").status_code == 302
    assert asked(secret).status_code == 401


def test_the_admin_lists_makes_and_revokes(ann) -> None:
    token, secret = create_token(user=ann, name="ci", scopes=["read"], actor=ann)
    boss = logged_in(account("boss", "admin", is_staff=True))
    listed = boss.get("/admin/reviews/apitoken/").content.decode()
    assert secret[:12] in listed
    assert hash_of(secret) not in boss.get(f"/admin/reviews/apitoken/{token.pk}/change/").content.decode()
    made = boss.post("/admin/reviews/apitoken/add/", {"name": "own", "scopes": ["read"], "expires": "7d"})
    [own] = SECRET.findall(made.content.decode())
    assert ApiToken.objects.get(token_hash=hash_of(own)).user.username == "boss"
    boss.post("/admin/reviews/apitoken/", {"action": "revoke", "_selected_action": [token.pk]})
    assert asked(secret).status_code == 401
    plain = logged_in(account("ed", "editor", is_staff=True))
    assert plain.get("/admin/reviews/apitoken/").status_code == 403


def test_no_change_of_the_framework_settings_opens_an_address() -> None:
    """What asks for credentials is named by the views themselves."""
    named = vars(ApiView)
    assert [one.__name__ for one in named["authentication_classes"]] == [
        "TokenAuthentication",
        "SessionAuthentication",
    ]
    assert [one.__name__ for one in named["permission_classes"]] == ["HasAccess"]
