"""Taking in files of twins, scenarios, datasets, agents and gate policies: all of them, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction

from evaluations.services.agents import save_agent
from evaluations.services.gate_policies import save_gate_policy
from scenarios.documents.bundle import (
    AGENT,
    DATASET,
    GATE_POLICY,
    SCENARIO,
    TWIN,
    BundleDocument,
    FileProblem,
    UnusableTwin,
    read_bundle,
)
from scenarios.services import save_scenario
from scenarios.services.approvals import approved_ids
from scenarios.services.datasets import known_scenarios, save_dataset
from twins.documents.problems import DocumentError, Problem
from twins.documents.source import DOCUMENT_BYTES, source_kind
from twins.engine.definition import Definition
from twins.errors import UnusableTwinError
from twins.services import current_definition, current_secrets, save_twin

SUFFIXES = (".yaml", ".yml", ".json")

Save = Callable[..., tuple[Any, bool]]
_SAVE: dict[str, tuple[str, Save]] = {
    TWIN: ("twin", save_twin),
    SCENARIO: ("scenario", save_scenario),
    DATASET: ("dataset", save_dataset),
    AGENT: ("agent", save_agent),
    GATE_POLICY: ("gate policy", save_gate_policy),
}


class ImportRefusedError(Exception):
    """Nothing was stored; ``problems`` holds every reason, in the order of the files."""

    code = "import_refused"

    def __init__(self, problems: Sequence[FileProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one file. ``version`` is a number, or an agent's own version.

    ``waits``: it has no effect yet, because somebody has to put it in force, or to approve it.
    """

    file: str
    kind: str
    name: str
    version: str
    created: bool
    waits: bool = False


def import_documents(paths: Sequence[str], *, actor: Any = None) -> tuple[Imported, ...]:
    """Store the documents of these files and folders, in whatever order they are given.

    Raises ImportRefusedError with the problems of all files. A path that selects no document is a problem
    too: a misspelt folder must not look like a successful import.
    """
    files, problems = _selected(paths)
    contents, unreadable = _read(files)
    bundle = read_bundle(contents, twin_lookup=_stored_twin, scenario_lookup=known_scenarios)
    problems = [*problems, *unreadable, *bundle.problems]
    refused = {problem.file for problem in problems}
    with transaction.atomic():
        imported = [
            _store(document, actor, problems)
            for document in bundle.documents
            # Other content of a registered version shows only here: it is said beside what else is wrong.
            if not refused or (document.kind == AGENT and document.file not in refused)
        ]
        if problems:
            raise ImportRefusedError(sorted(problems, key=lambda problem: _position(files, problem)))
    return tuple(one for one in imported if one is not None)


def _stored_twin(name: str) -> Definition | UnusableTwin | None:
    try:
        return current_definition(name)
    except UnusableTwinError as problem:
        return UnusableTwin(problem.detail, current_secrets(name))


def _position(files: Sequence[str], problem: FileProblem) -> int:
    """Paths that select no file come first."""
    return files.index(problem.file) if problem.file in files else -1


def _store(document: BundleDocument, actor: Any, problems: list[FileProblem]) -> Imported | None:
    """Save one document; what stands against it is added to the problems."""
    kind, save = _SAVE[document.kind]
    text = document.text if isinstance(document.text, str) else document.text.decode("utf-8-sig")
    try:
        version, created = save(text=text, kind=source_kind(document.file), actor=actor)
    except DocumentError as error:
        problems.extend(FileProblem(document.file, problem) for problem in error.problems)
        return None
    number = version.version if document.kind == AGENT else str(version.number)
    waits = document.kind == GATE_POLICY and version.policy.current_version_id != version.pk
    if document.kind == SCENARIO and version.is_generated:
        waits = not approved_ids([version.pk])
    return Imported(document.file, kind, document.name, number, created, waits)


def _selected(paths: Sequence[str]) -> tuple[list[str], list[FileProblem]]:
    """The files the paths name, each once, and the paths that name none."""
    files: dict[Path, str] = {}
    problems = []
    for path in map(Path, paths):
        found = list(_documents_under(path)) if path.is_dir() else [path] if path.is_file() else []
        if not found:
            detail = (
                f"the folder holds no document ({', '.join(SUFFIXES)})"
                if path.is_dir()
                else "there is no such file"
            )
            problems.append(FileProblem(str(path), Problem.at((), detail)))
        for file in found:
            files.setdefault(file.resolve(), str(file))
    return list(files.values()), problems


def _documents_under(folder: Path) -> Iterator[Path]:
    """The documents in a folder and below, by name; hidden files and folders are left alone."""
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _documents_under(entry)
        # A link that leads nowhere is a document that cannot be read, not one that is not there.
        elif (entry.is_file() or not entry.exists()) and entry.suffix.lower() in SUFFIXES:
            yield entry


def _read(files: Sequence[str]) -> tuple[list[tuple[str, bytes]], list[FileProblem]]:
    contents, problems = [], []
    for file in files:
        try:
            with open(file, "rb") as stream:
                # One byte more than a document may have is enough to refuse it.
                contents.append((file, stream.read(DOCUMENT_BYTES + 1)))
        except OSError as error:
            problems.append(FileProblem(file, Problem.at((), f"cannot be read: {error.strerror}")))
    return contents, problems
