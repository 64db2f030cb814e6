"""The two semantic checks of the demo, graded by the judge that counts words, and a person who disagrees."""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client

from evaluations.models import Comparison, ExpectationResult, JudgeVerdict, PairedCase
from evaluations.reporting.report import load_report
from evaluations.services.importing import import_documents
from reviews.models import AuditEntry
from tests.demo.facts import FACTS
from tests.demo.playing import FOLDER

pytestmark = pytest.mark.django_db

NOTE = "The reply is fine, the customer was told by mail."
JUDGED = {"refund-over-limit": "says-what-happens-next", "refund-tool-success-lie": "says-what-happened"}


@pytest.fixture
def compared(settings: Any) -> Comparison:
    """1.3.0 against 1.2.4 on the demo's nine scenarios."""
    settings.BROKER_IS_CONFIGURED = False
    import_documents([FOLDER / name for name in ("twin.yaml", "scenarios", "agents")])
    with pytest.raises(SystemExit):
        call_command(
            "compare", "support-refund-agent", baseline="1.2.4", candidate="1.3.0", stdout=StringIO()
        )
    return Comparison.objects.get()


def judged(comparison: Comparison) -> dict[tuple[str, str], JudgeVerdict]:
    rows = JudgeVerdict.objects.filter(result__case__pair__comparison=comparison)
    return {
        (row.result.case.pair.scenario_name, row.result.case.run.side): row
        for row in rows.select_related("result__case__pair", "result__case__run")
    }


def test_the_fake_grades_both_checks_and_no_fact_of_the_demo_changes(compared: Comparison) -> None:
    found = judged(compared)
    assert {place: (row.expectation_id, row.status, row.score) for place, row in found.items()} == {
        ("refund-over-limit", "BASELINE"): ("says-what-happens-next", "PASS", 1.0),
        ("refund-over-limit", "CANDIDATE"): ("says-what-happens-next", "PASS", 1.0),
        ("refund-tool-success-lie", "BASELINE"): ("says-what-happened", "PASS", 1.0),
        ("refund-tool-success-lie", "CANDIDATE"): ("says-what-happened", "FAIL", 0.0),
    }
    assert {row.judge_label for row in found.values()} == {"deterministic-fake"}
    classes = dict(compared.pairs.values_list("scenario_name", "classification"))
    assert classes == {name: fact.klass for name, fact in FACTS.items()}
    failing = ExpectationResult.objects.filter(
        case__pair__scenario_name="refund-tool-success-lie", case__run__side="CANDIDATE", status="FAIL"
    )
    expected = FACTS["refund-tool-success-lie"].failing | {"says-what-happened": "SEMANTIC_FAIL"}
    assert dict(failing.values_list("expectation_id", "label")) == expected


def test_the_reports_say_who_judged_and_that_it_is_no_language_model(compared: Comparison) -> None:
    from evaluations.management.commands.compare import FORMATS
    from evaluations.reporting.markdown_format import render_markdown

    report = load_report(compared.pk)
    who = "deterministic-fake keyword-overlap-1, prompt 1 (not a language model)"
    line = "judged by deterministic-fake keyword-overlap-1 (not a language model): "
    assert line in FORMATS["text"](report)
    assert "says-what-happened SEMANTIC_FAIL (judged by deterministic-fake)" in FORMATS["text"](report)
    assert f'<property name="judge" value="{line}' in FORMATS["junit"](report)
    assert f"FAIL says-what-happened SEMANTIC_FAIL [judged by {who}]" in FORMATS["junit"](report)
    assert "not a language model" in render_markdown(report)
    cases = {case["scenario"]: case for case in json.loads(FORMATS["json"](report))["cases"]}
    lines = {line["id"]: line for line in cases["refund-tool-success-lie"]["candidate"]["results"]}
    assert lines["says-what-happened"]["judge"]["label"] == "deterministic-fake"
    assert "judge" not in lines["handed-over"]


def test_a_reviewer_who_turns_the_judges_fail_into_a_pass_does_not_lift_the_lie(compared: Comparison) -> None:
    pair = PairedCase.objects.get(comparison=compared, scenario_name="refund-tool-success-lie")
    before = pair.newly_failing
    assert "says-what-happened" in before
    result = ExpectationResult.objects.get(
        case__pair=pair, case__run__side="CANDIDATE", expectation_id="says-what-happened"
    )
    ann = User.objects.create_user("ann")
    ann.groups.add(Group.objects.get(name="reviewer"))
    client = Client()
    client.force_login(ann)
    address = f"/comparisons/{compared.pk}/cases/refund-tool-success-lie/"
    html = client.get(address, {"override": result.pk}).content.decode()
    form = dict(re.findall(r'<input type="hidden" name="(seen_review_id|form_token)" value="([^"]*)"', html))

    sent = client.post(
        f"/results/{result.pk}/override/", {**form, "decision": "PASS", "note": NOTE}, follow=True
    )

    assert sent.status_code == 200
    result.refresh_from_db()
    assert (result.status, result.effective_status) == ("FAIL", "PASS")
    pair.refresh_from_db()
    assert pair.classification == "NEW_CRITICAL_FAILURE"
    assert set(pair.newly_failing) == set(before) - {"says-what-happened"}
    compared.refresh_from_db()
    assert compared.state == "COMPLETED"
    # The history shows both: what the judge said, and what the person made of it.
    page = client.get(address).content.decode()
    assert NOTE in page
    assert "was FAIL, changed by ann" in re.sub(r"\s+", " ", page)
    verdict = result.judge_verdict
    assert verdict.status == "FAIL"
    told = client.get(verdict.get_absolute_url()).content.decode()
    assert "A reviewer decided otherwise" in told
    entry = AuditEntry.objects.order_by("-pk").first()
    assert "FAIL" in json.dumps(entry.before)
    assert "PASS" in json.dumps(entry.after)
