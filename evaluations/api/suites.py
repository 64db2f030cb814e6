"""Checks of suites in the API: run one, list them, what became of each case."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import re_path
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.lists import ListQuery, NoQuery, listing, read_query
from agenttwin_site.api.schema import WRITES, operation
from agenttwin_site.api.views import ApiView, created
from evaluations.api.comparisons import ID
from evaluations.api.dataset_shapes import (
    SUITE_CHECK,
    SUITE_CHECK_CASE,
    SuiteCheckCaseList,
    SuiteCheckList,
    SuiteCheckShape,
)
from evaluations.api.datasets import VERSION, found_version, refuse_hidden
from evaluations.models import SuiteCheck
from evaluations.services.suite_health import check_suite, health_of
from scenarios.holdouts import DETAILS
from twins.document_api import person

_READ = Access(("read", "run"), "evaluations.view_suitecheck")
_RUN = Access(("run",), "evaluations.add_suitecheck")


class SuiteChecks(ApiView):
    access = {"GET": _READ, "POST": _RUN}

    @operation(
        "Checks of a suite, latest first",
        name="suite_checks_list",
        tag="datasets",
        answers={200: SuiteCheckList},
        query=ListQuery,
        example={"results": [SUITE_CHECK], "next": None, "previous": None},
    )
    def get(self, request: Any, name: str, number: str) -> Response:
        query = read_query(request, ListQuery)
        checks = SuiteCheck.objects.filter(dataset_version=found_version(name, number))
        return listing(
            request,
            checks.select_related("dataset_version__dataset", "created_by"),
            keys=("-pk",),
            query=query,
            render=_json,
        )

    @operation(
        "Check a suite",
        name="suite_checks_run",
        tag="datasets",
        description=(
            "Runs the control agents on every case, here and now. `flagged` names those that no case "
            "catches: the suite cannot tell them from a good agent. What cannot be run is 400."
        ),
        answers={201: SuiteCheckShape},
        example=SUITE_CHECK,
        errors=WRITES,
    )
    def post(self, request: Any, name: str, number: str) -> Response:
        read_query(request, NoQuery)
        check = check_suite(found_version(name, number), actor=request.user)
        return created(_json(check), is_new=True)


class SuiteCheckCases(ApiView):
    access = {"GET": _READ}

    @operation(
        "What the control agents made of each case",
        name="suite_checks_cases",
        tag="datasets",
        description=f"That of a holdout needs the permission {DETAILS} (403).",
        answers={200: SuiteCheckCaseList},
        query=ListQuery,
        example={"results": [SUITE_CHECK_CASE], "next": None, "previous": None},
    )
    def get(self, request: Any, name: str, number: str, pk: str) -> Response:
        query = read_query(request, ListQuery)
        version = found_version(name, number)
        refuse_hidden(request, version)
        check = SuiteCheck.objects.filter(pk=int(pk), dataset_version=version).first()
        if check is None:
            raise Http404(f"There is no check {pk} of dataset {version}.")
        return listing(
            request,
            check.cases.select_related("dataset_case"),
            keys=("pk",),
            query=query,
            render=lambda row: {
                "case": row.dataset_case.case_id,
                "control": row.control,
                "verdict": row.verdict,
                "failing": row.failing,
                "reason": row.reason,
            },
        )


def _json(check: SuiteCheck) -> dict[str, Any]:
    return {
        "id": check.pk,
        "dataset": check.dataset_version.dataset.name,
        "version": check.dataset_version.number,
        "flagged": check.flagged,
        "controls": [
            {
                "name": one.control.name,
                "does": one.control.does,
                "passed": one.passed,
                "caught": one.caught,
                "undecided": one.undecided,
                "flagged": one.is_flagged,
                "missing": one.control.missing if one.is_flagged else None,
            }
            for one in health_of(check)
        ],
        "created_at": check.created_at,
        "created_by": person(check.created_by),
    }


urlpatterns = [
    re_path(rf"{VERSION}checks/$", SuiteChecks.as_view(), name="suite_checks"),
    re_path(rf"{VERSION}checks/(?P<pk>{ID})/cases/$", SuiteCheckCases.as_view(), name="suite_check_cases"),
]
