"""Datasets in the API: list, detail, versions, their cases and uses, what differs, freezing a document."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import re_path, reverse
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.lists import ListQuery, NoQuery, listed, listing, page_of, read_query
from agenttwin_site.api.parsing import DOCUMENT_PARSERS
from agenttwin_site.api.schema import WRITES, operation
from agenttwin_site.api.views import ApiView, absolute
from evaluations.api.dataset_shapes import (
    CASE,
    DIFFERENCE,
    DOCUMENT,
    EXAMPLE,
    FULL_EXAMPLE,
    USE,
    DatasetCaseList,
    DatasetDifferenceShape,
    DatasetDocumentShape,
    DatasetList,
    DatasetQuery,
    DatasetUseList,
    DifferenceQuery,
)
from evaluations.page_queries import datasets as queries
from scenarios.dataset_difference import ListedCase, dataset_difference
from scenarios.errors import UnknownDatasetError
from scenarios.holdouts import DETAILS, sight_of
from scenarios.models import Dataset, DatasetVersion
from scenarios.services.datasets import resolve, save_dataset, verifies
from twins.api import number_from, stored_name
from twins.document_api import (
    DOCUMENT_BODY,
    NAME,
    NUMBER,
    SaveQuery,
    person,
    save_document,
    saved_or_valid,
)

_READ = Access(("read", "run", "edit"), "scenarios.view_dataset")
_EDIT = Access(("edit",), "scenarios.change_dataset")
HIDDEN = f"These are the cases of a holdout: you need a role with the permission {DETAILS}."


class Datasets(ApiView):
    access = {"GET": _READ, "POST": _EDIT}
    parser_classes = DOCUMENT_PARSERS

    @operation(
        "Datasets by their current versions, latest first",
        name="datasets_list",
        tag="datasets",
        answers={200: DatasetList},
        query=DatasetQuery,
        example={"results": [EXAMPLE], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, DatasetQuery)
        rows = queries.current_versions(agent=query.get("agent", ""), purpose=query.get("purpose", ""))
        if query.get("q"):
            rows = rows.filter(dataset__name__icontains=query["q"])
        return _versions_listed(request, rows, keys=("-dataset_id",), query=query)

    @operation(
        "Freeze a dataset",
        name="datasets_save",
        tag="datasets",
        description=(
            "The document is the body: YAML (application/yaml) or JSON. Each case is resolved to a version "
            "of its scenario. 201: a new version; 200: its current version holds the same. A dataset that "
            f"is or was a holdout is changed by those with the permission {DETAILS} alone (403)."
        ),
        answers={201: DatasetDocumentShape, 200: saved_or_valid("DatasetSavedOrValid", DatasetDocumentShape)},
        body=DOCUMENT_BODY,
        body_example=DOCUMENT,
        query=SaveQuery,
        example=FULL_EXAMPLE,
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        return save_document(
            request,
            save=save_dataset,
            parent="dataset",
            add_permission="scenarios.add_dataset",
            render=lambda version: _full(request, version),
            based_on=number_from,
        )


class OneDataset(ApiView):
    access = {"GET": _READ}

    @operation(
        "The current version of a dataset",
        name="datasets_detail",
        tag="datasets",
        answers={200: DatasetDocumentShape},
        example=FULL_EXAMPLE,
    )
    def get(self, request: Any, name: str) -> Response:
        read_query(request, NoQuery)
        return Response(_full(request, found_version(name)))


class DatasetVersions(ApiView):
    access = {"GET": _READ}

    @operation(
        "Versions of a dataset, newest first",
        name="datasets_versions",
        tag="datasets",
        answers={200: DatasetList},
        query=ListQuery,
        example={"results": [EXAMPLE], "next": None, "previous": None},
    )
    def get(self, request: Any, name: str) -> Response:
        query = read_query(request, ListQuery)
        rows = _dataset(name).versions.select_related("dataset", "created_by").without_content()
        return _versions_listed(request, rows, keys=("-number",), query=query)


class OneDatasetVersion(ApiView):
    access = {"GET": _READ}

    @operation(
        "One version of a dataset",
        name="datasets_version",
        tag="datasets",
        answers={200: DatasetDocumentShape},
        example=FULL_EXAMPLE,
    )
    def get(self, request: Any, name: str, number: str) -> Response:
        read_query(request, NoQuery)
        return Response(_full(request, found_version(name, number)))


class DatasetCases(ApiView):
    access = {"GET": _READ}

    @operation(
        "Cases of a version, in its order",
        name="datasets_cases",
        tag="datasets",
        description=f"Those of a holdout need the permission {DETAILS} (403).",
        answers={200: DatasetCaseList},
        query=ListQuery,
        example={"results": [CASE], "next": None, "previous": None},
    )
    def get(self, request: Any, name: str, number: str) -> Response:
        query = read_query(request, ListQuery)
        version = found_version(name, number)
        refuse_hidden(request, version)
        return listing(
            request,
            queries.cases_of_version(version),
            keys=("position",),
            query=query,
            render=lambda case: {
                **_listed_json(queries.listed_case(case)),
                "position": case.position,
                "severity": case.scenario_version.severity,
            },
        )


class DatasetUses(ApiView):
    access = {"GET": _READ}

    @operation(
        "Uses of a version, latest first",
        name="datasets_uses",
        tag="datasets",
        answers={200: DatasetUseList},
        query=ListQuery,
        example={"results": [USE], "next": None, "previous": None},
    )
    def get(self, request: Any, name: str, number: str) -> Response:
        query = read_query(request, ListQuery)
        return listing(
            request,
            queries.uses_of(found_version(name, number)),
            keys=("-pk",),
            query=query,
            render=lambda use: {
                "comparison": use.comparison_id,
                "agent": use.agent_version.agent.name,
                "candidate": use.agent_version.version,
                "used_at": use.created_at,
                "used_by": person(use.comparison.created_by),
                "comparison_url": absolute(request, f"{reverse('api:comparisons')}{use.comparison_id}/"),
            },
        )


class DatasetDifferences(ApiView):
    access = {"GET": _READ}

    @operation(
        "What differs between two versions",
        name="datasets_difference",
        tag="datasets",
        description=f"That of a holdout needs the permission {DETAILS} (403).",
        answers={200: DatasetDifferenceShape},
        query=DifferenceQuery,
        example=DIFFERENCE,
    )
    def get(self, request: Any, name: str) -> Response:
        query = read_query(request, DifferenceQuery)
        versions = [found_version(name, str(query[side])) for side in ("from", "to")]
        for version in versions:
            refuse_hidden(request, version)
        old, new = (
            queries.listed_cases(list(queries.cases_of_version(one).order_by("position"))) for one in versions
        )
        found = dataset_difference(old, new)
        return Response(
            {
                "from": versions[0].number,
                "to": versions[1].number,
                "added": [_listed_json(case) for case in found.added],
                "removed": [_listed_json(case) for case in found.removed],
                "changed": [
                    {
                        "before": _listed_json(one.before),
                        "after": _listed_json(one.after),
                        "changes": list(one.changes),
                    }
                    for one in found.changed
                ],
                "same": found.same_count,
                "reordered": found.is_reordered,
            }
        )


def found_version(name: str, number: str | None = None) -> DatasetVersion:
    """The version of an address, by default the current one. Raises Http404 with what there is."""
    name = stored_name(name)
    try:
        return resolve(name if number is None else f"{name}@{number}")
    except UnknownDatasetError as unknown:
        raise Http404(unknown.detail) from None


def _dataset(name: str) -> Dataset:
    return found_version(name).dataset


def refuse_hidden(request: Any, version: DatasetVersion) -> None:
    """PermissionDenied for the cases of a holdout that are hidden from this account."""
    if sight_of(request.user).hides_cases_of(version):
        raise PermissionDenied(HIDDEN)


def _versions_listed(request: Any, rows: Any, *, keys: tuple[str, ...], query: dict[str, Any]) -> Response:
    page = page_of(request, rows, keys=keys, query=query)
    return listed(request, page, [_version(request, row) for row in queries.dataset_rows(page.rows)])


def _version(request: Any, row: queries.DatasetRow) -> dict[str, Any]:
    version = row.version
    name = version.dataset.name
    versions = reverse("api:datasets_versions", args=[name])
    own = f"{versions}{version.number}/"
    page = reverse("evaluations:dataset", args=[name])
    return {
        "name": name,
        "version": version.number,
        "purpose": version.purpose,
        "sha256": version.sha256,
        "digest": version.digest,
        "is_current": version.pk == version.dataset.current_version_id,
        "description": version.description,
        "owner": version.owner,
        "agent": version.agent_name,
        "case_count": version.case_count,
        "uses": {"comparisons": row.uses.uses, "candidates": row.uses.candidates},
        "created_at": version.created_at,
        "created_by": person(version.created_by),
        "links": {
            "self": absolute(request, own),
            "versions": absolute(request, versions),
            "cases": absolute(request, f"{own}cases/"),
            "uses": absolute(request, f"{own}uses/"),
            "page": absolute(request, f"{page}?version={version.number}"),
        },
    }


def _full(request: Any, version: DatasetVersion) -> dict[str, Any]:
    is_hidden = sight_of(request.user).hides_cases_of(version)
    (row,) = queries.dataset_rows([version])
    return {
        **_version(request, row),
        "document": None if is_hidden else version.document,
        "verified": verifies(version, queries.cases_of_version(version).order_by("position")),
    }


def _listed_json(case: ListedCase) -> dict[str, Any]:
    return {
        "id": case.case_id,
        "scenario": case.scenario,
        "scenario_version": case.scenario_number,
        "scenario_digest": case.digest,
        "owner": case.owner,
        "why": case.why,
    }


_ONE = rf"^datasets/(?P<name>{NAME})/"
VERSION = rf"{_ONE}versions/(?P<number>{NUMBER})/"
urlpatterns = [
    re_path(r"^datasets/$", Datasets.as_view(), name="datasets"),
    re_path(rf"{_ONE}$", OneDataset.as_view(), name="dataset"),
    re_path(rf"{_ONE}versions/$", DatasetVersions.as_view(), name="datasets_versions"),
    re_path(rf"{_ONE}difference/$", DatasetDifferences.as_view(), name="datasets_difference"),
    re_path(rf"{VERSION}$", OneDatasetVersion.as_view(), name="datasets_version"),
    re_path(rf"{VERSION}cases/$", DatasetCases.as_view(), name="datasets_cases"),
    re_path(rf"{VERSION}uses/$", DatasetUses.as_view(), name="datasets_uses"),
]
