"""The pure twin: stands in for an agent's tools, keeps state, records every call, misbehaves on purpose.

Read in this order: values, paths, templates, comparators (the small languages); definition, handlers,
state (what a tool does); faults, spec, gates, dependency, injection, case (what happens to a call).
Nothing here knows Django, a clock, a file or a network.
"""

from .adapters import AdapterAnswer, AdapterCall, AdapterEffect, AdapterRefusal, adapter, adapter_names
from .case import ABSENT, begin, call_tool, search
from .comparators import COMPARATORS, ComparatorError, Comparators, compile_comparators
from .definition import EFFECT_OPS, HANDLER_KINDS, RISKS, Definition, Tool, compile_definition
from .faults import FAULTS, Fault, FaultRule, compile_fault_rules
from .paths import Path, PathSyntaxError, format_path, parse_path
from .patterns import Pattern, PatternError, compile_pattern
from .records import CallRecord, Record, Reply, RetrievalRecord, SearchReply
from .redaction import REDACTED, Redactor, redactor
from .retrieval import Document
from .schemas import Schema, SchemaError, compile_schema
from .spec import DEFAULT_NOW, CaseSpec, CaseState, Step
from .state import Draft, EffectError, apply_changes, changes_between, merge_patch
from .templates import (
    MissingArgument,
    PathTemplate,
    Scope,
    Template,
    TemplateError,
    TemplateSyntaxError,
    parse_path_template,
    parse_template,
    template_problems,
)
from .values import (
    MISSING,
    canonical_json,
    compact_json,
    contains,
    copy_json,
    digest,
    json_equal,
    text_form,
)

__all__ = [
    "ABSENT",
    "COMPARATORS",
    "DEFAULT_NOW",
    "EFFECT_OPS",
    "FAULTS",
    "HANDLER_KINDS",
    "MISSING",
    "REDACTED",
    "RISKS",
    "AdapterAnswer",
    "AdapterCall",
    "AdapterEffect",
    "AdapterRefusal",
    "CallRecord",
    "CaseSpec",
    "CaseState",
    "ComparatorError",
    "Comparators",
    "Definition",
    "Document",
    "Draft",
    "EffectError",
    "Fault",
    "FaultRule",
    "MissingArgument",
    "Path",
    "PathSyntaxError",
    "PathTemplate",
    "Pattern",
    "PatternError",
    "Record",
    "Redactor",
    "Reply",
    "RetrievalRecord",
    "Schema",
    "SchemaError",
    "Scope",
    "SearchReply",
    "Step",
    "Template",
    "TemplateError",
    "TemplateSyntaxError",
    "Tool",
    "adapter",
    "adapter_names",
    "apply_changes",
    "begin",
    "call_tool",
    "canonical_json",
    "changes_between",
    "compact_json",
    "compile_comparators",
    "compile_definition",
    "compile_fault_rules",
    "compile_pattern",
    "compile_schema",
    "contains",
    "copy_json",
    "digest",
    "format_path",
    "json_equal",
    "merge_patch",
    "parse_path",
    "parse_path_template",
    "parse_template",
    "redactor",
    "search",
    "template_problems",
    "text_form",
]
