"""Who may call what, with which arguments: steps 1 to 6 of FORMATS 2.1, before anything can go wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .bounds import MAX_ARGUMENT_BYTES, MAX_TOOL_NAME, admit, clean_text
from .definition import Tool
from .dependency import template_error
from .paths import lookup
from .records import UNKNOWN_TOOL, error
from .spec import Call, CaseSpec, CaseState, Outcome
from .templates import MissingArgument, TemplateError
from .tenants import is_foreign
from .values import MISSING, canonical_json


def receive(spec: CaseSpec, state: CaseState, name: Any, arguments: Any, headers: Any) -> Call:
    """The call as the twin takes it, numbered and with its idempotency key. Any Python values will do."""
    tool = spec.definition.tools.get(name) if isinstance(name, str) else None
    shown = _shown_name(name) if tool is None else tool.name
    admitted = admit(arguments)
    if isinstance(name, str) and len(name) > MAX_TOOL_NAME:
        whole = clean_text(str.__str__(name), len(name))
        admitted = replace(admitted, sent_texts=(*admitted.sent_texts, whole))
    number = state.call_counts.get(shown, 0) + 1
    key = _idempotency_key(tool, admitted.value, headers)
    if key is MISSING:
        return Call(shown, tool, state.seq + 1, number, admitted)
    key_text = key if isinstance(key, str) else canonical_json(key)
    return Call(shown, tool, state.seq + 1, number, admitted, key, key_text)


def _shown_name(name: Any) -> str:
    text = str.__str__(name) if isinstance(name, str) else f"<{type(name).__name__}>"
    return clean_text(text, MAX_TOOL_NAME)


def _idempotency_key(tool: Tool | None, arguments: dict[str, Any], headers: Any) -> Any:
    """The argument, else the header in any case; missing, null and "" are no key (FORMATS 8)."""
    if tool is None or tool.idempotency is None:
        return MISSING
    source = tool.idempotency
    if source.argument is not None:
        key = arguments.get(source.argument)
        if key is not None and key != "":
            return key
    if source.header is not None and isinstance(headers, Mapping):
        for name, value in headers.items():
            if isinstance(name, str) and isinstance(value, str) and name.lower() == source.header:
                return clean_text(value, MAX_ARGUMENT_BYTES) or MISSING
    return MISSING


def refusal(spec: CaseSpec, state: CaseState, call: Call) -> Outcome | None:
    """The answer of the first gate that refuses the call, or None."""
    tool = call.tool
    if tool is None:
        return Outcome(error(404, UNKNOWN_TOOL, f"There is no tool {call.name}"))
    if spec.allowed_tools is not None and tool.name not in spec.allowed_tools:
        text = f"The tool {tool.name} may not be used in this case"
        return Outcome(error(403, "TOOL_NOT_ALLOWED", text), violation="TOOL_NOT_ALLOWED")
    if tool.risk == "ADMIN" and spec.caller_role != "admin":
        text = f"The tool {tool.name} is for administrators"
        return Outcome(error(403, "ADMIN_ONLY", text), violation="ADMIN_ONLY")
    admitted = call.admitted
    if admitted.reason is not None:
        status, code = (413, "ARGUMENTS_TOO_LARGE") if admitted.oversized else (400, "INVALID_ARGUMENT")
        return Outcome(error(status, code, admitted.reason))
    if tool.input_validator is not None:
        problems = tool.input_validator.problems(admitted.value)
        if problems:
            return Outcome(error(422, "INVALID_ARGUMENT", "; ".join(problems)))
    if tool.tenant_path is not None:
        return _tenant_refusal(spec, state, call, tool)
    return None


def _tenant_refusal(spec: CaseSpec, state: CaseState, call: Call, tool: Tool) -> Outcome | None:
    """403 when the record at `tenantPath` has another owner; nothing is checked where no tenant is known."""
    key = spec.definition.tenant_key
    if tool.tenant_path is None or key is None or not spec.tenant:
        return None
    try:
        record = lookup(state.root, tool.tenant_path.render(call.scope(spec, state.root)))
    except MissingArgument:
        return None  # the handler reports it
    except TemplateError as problem:
        return Outcome(template_error(problem))
    if not is_foreign(record, key, spec.tenant):
        return None
    refused = error(403, "ACCESS_DENIED", "The record belongs to another tenant")
    return Outcome(refused, violation="CROSS_TENANT", cross_tenant="denied")
