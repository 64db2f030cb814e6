"""The cases of a holdout are not to be found by those who may not look into it: every address is walked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from evaluations.models import Comparison, ExpectationResult, ManualSession, PairedCase
from evaluations.services.comparisons import start_comparison
from evaluations.services.manual import open_manual_session
from evaluations.services.waiting import run_here
from reviews.models import AuditEntry, QueueEntry, Review
from reviews.roles import ROLES
from reviews.services import flag_case, override_result
from tests.datasets import walking
from tests.datasets.people import account, logged_in
from tests.running import documents

pytestmark = pytest.mark.django_db

NAME = "zq-hidden-name"
# What each role that sees everything finds somewhere, so that not finding it means something.
MARKS = {
    NAME,
    "zq-hidden-message",
    "zq-hidden-check",
    "zq-hidden-tag",
    "zq-hidden-memo",
    "zq-hidden-id",
    "zq-hidden-why",
    "zq-hidden-review",
    "zq-hidden-flag",
    "zq-hidden-session",
}
_MARK = re.compile(r"zq-hidden[a-z-]*", re.IGNORECASE)
SCENARIO = documents.scenario(
    NAME,
    tags=("zq-hidden-tag",),
    input={"message": "zq-hidden-message"},
    state={"orders": {"A": {"memo": "zq-hidden-memo"}}},
    expectations=[
        {"id": "zq-hidden-check", "type": "state", "path": "orders.A.count", "equals": 1, "critical": True}
    ],
)
STEPS = ('call note {"name": "memo", "text": "$message"}', 'call lookup {"order_id": "A"}')


@pytest.fixture
def world(given: Callable[..., None], freeze: Callable[..., Any]) -> None:
    """A holdout of one case, measured, reviewed, flagged and tried by hand; beside it a suite for everybody
    with a case that the holdout has too.
    """
    given(
        SCENARIO,
        documents.scenario("open", severity="low"),
        baseline=(*STEPS, *documents.GOOD),
        candidate=(*STEPS, *documents.TWICE),
    )
    admin = account("admin")
    ask = {
        "agent": documents.AGENT,
        "baseline": "1.0.0",
        "candidate": "2.0.0",
        "wake": False,
        "actor": admin,
        "trials": 2,
    }
    # Before it was a holdout, its scenario was compared like any other.
    before = start_comparison(**ask)[0]
    freeze("open", name="everybodys")
    hidden_case = {"id": "ZQ-HIDDEN-ID", "scenario": NAME, "owner": "ann", "why": "zq-hidden-why"}
    shared_case = {"id": "OPEN-1", "scenario": "open", "why": "zq-hidden-why"}
    freeze(name="secret", purpose="holdout", cases=[hidden_case], actor=admin)
    freeze(name="secret", purpose="holdout", cases=[hidden_case, shared_case], actor=admin)
    held_out = start_comparison(dataset="secret", **ask)[0]
    for comparison in (before, held_out):
        run_here(comparison.pk)
    for pair in PairedCase.objects.filter(scenario_name=NAME):
        flag_case(pair_id=pair.pk, note="zq-hidden-flag, look at it", actor=admin)
        result = ExpectationResult.objects.filter(case__pair=pair, case__run__side="CANDIDATE").first()
        assert result is not None
        note = "zq-hidden-review, it is right"
        override_result(result_id=result.pk, decision="PASS", note=note, seen_review_id=0, actor=admin)
    open_manual_session(scenario=NAME, agent_label="zq-hidden-session", actor=admin)


def values() -> dict[str, Any]:
    """What goes into the parts of addresses."""
    anything = walking.every_key()
    keys: dict[str, Any] = {
        "comparisons <pk>": Comparison,
        "comparisons <comparison_id>": Comparison,
        "cases <pk>": PairedCase,
        "cases <pair_id>": PairedCase,
        "sessions <pk>": ManualSession,
        "reviews <pk>": Review,
        "reviews <review_id>": Review,
        "queue <pk>": QueueEntry,
        "queue <entry_id>": QueueEntry,
        "results <result_id>": ExpectationResult,
        "judges <result_id>": ExpectationResult,
        "audit <sequence>": AuditEntry,
    }
    return {
        **{place: walking.some_keys(model) for place, model in keys.items()},
        "pk": anything,
        "id": [1],
        "token_id": [1],
        "name": [NAME, "secret"],
        "scenario": [NAME, "open"],
        "number": [1, 2],
        "version": ["1.0.0"],
        "format": ["json", "xml", "txt", "csv"],
        "part": ["state", "answer", "arguments", "response"],
        "app_label": ["scenarios", "evaluations", "reviews"],
        "url": ["nowhere"],
        "twins <name>": ["shop"],
        "agents <name>": [documents.AGENT],
    }  # fmt: skip


# What an address is asked with besides: nothing that names a mark, for a page may say what it was asked.
QUERIES: dict[str, tuple[str, ...]] = {
    r"/comparisons/\d+/$": ("class=UNCHANGED", "severity=high", "tool=refund", "q=expected"),
    r"/raw/": ("side=candidate", "side=candidate&seq=1", "side=baseline&seq=2"),
    r"/api/v1/comparisons/\d+/report/$": ("as=junit", "as=text", "as=markdown"),
    r"/calls/$": ("side=candidate", "side=baseline"),
    r"/(datasets|scenarios|twins)/[a-z-]+/$": ("version=1", "from=1&to=2", "from=2&to=1"),
    r"/datasets/[a-z-]+/(cases|text)/$": ("version=1", "version=2"),
    r"/difference/$": ("from=1&to=2", "from=1&to=1", "from=2&to=3"),
    r"^/queue/$": tuple(f"entry={number}" for number in range(1, 4)),
    r"/audit/$": ("action=result_overridden",),
}
# What htmx asks for: the fragment of the page, and the parts of a case by the element they go into.
FRAGMENTS = r"^/(comparisons/\d+/(progress/)?|(queue|audit|scenarios|datasets|sessions|reviews/mine)/.*)$"
PARTS = ("case-verdict", "case-steps", "case-decisions", "case-history", "step-1")


def asked(address: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The address as it is, with each query that means something there, and as htmx asks for it."""
    yield address, {}
    for pattern, queries in QUERIES.items():
        if re.search(pattern, address):
            yield from ((f"{address}?{query}", {}) for query in queries)
    targets = PARTS if re.search(r"^/comparisons/\d+/cases/[a-z-]+/$", address) else ()
    for target in targets or (("",) if re.search(FRAGMENTS, address) else ()):
        yield address, {"HX-Request": "true", "HX-Target": target}


