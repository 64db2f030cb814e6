"""The admin of a document that is edited as text and kept in versions: twins, scenarios and agents alike.

What a kind adds is in its own `admin.py`: how a text is saved, what may be shown of it, where it leads.
Saving goes through the version services only. Nothing here deletes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import BadRequest, PermissionDenied
from django.core.paginator import Paginator
from django.db import models, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_GET, require_http_methods

from agenttwin_site.kept_forms import kept_form
from twins.difference import Difference, difference
from twins.documents.problems import DocumentError, Problem
from twins.errors import StaleEditError

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin

PROBLEMS_SHOWN = 200
EXCERPT_CHARACTERS = 300
VERSIONS_BESIDE_THE_TEXT = 8
VERSIONS_PER_PAGE = 50
# A form kept over a login is cut at 100,000 characters: a text near that may not be whole.
KEPT_WHOLE = 99_000

# A link beside a document: (text, address).
Link = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ShownProblem:
    """A problem with the lines around it: (number, text, whether it is the one)."""

    problem: Problem
    excerpt: tuple[tuple[int, str, bool], ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """What the edit page shows: a text, what it started from, and why it could not be saved."""

    text: str
    based_on: str
    problems: tuple[ShownProblem, ...] = ()
    more_problems: int = 0
    # Somebody was quicker: what differs between their version and this text.
    conflict: StaleEditError | None = None
    conflict_difference: Difference | None = None
    # The session had ended when this text was sent: it was kept, not saved.
    is_kept: bool = False

    @property
    def is_unsaved(self) -> bool:
        """Whether the text is one that was typed, not one that is stored."""
        return self.status != 200 or self.is_kept

    @property
    def status(self) -> int:
        return 409 if self.conflict else 422 if self.problems else 200


class DocumentAdmin(ModelAdmin):
    """Edits one kind of document. Subclasses set what follows and `save_document`."""

    # The model of the versions, and the names of its fields that point to the document and that number it.
    version_model: ClassVar[type[models.Model]]
    parent_field: ClassVar[str]
    number_field: ClassVar[str] = "number"
    # What an empty page starts with.
    starter: ClassVar[str] = ""
    # Links beside a document; other rooms add theirs here.
    links: ClassVar[list[Callable[[Any], Link]]]
    # What else a person should know once a new version is stored; other rooms add theirs here.
    remarks: ClassVar[list[Callable[[Any], list[str]]]] = []

    list_per_page = 50
    show_full_result_count = False
    ordering = ["name"]
    search_fields: ClassVar[tuple[str, ...]] = ("name",)
    actions = None

    class Media:
        css = {"all": ["agenttwin/admin/documents.css"]}
        js = ["agenttwin/admin/editor.js"]

    # ---------------------------------------------------------------- what a kind decides

    def save_document(self, *, text: str, name: str | None, based_on: str, actor: Any) -> tuple[Any, bool]:
        """Save the text through the service of this kind."""
        raise NotImplementedError

    def shown_text(self, version: Any, request: HttpRequest) -> str:
        """The text of a version as far as this person may read it."""
        return str(version.source_text)

    def shown_document(self, version: Any, request: HttpRequest) -> Any:
        """The content of a version as far as this person may read it."""
        return version.document

    def address_after_saving(self, request: HttpRequest, document: Any) -> str:
        """Where a person goes on who saved the document."""
        return self.url("change", document.pk)

    # ---------------------------------------------------------------- rights

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: runs and reviews rest on what is stored."""
        return False

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        heavy = ["current_version__document", "current_version__source_text"]
        return super().get_queryset(request).select_related("current_version__created_by").defer(*heavy)

    # ---------------------------------------------------------------- columns

    @admin.display(description="version", ordering="current_version__pk")
    def version(self, obj: Any) -> str:
        return self.number_of(obj.current_version) if obj.current_version else "none"

    @admin.display(description="saved", ordering="current_version__created_at")
    def saved(self, obj: Any) -> str:
        version = obj.current_version
        if version is None:
            return ""
        by = f", {version.created_by}" if version.created_by else ""
        return one_line(f"{version.created_at:%Y-%m-%d %H:%M}{by}")

    def number_of(self, version: Any) -> str:
        """The version as people say it: its number, or an agent's own version."""
        return str(getattr(version, self.number_field))

    # ---------------------------------------------------------------- addresses

    def get_urls(self) -> list[Any]:
        site, name = self.admin_site.admin_view, self.url_name
        own = [
            path("<int:pk>/versions/", site(self.versions_view), name=name("versions")),
            path("<int:pk>/versions/<int:version_pk>/", site(self.version_view), name=name("version")),
            path(
                "<int:pk>/versions/<int:version_pk>/download/",
                site(self.download_view),
                name=name("download"),
            ),
            path("<int:pk>/difference/", site(self.difference_view), name=name("difference")),
        ]
        return own + super().get_urls()

    def url_name(self, page: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{page}"

    def url(self, page: str, *arguments: Any) -> str:
        return reverse(f"admin:{self.url_name(page)}", args=arguments)

    # ---------------------------------------------------------------- the edit page

    @method_decorator(csrf_protect)
    @method_decorator(require_http_methods(["GET", "HEAD", "POST"]))
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The page that edits a document, or adds one."""
        obj = None if object_id is None else self._document(request, object_id)
        may_save = self._may_save(request, obj)
        if request.method == "POST":
            if not may_save:
                raise PermissionDenied
            return self._save(request, obj)
        if obj is None and not may_save:
            raise PermissionDenied
        edit = (self._kept(request) if may_save else None) or self._opened(request, obj)
        return self._edit_page(request, obj, edit)

    def _may_save(self, request: HttpRequest, obj: Any) -> bool:
        if obj is None:
            return self.has_add_permission(request)
        return self.has_change_permission(request, obj)

    def _opened(self, request: HttpRequest, obj: Any) -> Edit:
        """The text to start from: the current version, or an older one somebody wants to go back to."""
        if obj is None:
            return Edit(self.starter, "")
        current = obj.current_version
        start = self._version(obj, request.GET["text_of"]) if "text_of" in request.GET else current
        return Edit(self.shown_text(start, request), self.number_of(current))

    def _kept(self, request: HttpRequest) -> Edit | None:
        """The text that was sent when the session had ended, if it was kept whole."""
        kept = kept_form(request, action=request.path)
        if kept is None or len(kept.first("text")) > KEPT_WHOLE:
            return None
        return Edit(_as_typed(kept.first("text")), kept.first("based_on"), is_kept=True)

    def _save(self, request: HttpRequest, obj: Any) -> HttpResponse:
        text = _as_typed(request.POST.get("text", ""))
        based_on = request.POST.get("based_on", "")
        try:
            with transaction.atomic():
                version, created = self.save_document(
                    text=text, name=obj and obj.name, based_on=based_on, actor=request.user
                )
                document = getattr(version, self.parent_field)
                said = self._say(request, document, version, created, is_new=obj is None)
        except DocumentError as error:
            edit = Edit(
                text,
                based_on,
                problems=with_excerpts(error.problems[:PROBLEMS_SHOWN], text),
                more_problems=max(0, len(error.problems) - PROBLEMS_SHOWN),
            )
        except StaleEditError as error:
            obj, edit = self._conflict(request, obj, text, error)
        else:
            messages.success(request, said)
            for remark in (text for find in self.remarks if created for text in find(document)):
                messages.warning(request, remark)
            return HttpResponseRedirect(self.address_after_saving(request, document))
        return self._edit_page(request, obj, edit)

    def _say(self, request: HttpRequest, document: Any, version: Any, created: bool, *, is_new: bool) -> str:
        number = self.number_of(version)
        name = f"{self.opts.verbose_name} {document}"
        if not created:
            current = document.current_version_id == version.pk
            return f"{name}: unchanged, {'still' if current else 'already stored as'} version {number}."
        log = self.log_addition if is_new else self.log_change
        log(request, document, f"Saved as version {number}.")
        return f"{name}: saved as version {number}."

    def _conflict(self, request: HttpRequest, obj: Any, text: str, error: StaleEditError) -> tuple[Any, Edit]:
        """The same text again, beside what the other person's version says instead.

        The page now starts from that version: saving once more is a decision. Somebody who meant to add a
        document that exists by now goes on as its editor, where the rights allow it.
        """
        existing = self.get_queryset(request).get(name=error.name)
        current = existing.current_version
        if not self.has_change_permission(request, existing):
            return obj, Edit(text, "", conflict=error)
        shown = difference(self.shown_text(current, request), text)
        return existing, Edit(text, self.number_of(current), conflict=error, conflict_difference=shown)

    def _edit_page(self, request: HttpRequest, obj: Any, edit: Edit) -> HttpResponse:
        may_save = self._may_save(request, obj)
        versions = list(self._versions(obj)[: VERSIONS_BESIDE_THE_TEXT + 1]) if obj else []
        context = {
            "title": self._title(obj, may_save),
            "subtitle": str(obj) if obj else None,
            "original": obj,
            "edit": edit,
            "may_save": may_save,
            "versions": self._rows(versions[:VERSIONS_BESIDE_THE_TEXT]),
            "has_more_versions": len(versions) > VERSIONS_BESIDE_THE_TEXT,
            "links": [link(obj) for link in self.links] if obj else [],
        }
        return self._page(request, "document_form", context, status=edit.status)

    def _title(self, obj: Any, may_save: bool) -> str:
        if obj is None:
            return f"Add {self.opts.verbose_name}"
        return f"{'Edit' if may_save else 'View'} {self.opts.verbose_name}"

    # ---------------------------------------------------------------- versions

    @method_decorator(require_GET)
    def versions_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """All versions, two of which can be picked to see what differs."""
        obj = self._document(request, pk)
        page = Paginator(self._versions(obj), VERSIONS_PER_PAGE).get_page(request.GET.get("p"))
        context = {
            "title": "Versions",
            "original": obj,
            "page": page,
            "versions": self._rows(page.object_list),
        }
        return self._page(request, "document_versions", context)

    @method_decorator(require_GET)
    def version_view(self, request: HttpRequest, pk: int, version_pk: int) -> HttpResponse:
        """One version as it was written."""
        obj = self._document(request, pk)
        version = self._version(obj, version_pk)
        context = {
            "title": f"Version {self.number_of(version)}",
            "original": obj,
            "version": version,
            "text": self.shown_text(version, request),
            "is_current": obj.current_version_id == version.pk,
            "may_save": self._may_save(request, obj),
        }
        return self._page(request, "document_version", context)

    @method_decorator(require_GET)
    def download_view(self, request: HttpRequest, pk: int, version_pk: int) -> HttpResponse:
        """The text of a version as a file that can be imported again."""
        obj = self._document(request, pk)
        version = self._version(obj, version_pk)
        response = HttpResponse(
            self.shown_text(version, request), content_type="application/yaml; charset=utf-8"
        )
        filename = "".join(
            c if c.isalnum() or c in "-._" else "-" for c in f"{obj.name}-{self.number_of(version)}"
        )
        response["Content-Disposition"] = f'attachment; filename="{filename}.yaml"'
        return response

    @method_decorator(require_GET)
    def difference_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """What differs between two versions: of the text as written, or of the content with sorted keys."""
        obj = self._document(request, pk)
        before = self._version(obj, request.GET.get("from", ""))
        after = self._version(obj, request.GET.get("to", ""))
        by_content = request.GET.get("by") == "content"
        shown = self._content_text if by_content else self.shown_text
        context = {
            "title": f"From version {self.number_of(before)} to {self.number_of(after)}",
            "original": obj,
            "before": before,
            "after": after,
            "before_number": self.number_of(before),
            "after_number": self.number_of(after),
            "by_content": by_content,
            "difference": difference(shown(before, request), shown(after, request)),
        }
        return self._page(request, "document_difference", context)

    def _content_text(self, version: Any, request: HttpRequest) -> str:
        return json.dumps(self.shown_document(version, request), ensure_ascii=False, indent=2, sort_keys=True)

    # ---------------------------------------------------------------- loading and rendering

    def _document(self, request: HttpRequest, pk: Any) -> Any:
        """The document of this id, for people who may look at it."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        obj = self.get_object(request, str(pk))
        if obj is None:
            raise Http404(f"there is no {self.opts.verbose_name} with the id {pk}")
        return obj

    def _versions(self, obj: Any) -> models.QuerySet[Any]:
        """The versions of a document, the latest first, without their content."""
        versions = self.version_model._default_manager.filter(**{self.parent_field: obj})
        return versions.select_related("created_by").defer("document", "source_text").order_by("-pk")

    def _version(self, obj: Any, pk: Any) -> Any:
        if not str(pk).isdecimal():
            raise BadRequest("a version is named by its id")
        versions = self.version_model._default_manager.filter(**{self.parent_field: obj}, pk=int(pk))
        version = versions.select_related("created_by").first()
        if version is None:
            raise Http404("there is no such version of this document")
        return version

    def _rows(self, versions: Iterable[Any]) -> list[dict[str, Any]]:
        """Versions for a table, each with the one before it where that is on the page."""
        loaded = list(versions)
        return [
            {"version": version, "number": self.number_of(version), "earlier": before}
            for version, before in zip_longest(loaded, loaded[1:])
        ]

    def _page(
        self, request: HttpRequest, template: str, context: dict[str, Any], status: int = 200
    ) -> HttpResponse:
        urls = {
            page: f"admin:{self.url_name(page)}"
            for page in ("change", "versions", "version", "download", "difference")
        }
        full = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            "urls": urls,
            **context,
        }
        return TemplateResponse(request, f"admin/agenttwin/{template}.html", full, status=status)


def one_line(text: Any) -> SafeString:
    """A name that a narrow column must not break at its hyphens."""
    return format_html('<span class="at-nowrap">{}</span>', text)


def _as_typed(text: str) -> str:
    """A browser sends CRLF for every line break; what was typed had none."""
    return text.replace("\r\n", "\n")


def with_excerpts(problems: Sequence[Problem], text: str) -> tuple[ShownProblem, ...]:
    """Each problem with the line it is about and its neighbours, long lines cut."""
    lines = text.split("\n")
    return tuple(ShownProblem(problem, _excerpt(problem.line, lines)) for problem in problems)


def _excerpt(line: int | None, lines: list[str]) -> tuple[tuple[int, str, bool], ...]:
    if line is None:
        return ()
    around = range(max(1, line - 1), min(len(lines), line + 1) + 1)
    return tuple((number, lines[number - 1][:EXCERPT_CHARACTERS], number == line) for number in around)
