"""What was measured is looked at: nothing can be changed, pages stay quick and safe."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from evaluations.models import (
    Case,
    Comparison,
    ExpectationResult,
    ManualSession,
    PairedCase,
    Run,
    StateSnapshot,
    ToolCall,
)
from tests.models import factories
from twins.models import TwinVersion
from twins.wire.models import WireSession

pytestmark = pytest.mark.django_db

MODELS = [Comparison, Run, PairedCase, Case, ToolCall, ExpectationResult, StateSnapshot]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)


def url(model, page: str, *arguments) -> str:
    return reverse(f"admin:evaluations_{model._meta.model_name}_{page}", args=arguments)


def fill(pairs: int = 1) -> PairedCase:
    """Comparisons with one finished pair each, and the first of them with as many pairs as are asked for."""
    if not TwinVersion.objects.exists():
        factories.twin_version()
    first = factories.comparison()
    for number in range(pairs):
        classification = "NEW_CRITICAL_FAILURE" if number % 2 else "UNCHANGED"
        of = first if number else factories.comparison()
        pair = factories.pair(of, classification=classification, class_rank=0 if number % 2 else 4)
        for side in ("BASELINE", "CANDIDATE"):
            factories.finished_case(pair, side)
    return PairedCase.objects.order_by("pk").first()


def queries_of(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        response = client.get(address)
    assert response.status_code == 200
    return len(queries)


@each_model
def test_everything_is_listed_and_shown(model, viewer) -> None:
    fill(2)
    assert viewer.get(url(model, "changelist")).status_code == 200
    assert viewer.get(url(model, "change", model.objects.first().pk)).status_code == 200


@each_model
def test_the_list_has_a_fixed_number_of_queries(model, viewer) -> None:
    fill(1)
    address = url(model, "changelist")
    viewer.get(address)
    alone = queries_of(viewer, address)
    for _ in range(6):
        fill(5)
    assert queries_of(viewer, address) == alone


@each_model
def test_the_page_of_a_row_has_a_fixed_number_of_queries(model, viewer) -> None:
    pair = fill(1)
    rows = {Comparison: pair.comparison, PairedCase: pair, StateSnapshot: pair.initial_state}
    case = Case.objects.filter(pair=pair).first()
    rows |= {
        Case: case,
        Run: case.run,
        ToolCall: case.tool_calls.get(),
        ExpectationResult: case.results.get(),
    }
    address = url(model, "change", rows[model].pk)
    viewer.get(address)
    alone = queries_of(viewer, address)
    for number in range(30):
        factories.tool_call(case, seq=number + 2)
        factories.result(case, f"more-{number}")
        factories.pair(pair.comparison)
    assert queries_of(viewer, address) == alone


@each_model
def test_even_a_superuser_can_only_look(model, admin_client) -> None:
    fill()
    row = model.objects.first()
    before = model.objects.count()
    assert admin_client.get(url(model, "add")).status_code == 403
    assert admin_client.post(url(model, "change", row.pk), {}).status_code == 403
    assert admin_client.post(url(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    action = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    admin_client.post(url(model, "changelist"), action)
    assert model.objects.count() == before


@each_model
def test_nobody_without_the_right_sees_a_row(model, nobody) -> None:
    fill()
    assert nobody.get(url(model, "changelist")).status_code == 403
    assert nobody.get(url(model, "change", model.objects.first().pk)).status_code == 403
    assert Client().get(url(model, "changelist")).status_code == 302


def test_what_was_stored_never_acts_in_the_page(viewer) -> None:
    bad = "<script>alert(1)</script>"
    pair = factories.pair(reason=bad, first_divergence={"summary": bad})
    case = factories.case(pair, answer={"output": bad}, error_reason=bad, claimed_outcome="<i>")
    factories.tool_call(
        case, tool=bad, arguments={bad: bad}, response={"result": bad}, error_code=bad, fault="<i>x",
        effect_key=bad, changes=[{"op": "added", "path": bad, "after": bad}],
    )  # fmt: skip
    factories.tool_call(
        case,
        seq=2,
        kind="retrieval",
        tool="",
        status=None,
        query=bad,
        documents=[{"id": bad, "trusted": False}],
    )
    factories.result(case, bad, reason=bad, label="<i>l", evidence={"paths": [bad]})
    for model in MODELS:
        pages = [url(model, "changelist"), *(url(model, "change", row.pk) for row in model.objects.all())]
        for page in pages:
            content = viewer.get(page).content.decode()
            assert bad not in content, page
            assert "<i>" not in content, page


def test_long_values_are_folded_and_cut(viewer) -> None:
    case = factories.case(answer={"output": "x" * 5_000_000})
    call = factories.tool_call(case, response={"result": ["y" * 10] * 100_000})
    for page in (url(Case, "change", case.pk), url(ToolCall, "change", call.pk)):
        content = viewer.get(page).content
        assert len(content) < 150_000
        assert b"more characters are not shown" in content
        assert b"<details" in content


def test_a_case_with_thousands_of_records_shows_the_first_and_leads_to_the_rest(viewer) -> None:
    case = factories.case()
    ToolCall.objects.bulk_create(ToolCall(case=case, seq=seq, tool="lookup") for seq in range(1, 3001))
    content = viewer.get(url(Case, "change", case.pk)).content.decode()
    assert content.count("lookup</a>") == 100
    assert f"case__id__exact={case.pk}" in content
    page = viewer.get(url(ToolCall, "changelist"), {"case__id__exact": case.pk, "p": 2})
    assert page.status_code == 200


@pytest.mark.parametrize(
    ("model", "query"),
    [
        (Comparison, {"state__exact": "QUEUED", "q": "helper"}),
        (Run, {"side__exact": "BASELINE", "q": "1.0.0"}),
        (PairedCase, {"classification__exact": "UNCHANGED", "q": "refund"}),
        (PairedCase, {"scenario_name": "refund"}),
        (Case, {"verdict__exact": "FAILED", "run__side__exact": "CANDIDATE", "q": "refund"}),
        (ToolCall, {"status__exact": "ok", "mutated__exact": "1", "q": "refund_payment"}),
        (ExpectationResult, {"status__exact": "FAIL", "q": "e1"}),
        (StateSnapshot, {"q": "555"}),
    ],
)
def test_lists_are_filtered_and_searched(model, query, viewer) -> None:
    fill(1)
    response = viewer.get(url(model, "changelist"), query)
    assert response.status_code == 200
    assert response.context["cl"].result_count >= 1


def test_rows_lead_to_one_another(viewer) -> None:
    pair = fill(1)
    case = pair.cases.first()
    links = {
        url(Comparison, "change", pair.comparison_id): [
            f"{url(PairedCase, 'changelist')}?comparison__id__exact={pair.comparison_id}",
            url(Run, "change", case.run_id),
        ],
        url(PairedCase, "change", pair.pk): [
            url(Case, "change", case.pk),
            url(StateSnapshot, "change", pair.initial_state_id),
        ],
        url(Case, "change", case.pk): [
            url(ToolCall, "change", case.tool_calls.get().pk),
            url(ExpectationResult, "change", case.results.get().pk),
            url(PairedCase, "change", pair.pk),
        ],
        url(StateSnapshot, "change", pair.initial_state_id): [
            f"{url(PairedCase, 'changelist')}?initial_state={pair.initial_state_id}"
        ],
    }
    for page, targets in links.items():
        content = viewer.get(page).content.decode()
        for target in targets:
            assert f'href="{target}"' in content, (page, target)
            assert viewer.get(target).status_code == 200


def test_an_overridden_verdict_shows_both(viewer) -> None:
    case = fill(1).cases.first()
    Case.objects.filter(pk=case.pk).update(effective_verdict="PASSED")
    content = viewer.get(url(Case, "changelist")).content.decode()
    assert "measured FAILED" in content


def test_manual_sessions_are_looked_at_and_never_changed(viewer, nobody, admin_client) -> None:
    pinned, twin = factories.scenario_version("live"), factories.twin_version("live-shop")
    start = StateSnapshot.objects.create(digest="7" * 64, state={})
    wire = WireSession.objects.create(
        public_id="p", token_hash="t", label="", twin_version=twin, spec={}, expires_at=timezone.now()
    )
    bad = "<script>alert(1)</script>"
    row = ManualSession.objects.create(
        scenario_version=pinned, twin_version=twin, agent_label=bad, seed=1, initial_state=start,
        wire_session=wire, expires_at=timezone.now(), error_reason=bad,
    )  # fmt: skip
    pages = [
        reverse("admin:evaluations_manualsession_changelist"),
        reverse("admin:evaluations_manualsession_change", args=[row.pk]),
    ]
    for page in pages:
        shown = viewer.get(page)
        assert shown.status_code == 200
        assert bad not in shown.content.decode()
        assert nobody.get(page).status_code == 403
    assert admin_client.post(pages[1], {"agent_label": "x"}).status_code == 403
    assert ManualSession.objects.get().agent_label == bad


def test_the_admin_has_the_name_of_the_product(viewer) -> None:
    page = viewer.get(reverse("admin:index")).content.decode()
    assert "Django administration" not in page
    assert "Django site admin" not in page
    assert "AgentTwin" in page
