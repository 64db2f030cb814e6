"""The admin of people and records."""

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.urls import reverse

from evaluations.models import ExpectationResult
from reviews import services
from reviews.models import AuditEntry, QueueEntry, Review
from tests.reviews.conftest import NOTE, paired, person, result_of

pytestmark = pytest.mark.django_db

ACTING = "reviews.middleware.ActingMiddleware"


@pytest.fixture(autouse=True)
def _who_acts(settings):
    if ACTING not in settings.MIDDLEWARE:
        settings.MIDDLEWARE = [*settings.MIDDLEWARE, ACTING]


@pytest.fixture
def root(client) -> User:
    """A member of the group admin, logged in; no superuser."""
    account = person("root", "admin", is_staff=True)
    client.force_login(account)
    return account


def login(client, role: str) -> User:
    account = person(f"{role}-in", role, is_staff=True)
    client.force_login(account)
    return account


def user_form(account: User, **changes) -> dict:
    values = {
        "username": account.username,
        "email": account.email,
        "first_name": "",
        "last_name": "",
        "is_active": "on" if account.is_active else "",
        "is_staff": "on" if account.is_staff else "",
        "groups": [group.pk for group in account.groups.all()],
    } | changes
    return {name: value for name, value in values.items() if value != ""}


def change_url(account: User) -> str:
    return reverse("admin:auth_user_change", args=[account.pk])


# --------------------------------------------------------------------------------------------------- people


def test_an_admin_changes_groups_and_the_record_names_the_admin(client, root, ann):
    editor = Group.objects.get(name="editor")
    response = client.post(change_url(ann), user_form(ann, groups=[editor.pk]))
    assert response.status_code == 302
    assert list(ann.groups.all()) == [editor]
    entry = AuditEntry.objects.filter(action="user_groups_changed").first()
    assert (entry.actor, entry.via, entry.after) == (root, "session", {"groups": ["editor"]})


def test_an_admin_makes_no_superuser_and_grants_no_single_permission(client, root, ann):
    permission = Permission.objects.get(codename="delete_group")
    data = user_form(ann, is_superuser="on", user_permissions=[permission.pk])
    assert client.post(change_url(ann), data).status_code == 302
    ann.refresh_from_db()
    assert not ann.is_superuser
    assert not ann.user_permissions.exists()
    assert b'name="is_superuser"' not in client.get(change_url(ann)).content


def test_an_admin_puts_nobody_into_a_group_that_may_more(client, root, ann):
    owners = Group.objects.create(name="owners")
    owners.permissions.add(Permission.objects.get(codename="change_group"))
    response = client.post(change_url(ann), user_form(ann, groups=[owners.pk]))
    assert response.status_code == 200  # the form again, with its error
    assert not ann.groups.filter(name="owners").exists()


def test_an_admin_touches_no_superuser_not_even_the_password(client, root):
    boss = User.objects.create_superuser("boss", password="correct horse battery")
    client.post(change_url(boss), user_form(boss, is_active=""))
    data = {
        "password1": "another horse battery",
        "password2": "another horse battery",
        "usable_password": "true",
    }
    assert client.post(reverse("admin:auth_user_password_change", args=[boss.pk]), data).status_code == 403
    boss.refresh_from_db()
    assert boss.is_active
    assert boss.check_password("correct horse battery")


def test_an_admin_cannot_change_what_a_group_may(client, root):
    group = Group.objects.get(name="admin")
    url = reverse("admin:auth_group_change", args=[group.pk])
    assert client.get(url).status_code == 200
    everything = list(Permission.objects.values_list("pk", flat=True))
    assert client.post(url, {"name": "admin", "permissions": everything}).status_code == 403
    assert group.permissions.count() < len(everything)


def test_an_admin_does_not_lock_themselves_out(client, root):
    client.post(change_url(root), user_form(root, is_active=""))
    root.refresh_from_db()
    assert root.is_active


def test_a_password_set_by_an_admin_is_recorded(client, root, ann):
    data = {
        "password1": "another horse battery",
        "password2": "another horse battery",
        "usable_password": "true",
    }
    assert client.post(reverse("admin:auth_user_password_change", args=[ann.pk]), data).status_code == 302
    entry = AuditEntry.objects.get(action="user_password_changed")
    assert (entry.actor, entry.subject_label) == (root, "ann")


def test_an_account_with_a_history_is_not_deleted_and_the_page_says_what_to_do(
    client, root, ann, timeout_case
):
    services.flag_case(pair_id=timeout_case.pk, note=NOTE, actor=ann)
    for send in (client.get, client.post):
        response = send(reverse("admin:auth_user_delete", args=[ann.pk]), {"post": "yes"}, follow=True)
        assert "Deactivate it instead" in response.content.decode()
    assert User.objects.filter(pk=ann.pk).exists()


def test_an_account_without_a_history_can_be_deleted(client, root, bob):
    client.post(reverse("admin:auth_user_delete", args=[bob.pk]), {"post": "yes"})
    assert not User.objects.filter(pk=bob.pk).exists()


def test_deactivating_selected_accounts_leaves_out_whom_one_may_not(client, root, ann):
    boss = User.objects.create_superuser("boss")
    data = {"action": "deactivate", "_selected_action": [ann.pk, boss.pk, root.pk]}
    page = client.post(reverse("admin:auth_user_changelist"), data, follow=True).content.decode()
    assert list(User.objects.filter(is_active=False)) == [ann]
    assert "1 account deactivated." in page
    assert "You may not change boss" in page


@pytest.mark.parametrize("role", ["viewer", "reviewer", "editor"])
def test_others_do_not_see_the_accounts(client, role):
    login(client, role)
    assert client.get(reverse("admin:auth_user_changelist")).status_code == 403


