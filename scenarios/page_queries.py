"""What the pages of this room read: the list under its filters, faults by twin, planted secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import F
from django.http import QueryDict

from scenarios.coverage import FaultyScenario
from scenarios.documents.scenario import looked_for_secrets
from scenarios.fault_words import condition_words
from scenarios.holdouts import Sight
from scenarios.models import GENERATED, SEVERITY_RANKS, ScenarioVersion
from twins.engine.faults import compile_fault_rules
from twins.models import TwinVersion
from twins.services import planted_secrets

_MAX_TEXT = 200


@dataclass(frozen=True, slots=True)
class ScenarioFilter:
    """The conditions of the list; all hold at once. `text` is looked for in names, tags, agents and twins.

    Not in the documents: whoever may not read a planted secret could find it out letter by letter.
    """

    severity: str = ""
    tag: str = ""
    twin: str = ""
    agent: str = ""
    text: str = ""
    # Only what a program wrote and nobody has approved.
    waiting: bool = False

    @classmethod
    def from_query(cls, query: QueryDict) -> ScenarioFilter:
        severity = query.get("severity", "")
        return cls(
            severity=severity if severity in SEVERITY_RANKS else "",
            tag=_clean(query.get("tag", "")),
            twin=_clean(query.get("twin", "")),
            agent=_clean(query.get("agent", "")),
            text=_clean(query.get("q", "")).strip(),
            waiting=query.get("waiting") == "yes",
        )

    @property
    def is_empty(self) -> bool:
        return self == ScenarioFilter()

    @property
    def has_choices(self) -> bool:
        """Whether anything besides the text is set."""
        return bool(self.severity or self.tag or self.twin or self.agent or self.waiting)

    @property
    def query(self) -> str:
        """The query string that stands for this filter, without its "?"; "" if it lets everything through."""
        named = (
            ("severity", self.severity),
            ("tag", self.tag),
            ("twin", self.twin),
            ("agent", self.agent),
            ("q", self.text),
            ("waiting", "yes" if self.waiting else ""),
        )
        return urlencode([(name, value) for name, value in named if value])

    def lets_through(self, row: ScenarioRow) -> bool:
        shown = (row.name, row.twin, row.agent, *row.tags)
        return (
            self.severity in ("", row.severity)
            and self.twin in ("", row.twin)
            and self.agent in ("", row.agent)
            and (row.is_waiting or not self.waiting)
            and (not self.tag or self.tag in row.tags)
            and (not self.text or any(self.text.casefold() in text.casefold() for text in shown))
        )


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """A scenario by its current version, without the document."""

    pk: int
    name: str
    severity: str
    tags: tuple[str, ...]
    twin: str
    agent: str
    is_waiting: bool = False


@dataclass(frozen=True, slots=True)
class ScenarioOptions:
    """What the filters can be set to."""

    tags: list[str]
    twins: list[str]
    agents: list[str]


def scenario_rows(chosen: ScenarioFilter, sight: Sight) -> tuple[list[ScenarioRow], ScenarioOptions, int]:
    """The scenarios under the filter, worst first, then by name; the options; how many there are: one query.

    All are read, without their documents, and sifted here: SQLite cannot search inside a list of tags, and a
    collection holds hundreds.
    """
    columns = ("pk", "scenario__name", "severity", "tags", "twin_name", "agent_name", "source", "approval")
    versions = sight.of(ScenarioVersion.objects.filter(scenario__current_version=F("pk")))
    found = versions.order_by().values_list(*columns)
    rows = [
        ScenarioRow(pk, name, severity, tuple(tags), twin, agent, source == GENERATED and approval is None)
        for pk, name, severity, tags, twin, agent, source, approval in found
    ]
    options = ScenarioOptions(
        tags=_options((tag for row in rows for tag in row.tags), chosen.tag),
        twins=_options((row.twin for row in rows), chosen.twin),
        agents=_options((row.agent for row in rows), chosen.agent),
    )
    listed = sorted(
        (row for row in rows if chosen.lets_through(row)),
        key=lambda row: (SEVERITY_RANKS[row.severity], row.name),
    )
    return listed, options, len(rows)


def saved_versions(rows: Iterable[ScenarioRow]) -> dict[int, ScenarioVersion]:
    """The versions of these rows with who saved them, without their documents: one query."""
    versions = ScenarioVersion.objects.without_content().select_related("created_by")
    return versions.in_bulk([row.pk for row in rows])


def faulty_scenarios(twin_name: str, redact: Callable[[Any], Any], sight: Sight) -> list[FaultyScenario]:
    """The scenarios of a twin, by name, with the faults of their current versions: one query."""
    versions = sight.of(ScenarioVersion.objects.current().counting().filter(twin_name=twin_name))
    return [faulty_scenario(version, redact) for version in versions.defer("source_text")]


def hidden_secrets(version: ScenarioVersion, *others: ScenarioVersion) -> list[str]:
    """What a scenario must not show: the secrets its twins plant, and those its own checks look for.

    Its twin counts as it is now and as it was when the version was saved: a query for each of the two.
    """
    secrets: dict[str, None] = {}
    for one in (version, *others):
        twins = TwinVersion.objects.filter(twin__name=one.twin_name).only("document")
        then = twins.filter(created_at__lte=one.created_at).order_by("-number").first()
        now = twins.filter(twin__current_version=F("pk")).first()
        for twin in (then, now):
            if twin is not None:
                secrets.update(dict.fromkeys(planted_secrets(twin.document)))
        secrets.update(dict.fromkeys(looked_for_secrets(one.document)))
    return list(secrets)


def faulty_scenario(version: ScenarioVersion, redact: Callable[[Any], Any]) -> FaultyScenario:
    """What coverage needs of a version; its scenario is loaded."""
    spec = version.document.get("spec") or {}
    allowed, rules = spec.get("allowedTools"), spec.get("faults") or ()
    return FaultyScenario(
        name=version.scenario.name,
        severity=version.severity,
        allowed_tools=None if allowed is None else frozenset(allowed),
        rules=compile_fault_rules(rules),
        conditions=tuple(condition_words(redact(rule)) for rule in rules),
    )


def _options(values: Iterable[str], chosen: str) -> list[str]:
    """Options of a choice, sorted; what is chosen stays among them even if nothing has it any more."""
    return sorted({value for value in values if value} | ({chosen} if chosen else set()))


def _clean(text: str) -> str:
    return text.replace("\x00", "")[:_MAX_TEXT]
