"""People in their roles, and comparisons of any size for the pages to show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client

from evaluations.models import CLASS_RANKS, UNCLASSIFIED_RANK
from tests.models import factories
from tests.pages.browser import WIDTHS, log_in
from tests.pages.served import PASSWORD, Served, prepared, serving
from twins.models import TwinVersion


@pytest.fixture
def person(db: Any) -> Callable[..., Client]:
    """`person("viewer")`: a client logged in as a new account in this role; `person()` has none."""

    def log_in(*roles: str, csrf: bool = False) -> Client:
        name = "-".join(roles) or "nobody"
        user, _ = get_user_model().objects.get_or_create(username=name)
        user.groups.set(Group.objects.filter(name__in=roles))
        client = Client(enforce_csrf_checks=csrf)
        client.force_login(user)
        return client

    return log_in


@pytest.fixture
def viewer(person: Callable[..., Client]) -> Client:
    return person("viewer")


@pytest.fixture
def editor(person: Callable[..., Client]) -> Client:
    return person("editor")


def shop() -> Any:
    """The twin version of the comparisons below, with its two tools."""
    if (known := TwinVersion.objects.filter(twin__name="shop").first()) is not None:
        return known
    tools = {"lookup_order": {}, "refund_payment": {}}
    document = {"kind": "TwinDefinition", "metadata": {"name": "shop"}, "spec": {"tools": tools}}
    return factories.twin_version("shop", document=document)


def concluded(*classes: str | None, trials: int = 1, **fields: Any) -> Any:
    """A completed comparison 1.2.4 → 1.3.0, one scenario per class given; None leaves a case without one."""
    old, new = factories.agent_version("helper", "1.2.4"), factories.agent_version("helper", "1.3.0")
    comparison = factories.comparison(baseline=old, candidate=new, **{"state": "COMPLETED", **fields})
    comparison.runs.update(model_kind="deterministic-fake")
    twin = shop()
    for number, name in enumerate(classes):
        scenario = factories.scenario_version(
            f"scenario-{number}", tags=["smoke"] if number % 2 else ["money"]
        )
        for trial in range(1, trials + 1):
            compared_pair(comparison, name, scenario_version=scenario, twin_version=twin, trial=trial)
    return comparison


def compared_pair(comparison: Any, classification: str | None, **fields: Any) -> Any:
    """A pair whose candidate newly fails two checks if the class says that something fails."""
    fails = classification in ("NEW_CRITICAL_FAILURE", "REGRESSED")
    values = {
        "classification": classification,
        "class_rank": CLASS_RANKS[classification] if classification else UNCLASSIFIED_RANK,
        "reason": "refunded twice" if fails else "nothing fails on either side",
        "newly_failing": ["once", "cheap"] if fails else [],
        **fields,
    }
    if fails:
        values.setdefault(
            "first_divergence",
            {
                "step": 2,
                "kind": "tool",
                "summary": "At step 2 the two sides called different tools.",
                "meaning": "",
                "baseline": "lookup_order(A)",
                "candidate": "refund_payment(A)",
            },
        )
    pair = factories.pair(comparison, **values)
    ended = (
        {"state": "FINISHED", "finished_at": comparison.created_at} if classification else {"state": "QUEUED"}
    )
    for side, calls in (("BASELINE", 5), ("CANDIDATE", 4)):
        verdict = ("FAILED" if fails and side == "CANDIDATE" else "PASSED") if classification else None
        case = factories.case(
            pair,
            side,
            verdict=verdict,
            effective_verdict=verdict,
            tool_call_count=calls,
            retry_count=1,
            **ended,
        )
        if not classification:
            continue
        factories.tool_call(case, 1, tool="refund_payment" if fails else "lookup_order")
        status = "FAIL" if fails and side == "CANDIDATE" else "PASS"
        for position, name in enumerate(("once", "cheap")):
            factories.result(
                case,
                name,
                critical=position == 0 and classification != "REGRESSED",
                status=status,
                effective_status=status,
                reason=f"{name}: expected 1, got 2" if status == "FAIL" else "",
            )
    return pair


# ------------------------------------------------------------ the site in a real browser


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The demo, served by `manage.py serve` with its own worker; one account per role."""
    served = prepared(tmp_path_factory.mktemp("served"))
    with serving(served):
        yield served


@pytest.fixture
def visit(browser: Any, site: Served) -> Iterator[Callable[..., Any]]:
    """`visit("viewer")`: a page logged in as this role, in a window of its own; fails on any page error."""
    contexts, problems = [], []

    def open_page(role: str = "viewer", *, width: str = "desk", scheme: str = "light", **options: Any) -> Any:
        size = dict(zip(("width", "height"), WIDTHS[width], strict=True))
        context = browser.new_context(
            viewport=size, color_scheme=scheme, base_url=site.url, reduced_motion="reduce", **options
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console",
            lambda message: problems.append(message.text) if "Security Policy" in message.text else None,
        )
        page.on(
            "request",
            lambda request: problems.append(request.url) if not request.url.startswith(site.url) else None,
        )
        if role:
            log_in(page, site.url, role, PASSWORD)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not problems, problems