# -------------------------------------------------------------------------------------------------- records


@pytest.mark.parametrize("model", ["auditentry", "review", "queueentry"])
def test_records_are_seen_and_never_added_changed_or_deleted_here(client, ann, timeout_case, model):
    review = services.override_result(
        result_id=result_of(timeout_case, "refunded-amount").pk,
        decision="PASS",
        note=NOTE,
        seen_review_id=0,
        actor=ann,
    )
    entry, _ = services.flag_case(pair_id=timeout_case.pk, note=NOTE, actor=ann)
    pk = {"auditentry": 1, "review": review.pk, "queueentry": entry.pk}[model]
    boss = User.objects.create_superuser("boss")
    client.force_login(boss)
    assert client.get(reverse(f"admin:reviews_{model}_changelist")).status_code == 200
    assert client.get(reverse(f"admin:reviews_{model}_change", args=[pk])).status_code == 200
    assert client.post(reverse(f"admin:reviews_{model}_change", args=[pk]), {"note": "x"}).status_code == 403
    assert client.get(reverse(f"admin:reviews_{model}_add")).status_code == 403
    assert (
        client.post(reverse(f"admin:reviews_{model}_delete", args=[pk]), {"post": "yes"}).status_code == 403
    )


def test_a_viewer_sees_the_audit_log_in_the_admin(client):
    login(client, "viewer")
    assert client.get(reverse("admin:reviews_auditentry_changelist")).status_code == 200


def test_closing_entries_in_the_admin_takes_the_note_and_the_service(client, ann, timeout_case):
    entry, _ = services.flag_case(pair_id=timeout_case.pk, note=NOTE, actor=ann)
    reviewer = login(client, "reviewer")
    url = reverse("admin:reviews_queueentry_changelist")
    page = client.post(url, {"action": "close", "_selected_action": [entry.pk], "note": ""}, follow=True)
    assert "at least 10 characters" in page.content.decode()
    assert QueueEntry.objects.open().exists()
    client.post(url, {"action": "close", "_selected_action": [entry.pk], "note": NOTE})
    entry.refresh_from_db()
    assert (entry.state, entry.closed_by, entry.closing_note) == ("DONE", reviewer, NOTE)


def test_withdrawing_in_the_admin_is_a_new_review(client, ann, timeout_case):
    review = services.override_result(
        result_id=result_of(timeout_case, "refunded-amount").pk,
        decision="PASS",
        note=NOTE,
        seen_review_id=0,
        actor=ann,
    )
    login(client, "reviewer")
    data = {"action": "withdraw", "_selected_action": [review.pk], "note": NOTE}
    client.post(reverse("admin:reviews_review_changelist"), data)
    assert [row.decision for row in Review.objects.all()] == ["PASS", "WITHDRAWN"]


# ----------------------------------------------------------------------------------- overriding several


def bulk_url() -> str:
    return reverse("admin:evaluations_expectationresult_changelist")


def hidden_fields(page: str) -> dict:
    import re

    pairs = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    fields: dict = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


def test_a_bulk_override_asks_then_decides_through_the_service(client):
    pair = paired({"a": "PASS", "b": "PASS"}, {"a": "FAIL", "b": "FAIL"})
    reviewer = login(client, "reviewer")
    selected = [result_of(pair, "a").pk, result_of(pair, "b").pk]
    page = client.post(bulk_url(), {"action": "override", "_selected_action": selected})
    assert page.status_code == 200
    fields = hidden_fields(page.content.decode())
    assert not Review.objects.exists()

    refused = client.post(bulk_url(), {**fields, "decision": "PASS", "note": "no"})
    assert refused.status_code == 422
    assert not Review.objects.exists()

    for _ in range(2):  # a double click
        client.post(bulk_url(), {**fields, "decision": "PASS", "note": NOTE})
    assert [row.reviewer for row in Review.objects.all()] == [reviewer, reviewer]
    assert AuditEntry.objects.filter(action="result_overridden", via="session").count() == 2
    pair.refresh_from_db()
    assert pair.classification == "UNCHANGED"


def test_a_bulk_override_says_what_changed_meanwhile(client, ann):
    pair = paired({"a": "PASS"}, {"a": "FAIL"})
    login(client, "reviewer")
    result = result_of(pair, "a")
    page = client.post(bulk_url(), {"action": "override", "_selected_action": [result.pk]})
    services.override_result(result_id=result.pk, decision="FAIL", note=NOTE, seen_review_id=0, actor=ann)
    fields = hidden_fields(page.content.decode())
    answer = client.post(bulk_url(), {**fields, "decision": "PASS", "note": NOTE}, follow=True)
    assert "ann decided FAIL on this result meanwhile" in answer.content.decode()
    assert Review.objects.count() == 1


def test_a_viewer_is_not_offered_the_override(client):
    pair = paired({"a": "PASS"}, {"a": "FAIL"})
    login(client, "viewer")
    data = {
        "action": "override",
        "_selected_action": [result_of(pair, "a").pk],
        "decision": "PASS",
        "note": NOTE,
    }
    client.post(bulk_url(), data)
    assert not Review.objects.exists()


def test_results_themselves_are_not_edited_in_the_admin(client):
    pair = paired({"a": "PASS"}, {"a": "FAIL"})
    client.force_login(User.objects.create_superuser("boss"))
    url = reverse("admin:evaluations_expectationresult_change", args=[result_of(pair, "a").pk])
    assert client.post(url, {"effective_status": "PASS"}).status_code == 403
    assert not ExpectationResult.objects.filter(status="FAIL", effective_status="PASS").exists()
