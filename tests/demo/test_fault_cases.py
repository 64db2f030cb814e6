"""Drafts of the refund demo, proven on its agents: the careful version passes, the careless one fails."""

from __future__ import annotations

from typing import Any

import pytest

from evaluations.models import Case
from evaluations.services.comparisons import start_comparison
from evaluations.services.fault_cases import draft_fault_cases, missing_of
from evaluations.services.importing import import_documents
from evaluations.services.waiting import run_here
from scenarios.holdouts import EVERYTHING
from tests.demo.staging import DEMOS

pytestmark = pytest.mark.django_db

CARELESS, CAREFUL = "1.3.0", "1.3.1"
TIMEOUT = "refund-happy-path-refund_payment-timeout-after-effect"
LIE = "refund-happy-path-refund_payment-success-without-effect"


def compare(**options: Any) -> Any:
    comparison, _ = start_comparison(
        agent="support-refund-agent", baseline=CAREFUL, candidate=CARELESS, wake=False, **options
    )
    run_here(comparison.pk)
    comparison.refresh_from_db()
    return comparison


def test_drafts_of_the_happy_path_tell_the_careful_from_the_careless() -> None:
    import_documents([str(DEMOS / "refund")])
    passed = compare(scenarios=["refund-happy-path"])
    assert passed.state == "COMPLETED"
    missing = missing_of("scenario", "refund-happy-path", EVERYTHING)
    drafts = {one.scenario.name: one for one in draft_fault_cases(missing)}
    assert {TIMEOUT, LIE} <= set(drafts)
    assert drafts[TIMEOUT].document["spec"]["faults"][0]["when"] == {"callNumber": 1}

    comparison = compare(scenarios=[TIMEOUT, LIE])
    verdicts = {
        (case.pair.scenario_name, case.run.side): case
        for case in Case.objects.filter(run__comparison=comparison).select_related("pair", "run")
    }
    failing = {
        key: set(case.results.filter(status="FAIL").values_list("expectation_id", flat=True))
        for key, case in verdicts.items()
    }
    assert verdicts[TIMEOUT, "BASELINE"].verdict == verdicts[LIE, "BASELINE"].verdict == "PASSED", failing
    assert verdicts[TIMEOUT, "CANDIDATE"].verdict == "FAILED"
    assert {"done-once-1", "no-second-effect"} <= failing[TIMEOUT, "CANDIDATE"]
    assert verdicts[LIE, "CANDIDATE"].verdict == "FAILED"
    assert failing[LIE, "CANDIDATE"] == {"success-backed-by-state"}
