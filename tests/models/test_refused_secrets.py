"""Problems quote what was found; none of them quotes a secret that a twin plants."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command

from evaluations.services.agents import save_agent
from scenarios.services import save_scenario
from tests.models import documents
from twins.documents.problems import DocumentError
from twins.services import save_twin

pytestmark = pytest.mark.django_db
SECRET = documents.SECRET
LOOKED_FOR = "hunter2-hunter2"


def problems_of(save: Callable[..., Any], text: str, **options: Any) -> str:
    with pytest.raises(DocumentError) as refused:
        save(text=text, **options)
    return str(refused.value)


# Each repeats the secret where a problem quotes what was found.
TWIN = documents.TWIN.replace("kind: read", f"kind: {SECRET}")
SCENARIO = documents.SCENARIO.replace("severity: critical", f"severity: {SECRET}")
CHECKED = documents.SCENARIO.replace("severity: critical", f"severity: {LOOKED_FOR}").replace(
    "    - type: toolCalled",
    f"    - {{type: noSecretDisclosure, secrets: [{LOOKED_FOR}]}}\n    - type: toolCalled",
)
AGENT = documents.AGENT.replace("risk: READ", f"risk: {SECRET}")


def test_a_refused_twin() -> None:
    said = problems_of(save_twin, TWIN)
    assert SECRET not in said
    assert "handler.kind" in said
    assert "[REDACTED]" in said


def test_a_refused_edit_that_cannot_even_be_read() -> None:
    save_twin(text=documents.TWIN)
    said = problems_of(save_twin, f"{SECRET}: 1\n{SECRET}: 2\n", name="shop")
    assert SECRET not in said
    assert "[REDACTED]" in said


@pytest.mark.parametrize(
    ("save", "text", "secret"),
    [(save_scenario, SCENARIO, SECRET), (save_scenario, CHECKED, LOOKED_FOR), (save_agent, AGENT, SECRET)],
)
def test_a_refused_scenario_or_agent(save: Callable[..., Any], text: str, secret: str) -> None:
    save_twin(text=documents.TWIN)
    save_scenario(text=documents.SCENARIO)
    said = problems_of(save, text)
    assert secret not in said
    assert "[REDACTED]" in said


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_refused_import(tmp_path: Any, is_stored: bool) -> None:
    if is_stored:
        save_twin(text=documents.TWIN)
    else:
        (tmp_path / "twin.yaml").write_text(TWIN)
    (tmp_path / "agent.yaml").write_text(AGENT)
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    out, err = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit):
        call_command("import_documents", str(tmp_path), stdout=out, stderr=err)
    assert SECRET not in out.getvalue() + err.getvalue()
    assert err.getvalue().count("[REDACTED]") == (2 if is_stored else 3)
