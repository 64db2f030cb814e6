"""`import_documents`: files and folders in any order, all or nothing."""

import io
import json
import os
import subprocess
import sys

import pytest
from django.core.management import call_command

from evaluations.models import AgentVersion
from scenarios.models import Scenario
from tests.models import documents
from twins.models import Twin, TwinVersion

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path):
    """A folder whose files sort scenarios before the twin they need."""
    (tmp_path / "a-scenario.yaml").write_text(documents.SCENARIO)
    (tmp_path / "nested").mkdir()
    (tmp_path / "nested" / "twin.yml").write_text(documents.TWIN)
    (tmp_path / "nested" / "agent.json").write_text(json.dumps({"see": "below"}))
    manifest = {
        "apiVersion": "agenttwin.dev/v1",
        "kind": "Agent",
        "metadata": {"name": "helper", "version": "1.0.0"},
        "spec": {"model": {"provider": "p", "name": "m"}, "tools": []},
    }
    (tmp_path / "nested" / "agent.json").write_text(json.dumps(manifest))
    (tmp_path / "notes.txt").write_text("not a document")
    (tmp_path / ".hidden.yaml").write_text("kind: Nonsense")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "twin.yaml").write_text("kind: Nonsense")
    return tmp_path


def run(*paths) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of the command."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("import_documents", *map(str, paths), stdout=out, stderr=err)
    except SystemExit as stop:
        return int(stop.code), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def nothing_stored() -> bool:
    return not (Twin.objects.exists() or Scenario.objects.exists() or AgentVersion.objects.exists())


def test_a_folder_is_read_with_all_below_it_and_in_any_order(folder) -> None:
    status, out, err = run(folder)
    assert (status, err) == (0, "")
    assert "twin shop: made version 1" in out
    assert "scenario refund: made version 1" in out
    assert "agent helper: made version 1.0.0" in out
    assert "3 new, 0 unchanged" in out


def test_a_second_import_changes_nothing_and_says_so(folder) -> None:
    run(folder)
    status, out, _ = run(folder / "nested" / "twin.yml", folder)
    assert status == 0
    assert "twin shop: unchanged, version 1" in out
    assert "0 new, 3 unchanged" in out
    assert TwinVersion.objects.count() == 1


def test_one_problem_anywhere_stores_nothing_and_every_problem_has_its_place(folder) -> None:
    (folder / "b.yaml").write_text(
        documents.SCENARIO.replace("critical", "urgent").replace("refund", "second")
    )
    (folder / "nested" / "broken.yaml").write_text("kind: [unclosed")
    status, out, err = run(folder)
    assert (status, out) == (2, "")
    lines = err.splitlines()
    assert any(line.startswith(f"{folder / 'b.yaml'}:5: metadata.severity: ") for line in lines)
    assert any(line.startswith(f"{folder / 'nested' / 'broken.yaml'}:") for line in lines)
    assert nothing_stored()


def test_a_json_source_has_no_line(tmp_path) -> None:
    (tmp_path / "twin.json").write_text(json.dumps({"kind": "TwinDefinition"}))
    status, _, err = run(tmp_path)
    assert status == 2
    assert all(line.startswith(f"{tmp_path / 'twin.json'}: ") for line in err.splitlines())


def test_a_scenario_is_held_against_the_stored_twin(tmp_path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(documents.SCENARIO)
    status, _, err = run(file)
    assert status == 2
    assert err.startswith(f"{file}:9: spec.twin: ")
    (tmp_path / "twin.yaml").write_text(documents.TWIN)
    assert run(tmp_path / "twin.yaml")[0] == 0
    assert run(file)[0] == 0


def test_a_broken_twin_is_not_reported_again_for_each_of_its_scenarios(folder) -> None:
    (folder / "nested" / "twin.yml").write_text(documents.TWIN.replace("kind: read", "kind: reed"))
    _, _, err = run(folder)
    assert "spec.twin" not in err
    assert "handler.kind" in err


def test_other_content_under_a_registered_version_is_refused_with_its_line(tmp_path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(documents.agent())
    run(file)
    file.write_text(documents.agent(instructions="Answer at once."))
    (tmp_path / "twin.yaml").write_text(documents.TWIN)
    status, _, err = run(tmp_path)
    assert status == 2
    assert err.startswith(f"{file}:5: metadata.version: ")
    assert not Twin.objects.exists()


def test_other_content_under_a_registered_version_is_said_beside_other_problems(folder) -> None:
    run(folder)
    agent = folder / "nested" / "agent.json"
    agent.write_text(agent.read_text().replace('"m"', '"other"'))
    (folder / "a-scenario.yaml").write_text("kind: Nonsense")
    status, _, err = run(folder, folder / "missing.yaml")
    assert status == 2
    lines = err.splitlines()
    assert "missing.yaml" in lines[0]
    assert "a-scenario.yaml" in lines[1]
    assert "1.0.0 of helper is registered with other content" in lines[-1]


@pytest.mark.parametrize("missing", ["no-such-file.yaml", "no-such-folder/"])
def test_a_path_that_does_not_exist_is_an_error(folder, missing) -> None:
    status, _, err = run(folder, folder / missing)
    assert status == 2
    assert "there is no such file" in err
    assert nothing_stored()


def test_a_link_that_leads_nowhere_is_a_document_that_cannot_be_read(folder) -> None:
    (folder / "gone.yaml").symlink_to(folder / "nowhere.yaml")
    status, _, err = run(folder)
    assert status == 2
    assert "gone.yaml: $: cannot be read: No such file" in err
    assert nothing_stored()


def test_a_folder_without_documents_is_an_error(folder) -> None:
    (folder / "empty").mkdir()
    (folder / "empty" / "notes.txt").write_text("")
    status, _, err = run(folder, folder / "empty")
    assert status == 2
    assert str(folder / "empty") in err
    assert nothing_stored()


def test_a_file_that_is_not_text_or_too_large_is_an_error(tmp_path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "large.yaml").write_text("# " + "x" * (1024 * 1024))
    status, _, err = run(tmp_path)
    assert status == 2
    assert "binary.yaml" in err
    assert "large.yaml" in err


def test_another_kind_of_document_is_an_error(tmp_path) -> None:
    (tmp_path / "calls.yaml").write_text("calls: []\n")
    (tmp_path / "other.yaml").write_text("kind: Deployment\n")
    status, _, err = run(tmp_path)
    assert status == 2
    assert "other.yaml:1: kind: " in err
    assert "calls.yaml" in err


def test_a_database_without_tables_is_one_line_and_status_4(tmp_path):
    (tmp_path / "twin.yaml").write_text("apiVersion: agenttwin.dev/v1\n")
    done = subprocess.run(
        [sys.executable, "manage.py", "import_documents", "demo/refund/twin.yaml"],
        env={**os.environ, "DATABASE_URL": f"sqlite:///{tmp_path}/empty.sqlite3"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert "has it been migrated?" in done.stderr
    assert "Traceback" not in done.stderr
