"""Bodies: read to a limit, and JSON that cannot break what comes after."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from agenttwin_site.api.failures import ApiError, Failure, TooLarge


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document as it was sent: its text and "yaml" or "json"."""

    text: bytes
    kind: str


class JsonParser(BaseParser):
    """Strict JSON in UTF-8: NaN and a nesting beyond Python's are refused like a missing bracket."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        body = read_body(stream, parser_context)
        try:
            return json.loads(body.decode("utf-8-sig"), parse_constant=_refuse)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except ValueError as problem:
            raise ParseError(f"The body is not JSON: {problem}") from None


class YamlDocumentParser(BaseParser):
    """A document in YAML, left as text: what is wrong with it is told with lines."""

    media_type = "application/yaml"
    kind = "yaml"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> DocumentText:
        return DocumentText(read_body(stream, parser_context), self.kind)


class YamlDocumentParserX(YamlDocumentParser):
    media_type = "application/x-yaml"


class YamlDocumentParserText(YamlDocumentParser):
    media_type = "text/yaml"


class JsonDocumentParser(YamlDocumentParser):
    """A document in JSON, left as text for the same reader."""

    media_type = "application/json"
    kind = "json"


DOCUMENT_PARSERS = [YamlDocumentParser, JsonDocumentParser, YamlDocumentParserX, YamlDocumentParserText]


def read_body(stream: Any, context: Mapping[str, Any] | None) -> bytes:
    """The whole body. Raises TooLarge before more than the limit is in memory."""
    limit: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    body: bytes = stream.read(limit + 1)
    if len(body) > limit:
        raise TooLarge(limit)
    return body


def refuse_unmeasured(request: Any) -> None:
    """A body without a length would be taken for none; say so instead. Raises ApiError (411)."""
    meta = request.META
    if meta.get("HTTP_TRANSFER_ENCODING") and not meta.get("CONTENT_LENGTH"):
        raise ApiError(Failure(411, "length_required", "Send the body with a Content-Length."))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON value")
