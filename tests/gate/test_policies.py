"""Storing gate policies and putting them in force."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from evaluations.errors import NotAllowedError, RequestError
from evaluations.models import GatePolicy, GatePolicyVersion
from evaluations.services.gate_policies import (
    activate_gate_policy,
    policy_in_force,
    policy_of,
    save_gate_policy,
)
from reviews.models import AuditEntry
from tests.documents.samples import gate_policy
from tests.reviews.conftest import person
from twins.documents.problems import DocumentError
from twins.documents.yaml_writer import to_yaml
from twins.errors import StaleEditError

pytestmark = pytest.mark.django_db


def test_the_first_version_is_in_force_and_a_later_one_waits(boss: Any) -> None:
    first, is_new = save_gate_policy(document=gate_policy())
    second, _ = save_gate_policy(document=gate_policy(minimumTrials=3))
    assert (is_new, second.number) == (True, 2)
    assert policy_in_force("careful") == first
    activate_gate_policy(version=second, actor=boss, note="three trials from now on")
    assert policy_of(policy_in_force("careful")).minimum_trials == 3
    entry = AuditEntry.objects.latest("sequence")
    assert (entry.action, entry.actor, entry.note) == (
        "gate_policy_activated",
        boss,
        "three trials from now on",
    )
    assert (entry.before["version"], entry.after["version"]) == (1, 2)


def test_the_same_content_makes_no_version_and_old_content_a_new_one() -> None:
    first, _ = save_gate_policy(document=gate_policy())
    assert save_gate_policy(document=gate_policy()) == (first, False)
    save_gate_policy(document=gate_policy(minimumTrials=3))
    assert save_gate_policy(document=gate_policy())[0].number == 3


@pytest.mark.parametrize("role", ["viewer", "reviewer", "editor"])
def test_only_admins_put_a_version_in_force(role: str) -> None:
    save_gate_policy(document=gate_policy())
    second, _ = save_gate_policy(document=gate_policy(minimumTrials=3))
    for actor in (person("x", role), None):
        with pytest.raises(NotAllowedError):
            activate_gate_policy(version=second, actor=actor)
    assert policy_in_force("careful").number == 1


def test_putting_the_same_version_in_force_again_is_no_event(boss: Any) -> None:
    version, _ = save_gate_policy(document=gate_policy())
    count = AuditEntry.objects.count()
    activate_gate_policy(version=version, actor=boss)
    assert AuditEntry.objects.count() == count


def test_a_wrong_document_and_a_late_edit_store_nothing() -> None:
    with pytest.raises(DocumentError):
        save_gate_policy(document=gate_policy(minimumTrials=0))
    save_gate_policy(document=gate_policy())
    with pytest.raises(StaleEditError):
        save_gate_policy(document=gate_policy(minimumTrials=2), based_on=5)
    with pytest.raises(DocumentError, match="must stay other"):
        save_gate_policy(document=gate_policy(), name="other")
    assert GatePolicyVersion.objects.count() == 1


def test_the_shipped_default_is_there_when_it_is_asked_for() -> None:
    assert not GatePolicy.objects.exists()
    assert str(policy_in_force("default")) == "default@1"
    assert policy_in_force("default").pk == policy_in_force("default").pk
    with pytest.raises(RequestError, match="unknown policy 'x'"):
        policy_in_force("x")


def test_import_documents_takes_policies_and_says_which_one_waits(tmp_path: Any) -> None:
    path = tmp_path / "policy.yaml"
    said = []
    for trials in (1, 2):
        path.write_text(to_yaml(gate_policy(minimumTrials=trials)))
        out = StringIO()
        call_command("import_documents", str(path), stdout=out)
        said.append(out.getvalue().splitlines()[0])
    assert said == [
        f"gate policy careful: made version 1 ({path})",
        f"gate policy careful: made version 2, not in force until it is activated ({path})",
    ]