def found_by(client: Client, *, until: set[str] | None = None) -> dict[str, set[str]]:
    """The marks an account finds, each with the addresses where; no further than all of `until`."""
    found: dict[str, set[str]] = {}
    for address in walking.addresses(values()):
        for path, headers in asked(address):
            answer = client.get(path, headers=headers)
            assert answer.status_code < 500, (path, answer.status_code)
            body = b"".join(answer.streaming_content) if answer.streaming else answer.content
            text = body.decode() + str(answer.headers.get("Content-Disposition", ""))
            # What somebody typed into the address may be said again.
            for mark in _MARK.findall(text.replace(NAME, "") if NAME in path else text):
                found.setdefault(mark.lower(), set()).add(path)
            if until is not None and found.keys() >= until:
                return found
    return found


def test_nothing_of_a_holdout_is_found_by_an_editor(world: None) -> None:
    """An editor sees all that a viewer sees, and more."""
    assert set(ROLES["viewer"]) < set(ROLES["editor"])
    found = found_by(logged_in(account("editor")))
    assert {mark: sorted(paths)[:5] for mark, paths in found.items()} == {}


def test_everything_is_found_with_the_permission(world: None) -> None:
    found = found_by(logged_in(User.objects.get(username="admin")), until=MARKS)
    assert set(found) >= MARKS
