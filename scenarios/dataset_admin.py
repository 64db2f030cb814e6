"""Datasets in the admin: edited as text, each save freezes. Holdouts are there for those who may see them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest

from scenarios.errors import HoldoutHiddenError
from scenarios.holdouts import sight_of
from scenarios.models import Dataset, DatasetVersion, Purpose
from scenarios.services.datasets import save_dataset
from twins.admin import started_from
from twins.document_admin import DocumentAdmin

STARTER = """\
apiVersion: agenttwin.dev/v1
kind: Dataset
metadata:
  name: my-dataset
spec:
  purpose: development
  cases:
    - id: CASE-01
      scenario: my-scenario
      owner: who answers for what is expected
      why: why what is expected is right
"""


@admin.register(Dataset)
class DatasetAdmin(DocumentAdmin):
    version_model = DatasetVersion
    parent_field = "dataset"
    starter = STARTER
    links = []
    list_display = ["name", "purpose", "agent", "cases", "version", "saved"]
    list_filter = ["current_version__purpose", "current_version__agent_name"]
    search_fields = ("name", "current_version__agent_name")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Dataset]:
        rows = super().get_queryset(request)
        return rows if sight_of(request.user).sees_all else rows.exclude(versions__purpose=Purpose.HOLDOUT)

    def address_after_saving(self, request: HttpRequest, document: Dataset) -> str:
        """Whoever made a holdout of it is kept from it here from now on."""
        if self.get_queryset(request).filter(pk=document.pk).exists():
            return super().address_after_saving(request, document)
        return f"/datasets/{document.name}/"

    @admin.display(ordering="current_version__purpose")
    def purpose(self, obj: Dataset) -> str:
        return obj.current_version.purpose if obj.current_version else ""

    @admin.display(ordering="current_version__agent_name")
    def agent(self, obj: Dataset) -> str:
        return obj.current_version.agent_name if obj.current_version else ""

    @admin.display(ordering="current_version__case_count")
    def cases(self, obj: Dataset) -> int:
        return obj.current_version.case_count if obj.current_version else 0

    def save_document(
        self, *, text: str, name: str | None, based_on: str, actor: Any
    ) -> tuple[DatasetVersion, bool]:
        try:
            return save_dataset(text=text, name=name, based_on=started_from(based_on), actor=actor)
        except HoldoutHiddenError as refused:
            raise PermissionDenied(refused.detail) from None
