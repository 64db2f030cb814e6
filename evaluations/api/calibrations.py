"""Calibrations in the API: start, list, look at, their rows."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid5

from django.http import Http404
from django.urls import re_path
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.keys import key_of, key_parameter
from agenttwin_site.api.lists import ListQuery, NoQuery, Strict, list_of, listing, read_body, read_query
from agenttwin_site.api.schema import WRITES, operation
from agenttwin_site.api.views import ApiView, created
from evaluations.api import judge_examples as shown
from evaluations.api import judge_shapes as shapes
from evaluations.api.comparisons import ID
from evaluations.api.criteria import version_or_404
from evaluations.models import Calibration, CalibrationState
from evaluations.page_queries import judges as queries
from evaluations.services.calibration import standing, start_calibration
from evaluations.services.labelling import visible_to
from evaluations.views.criteria import judge_here

_READ = Access(("read", "run", "review", "edit"), "evaluations.view_calibration")
_START = Access(("run", "edit"), "evaluations.add_calibration")
# Keys of two people are two requests.
_KEYS = UUID("c6b3a6de-6a4f-4f0e-8d53-0a4be0c1a7d2")
_OUTCOMES = ("PASS", "FAIL", "ERROR", "LEFT_OUT")


class CalibrationRequestShape(Strict):
    criterion = serializers.CharField(max_length=200)
    version = serializers.IntegerField(
        min_value=1, max_value=10**9 - 1, required=False, help_text="The current rubric if not said."
    )


class CalibrationQuery(ListQuery):
    criterion = serializers.CharField(required=False, max_length=200, help_text="Of this criterion alone.")
    state = serializers.ChoiceField(
        choices=CalibrationState.values, required=False, help_text="In this state alone."
    )


class ResultQuery(ListQuery):
    agrees = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="false: the disagreements alone."
    )
    outcome = serializers.ChoiceField(
        choices=_OUTCOMES, required=False, help_text="What the judge made of it."
    )


CalibrationList = list_of("CalibrationList", shapes.CalibrationShape)
CalibrationResultList = list_of("CalibrationResultList", shapes.CalibrationResultShape)
_KEY = key_parameter("The same request under the same key answers the same calibration.")


class Calibrations(ApiView):
    access = {"GET": _READ, "POST": _START}

    @operation(
        "Calibrations, newest first",
        name="calibrations_list",
        tag="judges",
        answers={200: CalibrationList},
        query=CalibrationQuery,
        example={"results": [shown.CALIBRATION], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, CalibrationQuery)
        columns = {"criterion": "criterion_version__criterion__name", "state": "state"}
        chosen = {column: query[name] for name, column in columns.items() if query.get(name)}
        return listing(
            request,
            _calibrations().filter(**chosen),
            keys=("-pk",),
            query=query,
            render=lambda row: shapes.calibration_json(request, row),
        )

    @operation(
        "Calibrate the configured judge",
        name="calibrations_start",
        tag="judges",
        description=(
            "Asks the judge about every example of the rubric that people labelled and agree on. 201: it was "
            "started; 200: one of this judge and rubric is under way, or the key was used before."
        ),
        answers={201: shapes.CalibrationShape, 200: shapes.CalibrationShape},
        body=CalibrationRequestShape,
        body_example={"criterion": "refund-handover"},
        parameters=[_KEY],
        example=shown.CALIBRATION,
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, CalibrationRequestShape)
        key = key_of(request)
        calibration, is_new = start_calibration(
            version=version_or_404(asked["criterion"], asked.get("version")),
            form_token=None if key is None else uuid5(_KEYS, f"{request.user.pk}:{key}"),
            actor=request.user,
        )
        return created(shapes.calibration_json(request, _found(calibration.pk)), is_new=is_new)


class OneCalibration(ApiView):
    access = {"GET": _READ}

    @operation(
        "A calibration with its confusion matrix",
        name="calibrations_detail",
        tag="judges",
        answers={200: shapes.FullCalibrationShape},
        example=shown.FULL_CALIBRATION,
    )
    def get(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        calibration = _found(int(pk))
        version, judge = calibration.criterion_version, judge_here()
        figures = queries.calibration_figures(calibration)
        worth = standing(judge, version.criterion.name, version.rubric_sha256) if judge else None
        return Response(
            {
                **shapes.calibration_json(request, calibration),
                "matrix": [
                    {"people": cell.truth, "judge": cell.outcome, "examples": cell.count}
                    for row in figures.rows
                    for cell in row
                ],
                "waiting": figures.waiting,
                "left_out": figures.left_out,
                "standing": shapes.standing_json(worth),
            }
        )


class CalibrationResults(ApiView):
    access = {"GET": _READ}

    @operation(
        "The examples of a calibration with people's labels and the judge's answers",
        name="calibrations_results",
        tag="judges",
        description=(
            "Who may label gets those alone that are labelled by that account: a label counts only if it is "
            "blind."
        ),
        answers={200: CalibrationResultList},
        query=ResultQuery,
        example={"results": [shown.RESULT], "next": None, "previous": None},
    )
    def get(self, request: Any, pk: str) -> Response:
        query = read_query(request, ResultQuery)
        calibration = _found(int(pk))
        rows = visible_to(calibration, request.user)
        if query.get("agrees") is not None:
            rows = rows.filter(agrees=query["agrees"])
        if query.get("outcome"):
            rows = rows.filter(outcome=query["outcome"])
        return listing(request, rows, keys=("position",), query=query, render=shapes.result_json)


def _calibrations() -> Any:
    return Calibration.objects.select_related("criterion_version__criterion", "created_by")


def _found(pk: int) -> Calibration:
    calibration: Calibration | None = _calibrations().filter(pk=pk).first()
    if calibration is None:
        raise Http404(f"There is no calibration {pk}.")
    return calibration


urlpatterns = [
    re_path(r"^calibrations/$", Calibrations.as_view(), name="calibrations"),
    re_path(rf"^calibrations/(?P<pk>{ID})/$", OneCalibration.as_view(), name="calibration"),
    re_path(
        rf"^calibrations/(?P<pk>{ID})/results/$", CalibrationResults.as_view(), name="calibration_results"
    ),
]
