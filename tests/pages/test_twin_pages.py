"""The list of twins and the page of one, through the client."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from scenarios.services import save_scenario
from tests.models import factories
from twins.documents.source import read_source
from twins.models import Twin
from twins.services import save_twin

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "demo" / "refund"
SECRET = "GATEWAY-DEMO-7Q4X-19ZT-NOTREAL"
HTMX = {"HX-Request": "true"}
MARKUP = "<script>alert(1)</script>"


def document(name: str = "shop", **spec: Any) -> dict[str, Any]:
    tools = spec.pop("tools", {"look": {"handler": {"kind": "read", "path": "orders.{id}"}}})
    return {
        "apiVersion": "agenttwin.dev/v1",
        "kind": "TwinDefinition",
        "metadata": {"name": name, "description": f"The {name}."},
        "spec": {"initialState": {}, "tools": tools, **spec},
    }


def writer(**tool: Any) -> dict[str, Any]:
    return {"handler": {"kind": "mutate", "effects": [{"op": "append", "path": "log", "value": 1}]}, **tool}


def scenario(name: str, twin: str = "shop", *faults: tuple[str, str], **spec: Any) -> None:
    rules = [{"target": target, "behavior": {"type": fault}} for target, fault in faults]
    save_scenario(
        document={
            "apiVersion": "agenttwin.dev/v1",
            "kind": "Scenario",
            "metadata": {"name": name},
            "spec": {
                "twin": twin,
                "input": {"message": "hello"},
                "faults": rules,
                "expectations": [{"type": "noPolicyViolation"}],
                **spec,
            },
        }
    )


@pytest.fixture
def demo(db: Any) -> dict[str, Any]:
    """The demo's twin and scenarios; answers the twin's document."""
    text = (DEMO / "twin.yaml").read_text()
    save_twin(text=text)
    for path in sorted((DEMO / "scenarios").glob("*.yaml")):
        save_scenario(text=path.read_text())
    return copy.deepcopy(read_source(text).value)


def get(client: Client, path: str, status: int = 200, **headers: str) -> str:
    response = client.get(path, headers=headers)
    assert response.status_code == status, response.content.decode()[:400]
    return response.content.decode()


def matrix(html: str) -> dict[str, list[str]]:
    """Texts of the cells by tool, in the order of the faults."""
    [table] = re.findall(r'<table class="table table--matrix">.*?</table>', html, re.S)
    rows = re.findall(r"<tr[^>]*>\s*<th scope=\"row\">(.*?)</th>(.*?)</tr>", table, re.S)
    return {
        plain(head).split()[0]: [plain(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", cells, re.S)]
        for head, cells in rows
    }


def plain(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def cards(html: str) -> dict[str, str]:
    [listed] = re.findall(r'<ul class="grid coverage-cards">(.*?)\n</ul>', html, re.S)
    parts = re.split(r'<li class="panel[^"]*" id="coverage-', listed)[1:]
    return {part.split('"')[0]: plain(part.partition(">")[2]) for part in parts}


# ------------------------------------------------------------------------ the list


def test_twins_are_listed_with_what_they_stand_in_for(viewer: Client) -> None:
    save_twin(document=document("shop"))
    save_twin(document=document("bank", tools={"a": writer(), "b": writer()}))

    html = get(viewer, "/twins/")

    assert re.findall(r"data-nav-item>([a-z]+)<", html) == ["bank", "shop"]
    assert 'href="/twins/shop/"' in html
    assert "The bank." in html
    assert '<td class="num" data-label="tools">2</td>' in html


def test_an_empty_list_says_what_to_do(viewer: Client) -> None:
    html = get(viewer, "/twins/")

    assert "No twins yet" in html
    assert "/admin/" not in html


def test_a_long_list_is_paged(viewer: Client) -> None:
    for number in range(30):
        save_twin(document=document(f"twin-{number:02}"))

    first, second = get(viewer, "/twins/"), get(viewer, "/twins/?page=2")

    assert len(re.findall("data-nav-item", first)) == 25
    assert re.findall(r"data-nav-item>([a-z0-9-]+)<", second) == [f"twin-{n}" for n in range(25, 30)]
    assert get(viewer, "/twins/?page=nonsense").count("data-nav-item") == 25


# ---------------------------------------------------------------------- one twin


def test_the_page_tells_what_each_tool_does(viewer: Client, demo: dict[str, Any]) -> None:
    text = plain(get(viewer, "/twins/demo-co-support/"))

    for expected in (
        "demo-co-support version 1",
        "adds {amount} to refunded_amount",
        "Refuses with 409 ORDER_NOT_DELIVERED",
        "It changes something that cannot be taken back.",
        "key from the argument idempotency_key",
        "refund:{order_id} : two effects with one key are duplicates",
        "must be the tenant of the case, else 403 ACCESS_DENIED",
        "an agent that calls it meets a policy and gets 403 ADMIN_ONLY.",
        "Input schema",
    ):
        assert expected in text


def test_htmx_gets_the_versions_alone(viewer: Client, demo: dict[str, Any]) -> None:
    whole = viewer.get("/twins/demo-co-support/")
    part = get(viewer, "/twins/demo-co-support/?from=1&to=1", **HTMX)

    assert "HX-Request" in whole["Vary"]
    assert "<html" not in part
    assert '<section id="versions"' in part
    assert "refunded_amount" not in part
    assert "<html" in get(viewer, "/twins/demo-co-support/", **HTMX, **{"HX-Boosted": "true"})


@pytest.mark.parametrize("path", ["/twins/", "/twins/shop/", "/twins/shop/text/", "/catalogue/"])
def test_nobody_sees_anything_before_login(client: Client, db: Any, path: str) -> None:
    save_twin(document=document())

    plain_answer, fragment = client.get(path), client.get(path, headers=HTMX)

    assert plain_answer.status_code == 302
    assert plain_answer["Location"].startswith("/login/")
    assert fragment.status_code == 401
    assert b"look" not in plain_answer.content + fragment.content


@pytest.mark.parametrize("path", ["/twins/", "/twins/shop/", "/twins/shop/text/"])
def test_an_account_without_a_role_is_refused(person: Callable[..., Client], path: str) -> None:
    save_twin(document=document())

    assert "look" not in get(person(), path, status=403)


@pytest.mark.parametrize(
    "path",
    [
        "/twins/nobody/",
        "/twins/nobody/text/",
        "/twins/%00/",
        "/twins/shop/?version=9",
        "/twins/shop/?version=x",
        "/twins/shop/?version=",
        "/twins/shop/text/?version=99999999999999999999",
        "/twins/without-version/",
    ],
)
def test_what_there_is_not_is_a_friendly_404(viewer: Client, path: str) -> None:
    save_twin(document=document())
    Twin.objects.create(name="without-version")

    assert "There is nothing at this address" in get(viewer, path, status=404)


@pytest.mark.parametrize("path", ["/twins/", "/twins/shop/", "/twins/shop/text/"])
def test_pages_are_read_only(viewer: Client, path: str) -> None:
    save_twin(document=document())

    assert viewer.post(path).status_code == 405


def test_markup_in_a_document_is_text(viewer: Client) -> None:
    tool = {**writer(), "description": MARKUP, "effectKey": MARKUP, "inputSchema": {"title": MARKUP}}
    twin = document(tools={"a": tool}, initialState={"k": MARKUP, MARKUP: 1})
    twin["metadata"]["description"] = MARKUP
    save_twin(document=twin)
    scenario("s", "shop", ("a", "delay"))

    for path in ("/twins/", "/twins/shop/", "/twins/shop/?from=1&to=1", f"/twins/shop/?from={MARKUP}&to=1"):
        html = viewer.get(path).content.decode()
        assert MARKUP not in html
        assert "&lt;script&gt;alert(1)" in html


def test_an_adapter_that_this_process_does_not_have_is_told(viewer: Client) -> None:
    handler = {"kind": "custom", "adapter": "of-another-deployment"}
    factories.twin_version("shop", document=document(tools={"rate": {"handler": handler}}))

    text = plain(get(viewer, "/twins/shop/"))

    assert "This process has no adapter for rate" in text
    assert "risk unknown" in text


def test_properties_named_like_methods_are_only_names(viewer: Client) -> None:
    schema = {"type": "object", "properties": {"items": {}, "keys": {}}, "required": ["items"]}
    save_twin(document=document(tools={"a": writer(inputSchema=schema)}, initialState={"items": [1]}))

    assert "items , keys (optional)" in plain(get(viewer, "/twins/shop/"))


def test_many_tools_are_paged_and_gaps_of_all_are_told(viewer: Client) -> None:
    save_twin(document=document(tools={f"t{number:03}": writer() for number in range(130)}))

    first, last = get(viewer, "/twins/shop/"), get(viewer, "/twins/shop/?page=3")

    assert first.count('<article class="panel" id="tool-') == 60
    assert last.count('<article class="panel" id="tool-') == 10
    assert len(matrix(first)) == 60
    assert "t000: no scenario lets it time out" in last
    assert "124 more tools have gaps." in last


# ------------------------------------------------------------------------ versions


def test_versions_say_who_and_when_and_any_can_be_read(viewer: Client) -> None:
    editor = get_user_model().objects.create_user("ada")
    save_twin(document=document(initialState={"color": "red"}))
    save_twin(document=document(initialState={"color": "blue"}), actor=editor)

    current, old = get(viewer, "/twins/shop/"), get(viewer, "/twins/shop/?version=1")

    assert "ada" in current
    assert "a command" in current
    assert '<code class="break">blue</code>' in current
    assert '<code class="break">red</code>' not in current
    assert '<code class="break">red</code>' in old
    assert "not the current version" in old
    assert "table--matrix" not in old


def test_any_two_versions_can_be_compared(viewer: Client) -> None:
    for color in ("red", "blue", "green"):
        save_twin(document=document(initialState={"color": color}))

    html = get(viewer, "/twins/shop/?from=1&to=3")
    back = get(viewer, "/twins/shop/?from=3&to=1")

    assert re.findall(r"<(ins|del)>(.*?)</\1>", html) == [
        ("del", "      &quot;color&quot;: &quot;red&quot;"),
        ("ins", "      &quot;color&quot;: &quot;green&quot;"),
    ]
    assert re.findall(r"<ins>.*?(red|green)", back) == ["red"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("from=1&to=9", "No version 9: there is only version 1."),
        ("from=7&to=x", "No version 7 and no version x: there is only version 1."),
        ("from=1", "No version (nothing): there is only version 1."),
    ],
)
@pytest.mark.parametrize("headers", [{}, HTMX])
def test_versions_that_are_not_there_are_named(
    viewer: Client, query: str, expected: str, headers: dict[str, str]
) -> None:
    save_twin(document=document())

    assert expected in get(viewer, f"/twins/shop/?{query}", status=422, **headers)


def test_equal_versions_differ_in_nothing(viewer: Client) -> None:
    save_twin(document=document())

    assert "Nothing that is shown differs" in get(viewer, "/twins/shop/?from=1&to=1")


# ------------------------------------------------------------------------- secrets


def everything(client: Client, *queries: str) -> str:
    paths = [
        f"/twins/demo-co-support/{query}"
        for query in ("", "?version=1", "text/", "text/?version=1", *queries)
    ]
    return "".join(client.get(path).content.decode() for path in ["/twins/", *paths])


@pytest.mark.parametrize("role", ["viewer", "editor", "admin"])
def test_a_planted_secret_is_on_no_page_for_any_role(
    person: Callable[..., Client], demo: dict[str, Any], role: str
) -> None:
    html = everything(person(role))

    assert SECRET not in html
    assert "The gateway API key is [REDACTED]." in html


def test_a_secret_is_hidden_in_every_part_of_a_document(viewer: Client, demo: dict[str, Any]) -> None:
    spec = demo["spec"]
    demo["metadata"]["description"] = f"about {SECRET}"
    spec["initialState"][SECRET] = {"a": [SECRET]}
    spec["tools"][SECRET] = writer(
        description=SECRET, effectKey=SECRET, inputSchema={"const": SECRET, "properties": {SECRET: {}}}
    )
    spec["tools"]["long"] = {"handler": {"kind": "static", "response": "x" * 190 + SECRET}}
    save_twin(document=demo)

    html = everything(viewer, "?from=1&to=2", "?from=2&to=1")

    assert "GATEWAY-DEMO" not in html


def test_secrets_of_both_sides_of_a_difference_are_hidden(viewer: Client, demo: dict[str, Any]) -> None:
    save_twin(document={**demo, "spec": {**demo["spec"], "secrets": ["ANOTHER-SECRET"]}})

    html = everything(viewer, "?from=1&to=2", "?from=2&to=1", "?version=2")

    assert SECRET not in get(viewer, "/twins/demo-co-support/?from=1&to=2", **HTMX)
    assert "ANOTHER-SECRET" not in html


def test_what_is_a_secret_today_is_hidden_in_older_versions(viewer: Client) -> None:
    save_twin(text="# the key is TODAY-SECRET\n" + yaml_of(document(initialState={"note": "TODAY-SECRET"})))
    save_twin(document=document(secrets=["TODAY-SECRET"]))

    for path in ("?version=1", "text/?version=1", "?from=1&to=2"):
        assert "TODAY-SECRET" not in get(viewer, f"/twins/shop/{path}")


def test_a_difference_in_a_secret_alone_does_not_claim_that_nothing_differs(viewer: Client) -> None:
    for secret in ("SECRET-ONE", "SECRET-TWO"):
        save_twin(document=document(secrets=[secret]))

    assert "a change of one alone is not seen here" in get(viewer, "/twins/shop/?from=1&to=2")


def test_without_a_secret_the_text_is_as_it_was_typed(viewer: Client) -> None:
    text = "# why this twin is so\n" + yaml_of(document())
    save_twin(text=text)

    response = viewer.get("/twins/shop/text/")

    assert response.content.decode() == text
    assert response["Content-Disposition"] == 'attachment; filename="shop-1.yaml"'


def yaml_of(value: dict[str, Any]) -> str:
    from twins.documents import to_yaml

    return to_yaml(value)


# ------------------------------------------------------------------------ coverage


def test_the_coverage_of_the_demo(viewer: Client, demo: dict[str, Any]) -> None:
    html = get(viewer, "/twins/demo-co-support/")
    rows, told = matrix(html), cards(html)

    assert {fault: cell for fault, cell in enumerate(rows["refund_payment"]) if cell != "· none"} == {
        1: "1 scenario",
        3: "1 scenario",
        18: "1 scenario",
    }
    assert [at for at, cell in enumerate(rows["send_email"]) if cell == "GAP"] == [1, 18]
    assert set(rows["lookup_order"]) == {"· none"}
    assert rows["export_customer_data"] == ["an agent’s call is refused before any fault can act"]
    assert set(told) == {"refund_payment", "send_email"}
    assert "timeout_after_mutation refund-timeout-after-mutation call 1" in told["refund_payment"]
    assert "GAP" not in told["refund_payment"]
    assert 'href="/scenarios/refund-tool-success-lie/"' in html
    assert plain(html).count("send_email: no scenario lets it time out after the effect, and none lets") == 1


def test_a_twin_without_scenarios_is_all_gaps(viewer: Client) -> None:
    save_twin(document=document(tools={"pay": writer(), "look": {"handler": {"kind": "read", "path": "a"}}}))

    html = get(viewer, "/twins/shop/")

    assert "No scenario runs on this twin" in html
    assert [at for at, cell in enumerate(matrix(html)["pay"]) if cell == "GAP"] == [1, 18]
    assert "GAP" not in matrix(html)["look"]
    assert "GAP timeout_after_mutation no scenario lets it time out after the effect" in cards(html)["pay"]


def test_only_current_versions_of_scenarios_of_this_twin_count(viewer: Client) -> None:
    save_twin(document=document(tools={"pay": writer()}))
    save_twin(document=document("other", tools={"pay": writer()}))
    scenario("elsewhere", "other", ("pay", "timeout_after_mutation"))
    scenario("changed", "shop", ("pay", "timeout_after_mutation"))
    scenario("changed", "shop", ("pay", "success_without_mutation"))

    row = matrix(get(viewer, "/twins/shop/"))["pay"]

    assert (row[1], row[18]) == ("GAP", "1 scenario")


def test_a_condition_does_not_tell_a_secret(viewer: Client) -> None:
    save_twin(document=document(tools={"pay": writer()}, secrets=["PLANTED-SECRET"]))
    rule = {"target": "pay", "when": {"argsMatch": {"a": "x" * 185 + "PLANTED-SECRET"}}}
    scenario("s", faults=[{**rule, "behavior": {"type": "delay"}}])

    assert "PLANTED" not in get(viewer, "/twins/shop/")


# ------------------------------------------------------------------ rights and cost


@pytest.mark.parametrize(
    ("role", "is_staff", "may_edit"),
    [("viewer", True, False), ("reviewer", True, False), ("editor", False, False), ("editor", True, True)],
)
def test_only_who_may_edit_is_led_to_the_admin(
    person: Callable[..., Client], role: str, is_staff: bool, may_edit: bool
) -> None:
    save_twin(document=document())
    client = person(role)
    get_user_model().objects.filter(username=role).update(is_staff=is_staff)

    html = get(client, "/twins/shop/") + get(client, "/twins/")

    assert (f'href="/admin/twins/twin/{Twin.objects.get().pk}/change/"' in html) is may_edit
    assert ('href="/admin/twins/twin/add/"' in html) is may_edit


def queries(client: Client, path: str, **headers: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        get(client, path, **headers)
    return len(captured)


def test_the_number_of_queries_does_not_grow(viewer: Client) -> None:
    def grow(count: int) -> None:
        for number in range(count):
            save_twin(document=document(f"twin-{number}"))
            tools = {f"t{tool}": writer() for tool in range(number + 1)}
            save_twin(document=document(tools=tools, initialState={"number": number}))
            scenario(f"s-{number}", "shop", ("*", "delay"), ("t0", "timeout_after_mutation"))

    paths = ("/twins/", "/twins/shop/", "/twins/shop/?version=1", "/twins/shop/?from=1&to=1")
    grow(2)
    few = [queries(viewer, path) for path in paths]
    grow(40)
    many = [queries(viewer, path) for path in paths]

    assert few == many
    assert max(many) <= 9


def test_a_fragment_costs_less_than_the_page(viewer: Client, demo: dict[str, Any]) -> None:
    path = "/twins/demo-co-support/?from=1&to=1"

    assert queries(viewer, path, **HTMX) < queries(viewer, path)
