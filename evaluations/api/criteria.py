"""Criteria, examples and one's own labels in the API."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import re_path
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.lists import (
    ListQuery,
    NoQuery,
    Strict,
    list_of,
    listed,
    listing,
    page_of,
    read_body,
    read_query,
)
from agenttwin_site.api.parsing import DOCUMENT_PARSERS, DocumentText, YamlDocumentParser
from agenttwin_site.api.schema import WRITES, operation
from agenttwin_site.api.views import ApiView, created
from evaluations.api import judge_examples as shown
from evaluations.api import judge_shapes as shapes
from evaluations.api.comparisons import ID
from evaluations.labelling import CRITERION_CHARACTERS, JSONL, RUBRIC_CHARACTERS
from evaluations.models import CriterionVersion, Example, Label, LabelValue
from evaluations.page_queries import judges as queries
from evaluations.services import labelling
from evaluations.services.calibration import standing
from evaluations.services.criteria import (
    example_from_result,
    import_examples,
    results_to_take,
    save_criterion,
)
from evaluations.views.criteria import judge_here
from twins.api import stored_name
from twins.document_api import DOCUMENT_BODY, NAME

_READ = Access(("read", "review", "edit"), "evaluations.view_criterion")
_EDIT = Access(("edit",), "evaluations.add_criterion")
_IMPORT = Access(("edit",), "evaluations.add_example")
_LABEL = Access(("review",), "evaluations.add_label")
_LARGEST = 2**63 - 1
_VERSION_HELP = "The number of a version; the current one if not said."


class JsonLinesParser(YamlDocumentParser):
    """One JSON object a line, left as text: what is wrong with it is told with lines."""

    media_type = "application/x-ndjson"
    kind = JSONL


class JsonLinesParserShort(JsonLinesParser):
    media_type = "application/jsonl"


class CriterionRequestShape(Strict):
    name = serializers.CharField(max_length=CRITERION_CHARACTERS, trim_whitespace=False)
    rubric = serializers.CharField(max_length=RUBRIC_CHARACTERS, trim_whitespace=False)


class CriterionQuery(ListQuery):
    q = serializers.CharField(required=False, max_length=200, help_text="A part of the name.")


class VersionQuery(Strict):
    version = serializers.IntegerField(
        min_value=1, max_value=10**9 - 1, required=False, help_text=_VERSION_HELP
    )


class ExampleQuery(ListQuery):
    criterion = serializers.CharField(max_length=200, help_text="The criterion whose examples these are.")
    version = serializers.IntegerField(
        min_value=1, max_value=10**9 - 1, required=False, help_text=_VERSION_HELP
    )
    unlabelled = serializers.BooleanField(
        required=False, default=False, help_text="Those alone that you have not labelled."
    )


class ImportQuery(Strict):
    criterion = serializers.CharField(
        required=False,
        max_length=200,
        help_text="What the examples are for, where the document does not say; JSONL never does.",
    )


class ImportedShape(serializers.Serializer):
    criterion = serializers.CharField()
    version = serializers.IntegerField()
    created = serializers.IntegerField(help_text="Examples that are new.")
    known = serializers.IntegerField(help_text="Examples that were there already.")
    is_new_version = serializers.BooleanField(help_text="Whether the document's rubric made a version.")
    links = shapes.CriterionLinks()


class FromResultShape(Strict):
    result = serializers.IntegerField(
        min_value=1, max_value=_LARGEST, help_text="The result of an expectation that a judge reads."
    )


class LabelRequestShape(Strict):
    example = serializers.IntegerField(min_value=1, max_value=_LARGEST)
    label = serializers.ChoiceField(choices=LabelValue.values)


class TakeBackShape(Strict):
    example = serializers.IntegerField(min_value=1, max_value=_LARGEST)


class LabelQuery(ListQuery):
    criterion = serializers.CharField(required=False, max_length=200, help_text="For this criterion alone.")
    example = serializers.IntegerField(
        min_value=1, max_value=_LARGEST, required=False, help_text="Of this example alone."
    )


CriterionList = list_of("CriterionList", shapes.CriterionShape)
ExampleList = list_of("ExampleList", shapes.ExampleShape)
LabelList = list_of("LabelList", shapes.LabelShape)


class Criteria(ApiView):
    access = {"GET": _READ, "POST": _EDIT}

    @operation(
        "Criteria by their current rubrics",
        name="criteria_list",
        tag="judges",
        answers={200: CriterionList},
        query=CriterionQuery,
        example={"results": [shown.CRITERION], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, CriterionQuery)
        rows = queries.current_versions()
        if query.get("q"):
            rows = rows.filter(criterion__name__icontains=query["q"])
        return listing(
            request,
            rows,
            keys=("criterion_id",),
            query=query,
            render=lambda row: shapes.criterion_json(request, row),
        )

    @operation(
        "Set the rubric of a criterion",
        name="criteria_save",
        tag="judges",
        description=(
            "201: the rubric is current now, as a new version or as the old one that had exactly these "
            "words; 200: it was current already. Calibrations by other words become stale."
        ),
        answers={201: shapes.CriterionShape, 200: shapes.CriterionShape},
        body=CriterionRequestShape,
        body_example=shown.NEW_CRITERION,
        example=shown.CRITERION,
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, CriterionRequestShape)
        version, is_new = save_criterion(name=asked["name"], rubric=asked["rubric"], actor=request.user)
        return created(shapes.criterion_json(request, version), is_new=is_new)


class OneCriterion(ApiView):
    access = {"GET": _READ}

    @operation(
        "One rubric of a criterion, what people say of its examples and what the judge is worth",
        name="criteria_detail",
        tag="judges",
        answers={200: shapes.FullCriterionShape},
        query=VersionQuery,
        example=shown.FULL_CRITERION,
    )
    def get(self, request: Any, name: str) -> Response:
        version = version_or_404(stored_name(name), read_query(request, VersionQuery).get("version"))
        judge = judge_here()
        found = labelling.labelled(version.pk)
        worth = standing(judge, version.criterion.name, version.rubric_sha256) if judge else None
        return Response(
            {
                **shapes.criterion_json(request, version),
                "judge": judge and judge.to_json(),
                "standing": shapes.standing_json(worth),
                "examples": version.examples.count(),
                "counted": found.counted,
                "split": found.split,
                "labelled_by": found.people,
                "people": [
                    {**shapes.agreement_json(pair.agreement), "first": pair.first, "second": pair.second}
                    for pair in found.pairs
                ],
            }
        )


class Examples(ApiView):
    access = {"GET": _READ, "POST": _IMPORT}
    parser_classes = [*DOCUMENT_PARSERS, JsonLinesParser, JsonLinesParserShort]

    @operation(
        "Examples of a rubric",
        name="examples_list",
        tag="judges",
        answers={200: ExampleList},
        query=ExampleQuery,
        example={"results": [shown.EXAMPLE], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, ExampleQuery)
        version = version_or_404(query["criterion"], query.get("version"))
        rows = queries.examples_for(version, request.user, unlabelled=query["unlabelled"])
        page = page_of(request, rows.select_related("created_by"), keys=("pk",), query=query)
        for row in page.rows:
            row.criterion_version = version
        return listed(
            request,
            page,
            [shapes.example_json(request, row, people=row.people, own=row.own) for row in page.rows],
        )

    @operation(
        "Import examples",
        name="examples_import",
        tag="judges",
        description=(
            "The document is the body: YAML (application/yaml), JSON, or one example a line "
            "(application/x-ndjson). All or nothing; the same material twice is one example. 201: something "
            "is new; 200: everything was there."
        ),
        answers={201: ImportedShape, 200: ImportedShape},
        body={**DOCUMENT_BODY, "application/x-ndjson": DOCUMENT_BODY["application/yaml"]},
        body_example=shown.EXAMPLES_DOCUMENT,
        query=ImportQuery,
        example=shown.IMPORTED,
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        query = read_query(request, ImportQuery)
        sent = request.data
        if not isinstance(sent, DocumentText):
            # No body at all: the reader says that the document is empty.
            sent = DocumentText(b"", "yaml")
        found = import_examples(
            text=sent.text, kind=sent.kind, criterion=query.get("criterion"), actor=request.user
        )
        body = {
            "criterion": found.version.criterion.name,
            "version": found.version.number,
            "created": found.created,
            "known": found.known,
            "is_new_version": found.is_new_version,
            "links": shapes.criterion_json(request, found.version)["links"],
        }
        return created(body, is_new=bool(found.created or found.is_new_version))


class ExampleFromResult(ApiView):
    access = {"POST": _IMPORT}

    @operation(
        "Take what a judge read of a case as an example",
        name="examples_from_result",
        tag="judges",
        description=(
            "Criterion and rubric are those of the expectation. 201: a new example; 200: it was there. The "
            "account that takes it does not label it: it could see the verdict."
        ),
        answers={201: shapes.ExampleShape, 200: shapes.ExampleShape},
        body=FromResultShape,
        body_example={"result": 420},
        example={**shown.EXAMPLE, "people": 0, "own_label": None},
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, FromResultShape)
        result = results_to_take().filter(pk=asked["result"]).first()
        if result is None:
            raise Http404(f"There is no result {asked['result']}.")
        example, is_new = example_from_result(result=result, actor=request.user)
        example = _example(example.pk)
        people = len(queries.labels_of(example))
        return created(shapes.example_json(request, example, people=people, own=None), is_new=is_new)


class OneExample(ApiView):
    access = {"GET": _READ}

    @operation(
        "One example",
        name="examples_detail",
        tag="judges",
        description=(
            "Its labels are shown once two people have labelled it; to who may label only once their own "
            "is one of them."
        ),
        answers={200: shapes.FullExampleShape},
        example=shown.FULL_EXAMPLE,
    )
    def get(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        example = _example(int(pk))
        labels = queries.labels_of(example)
        own = next((one.label for one in labels if one.person_id == request.user.pk), None)
        told = None
        if labelling.may_see_labels(example, labels, request.user):
            told = [{"person": one.person.get_username(), "label": one.label} for one in labels]
        return Response(
            {**shapes.example_json(request, example, people=len(labels), own=own), "labels": told}
        )


class Labels(ApiView):
    access = {"GET": _LABEL, "POST": _LABEL}

    @operation(
        "Your own labels, newest first",
        name="labels_list",
        tag="judges",
        answers={200: LabelList},
        query=LabelQuery,
        example={"results": [shown.LABEL], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, LabelQuery)
        columns = {"criterion": "example__criterion_version__criterion__name", "example": "example_id"}
        chosen = {column: query[name] for name, column in columns.items() if query.get(name)}
        rows = _own_labels(request.user).filter(**chosen)
        return listing(request, rows, keys=("-pk",), query=query, render=shapes.label_json)

    @operation(
        "Label an example",
        name="labels_add",
        tag="judges",
        description=(
            "201: the label is stored; 200: you gave the same one before. Another one than before is a "
            "conflict (409, already_labelled): a label is not changed."
        ),
        answers={201: shapes.LabelShape, 200: shapes.LabelShape},
        body=LabelRequestShape,
        body_example={"example": 12, "label": "PASS"},
        example=shown.LABEL,
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, LabelRequestShape)
        example = _example(asked["example"])
        before = _own_labels(request.user).filter(example=example, taken_back_at=None).exists()
        label = labelling.add_label(example=example, label=asked["label"], actor=request.user)
        row = _own_labels(request.user).get(pk=label.pk)
        return created(shapes.label_json(row), is_new=not before)


class TakeBack(ApiView):
    access = {"POST": _LABEL}

    @operation(
        "Take your label of an example back",
        name="labels_take_back",
        tag="judges",
        description=(
            "As long as it is the only one and no calibration used it; then it stays (409, label_settled)."
        ),
        answers={200: shapes.FullExampleShape},
        body=TakeBackShape,
        body_example={"example": 12},
        example={**shown.FULL_EXAMPLE, "own_label": None, "people": 0, "labels": None},
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        read_query(request, NoQuery)
        example = _example(read_body(request, TakeBackShape)["example"])
        labelling.take_back(example=example, actor=request.user)
        return Response({**shapes.example_json(request, example, people=0, own=None), "labels": None})


def version_or_404(name: str, number: int | None) -> CriterionVersion:
    """A version of the criterion, the current one without a number."""
    version = queries.version_of(name, number) if "\x00" not in name else None
    if version is None:
        which = f"version {number} of a criterion" if number else "criterion"
        raise Http404(f"There is no {which} {name}.")
    return version


def _example(pk: int) -> Example:
    example = queries.example_of(pk)
    if example is None:
        raise Http404(f"There is no example {pk}.")
    return example


def _own_labels(account: Any) -> Any:
    return Label.objects.filter(person=account).select_related("example__criterion_version__criterion")


urlpatterns = [
    re_path(r"^criteria/$", Criteria.as_view(), name="criteria"),
    re_path(rf"^criteria/(?P<name>{NAME})/$", OneCriterion.as_view(), name="criterion"),
    re_path(r"^examples/$", Examples.as_view(), name="examples"),
    re_path(r"^examples/from-result/$", ExampleFromResult.as_view(), name="example_from_result"),
    re_path(rf"^examples/(?P<pk>{ID})/$", OneExample.as_view(), name="example"),
    re_path(r"^labels/$", Labels.as_view(), name="labels"),
    re_path(r"^labels/take-back/$", TakeBack.as_view(), name="labels_take_back"),
]
