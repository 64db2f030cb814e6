"""`manage.py write_schemas`: bring the shipped JSON Schemas in line with the registries they describe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evaluations.grading.schema import expectation_definitions
from scenarios.documents.scenario import SCENARIO_SCHEMA
from twins.engine.faults import FAULTS

_EXPECTATION = "expectation"


class Command(BaseCommand):
    """For those who add an expectation or a fault; the tests say when it has to be run."""

    help = "Write the expectation and fault types into scenarios/documents/schemas/scenario.schema.json."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="write nothing; fail if it would")

    def handle(self, *args: Any, **options: Any) -> None:
        path = SCENARIO_SCHEMA.path
        shipped = path.read_text(encoding="utf-8")
        derived = schema_text(json.loads(shipped))
        if shipped == derived:
            self.stdout.write(f"{path.name} agrees with the registries")
        elif options["check"]:
            raise CommandError(f"{path.name} is behind the registries: run manage.py write_schemas")
        else:
            _replace(path, derived)
            self.stdout.write(f"{path.name} written")


def schema_text(schema: dict[str, Any]) -> str:
    """The schema file with its derived parts as the registries have them now; the rest as it stands."""
    own = {name: part for name, part in schema["$defs"].items() if not _is_derived(name)}
    behavior = own["fault"]["properties"]["behavior"]["properties"]
    behavior["type"] = {**behavior["type"], "enum": list(FAULTS)}
    derived = {**schema, "$defs": {**own, **expectation_definitions()}}
    return json.dumps(derived, indent=2, ensure_ascii=False) + "\n"


def _is_derived(name: str) -> bool:
    return name == _EXPECTATION or name.startswith(f"{_EXPECTATION}_")


def _replace(path: Path, text: str) -> None:
    """All or nothing: a reader never sees half a schema."""
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)
