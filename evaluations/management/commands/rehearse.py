"""`manage.py rehearse`: try a twin and a scenario without an agent (FORMATS 6)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from evaluations.grading.wording import call_text, clean, cut, shown
from evaluations.rehearsal import Prepared, prepare, run
from twins.documents.problems import Problem, format_problem
from twins.documents.source import CALLS_BYTES, DOCUMENT_BYTES, Source, read_source, source_kind

PASSED_OR_NOTHING_TO_GRADE, FAILED_OR_ERRORED, INVALID = 0, 1, 2
_WIDTH = 100
_CHANGES_SHOWN = 20


class Command(BaseCommand):
    """Reads files and prints; needs no database and stores nothing."""

    help = (
        "Make the calls of a file on a fresh case of a twin, then grade the scenario's expectations. "
        "Exit status: 0 passed or nothing to grade, 1 failed or errored, 2 an invalid document."
    )
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--twin", required=True, metavar="FILE", help="the twin (YAML or JSON)")
        parser.add_argument("--scenario", metavar="FILE", help="a scenario to grade by")
        parser.add_argument("--calls", metavar="FILE", help="the calls to make and the agent's answer")
        parser.add_argument("--seed", type=int, default=0, metavar="N", help="the run seed (default 0)")
        parser.add_argument("--trial", type=_trial, default=1, metavar="N", help="the trial, from 1")
        parser.add_argument("--format", choices=("text", "json"), default="text", help="default text")

    def handle(self, *args: Any, **options: Any) -> None:
        files = {what: options[what] for what in ("twin", "scenario", "calls") if options[what] is not None}
        prepared, lines = _read(files)
        if lines:
            for line in lines:
                self.stderr.write(line)
            raise SystemExit(INVALID)
        try:
            result = run(prepared, seed=options["seed"], trial=options["trial"])
        except Exception as problem:  # an adapter in the twin's code: the case is errored, and says why
            said = prepared.redact(f"{type(problem).__name__}: {problem}")
            self.stderr.write(clean(f"the twin could not go on: {said}"))
            raise SystemExit(FAILED_OR_ERRORED) from problem
        if options["format"] == "json":
            # Escaped, so that it is the same bytes on every terminal and in every locale.
            self.stdout.write(json.dumps(result, allow_nan=False))
        else:
            self.stdout.write("\n".join(_printable(line) for line in _report(prepared, result)))
        if result["verdict"] in ("FAILED", "ERRORED"):
            raise SystemExit(FAILED_OR_ERRORED)


def _trial(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"trials count from 1, got {number}")
    return number


def _read(files: Mapping[str, str]) -> tuple[Prepared, list[str]]:
    """The documents, and every problem of every file as one line `FILE:LINE: PATH: what`."""
    lines: list[str] = []
    sources: dict[str, Source] = {}
    for what, name in files.items():
        limit = CALLS_BYTES if what == "calls" else DOCUMENT_BYTES
        try:
            with open(name, "rb") as file:
                # One byte more than is allowed is enough to see that it is too large.
                text = file.read(limit + 1)
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or str(problem)
            lines.append(format_problem(name, Problem("$", f"cannot be read: {reason}")))
        else:
            sources[what] = read_source(text, kind=source_kind(name), limit=limit)
    # Without the twin the other files are still checked, as far as that goes.
    prepared = prepare(sources.get("twin"), sources.get("scenario"), sources.get("calls"))
    for what, problems in prepared.problems.items():
        lines.extend(format_problem(files[what], problem) for problem in problems)
    return prepared, lines


def _report(prepared: Prepared, result: Mapping[str, Any]) -> Iterator[str]:
    """The result for a person: what was called, what changed, what held."""
    definition, scenario = prepared.definition, prepared.scenario
    title = f"Twin {definition.name if definition else ''}"
    if scenario is not None:
        title += f", scenario {scenario.name} ({scenario.severity})"
    yield f"{title}, seed {result['seed']}"
    yield ""
    for record in result["records"]:
        yield from _record_lines(record)
    if not result["records"]:
        yield "  no calls"
    if not result["results"]:
        return
    yield ""
    width = max(len(one["id"]) for one in result["results"])
    for one in result["results"]:
        label = f" [{one['label']}]" if one["label"] else ""
        critical = " (critical)" if one["critical"] else ""
        yield f"  {one['status']:<7} {one['id']:<{width}}  {one['type']}{critical}: {one['reason']}{label}"
    yield ""
    yield f"{result['verdict']}"


def _record_lines(record: Mapping[str, Any]) -> Iterator[str]:
    if record["kind"] == "retrieval":
        found = ", ".join(one["id"] for one in record["documents"]) or "nothing"
        yield f"{record['seq']:>4}  search {shown(record['query'])} -> {cut(clean(found), _WIDTH)}"
        return
    notes = [f"{record['http_status']} {record['status']}"]
    notes += [clean(record["error_code"])] if record["error_code"] else []
    notes += [f"fault {record['fault']}"] if record["fault"] else []
    notes += [name for name in ("replayed", "redelivered") if record[name]]
    notes += [f"policy {record['policy_violation']}"] if record["policy_violation"] else []
    notes += [f"other tenant {record['cross_tenant']}"] if record["cross_tenant"] == "allowed" else []
    notes += [f"{record['delay_ms']} ms"] if record["delay_ms"] else []
    yield f"{record['seq']:>4}  {call_text(record['tool'], record['arguments'])} -> {', '.join(notes)}"
    changes = record["changes"]
    for change in changes[:_CHANGES_SHOWN]:
        yield f"        {_change(change)}"
    if len(changes) > _CHANGES_SHOWN:
        yield f"        and {len(changes) - _CHANGES_SHOWN} more changes"


def _change(change: Mapping[str, Any]) -> str:
    path = cut(clean(change["path"]), _WIDTH)
    if change["op"] == "added":
        return f"+ {path} = {shown(change['after'])}"
    if change["op"] == "removed":
        return f"- {path} (was {shown(change['before'])})"
    return f"~ {path}: {shown(change['before'])} -> {shown(change['after'])}"


def _printable(line: str) -> str:
    """The line in what the terminal can show; anything else as an escape instead of a crash."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return clean(line).encode(encoding, "backslashreplace").decode(encoding)
