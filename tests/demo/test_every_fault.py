"""No fault of any tool can make a version of the agent crash, hang or claim a refund twice over."""

import pytest

from scenarios.documents.scenario import load_scenario
from tests.demo.playing import FOLDER, VERSIONS, definition, manifest, play_with
from twins.documents.source import read_source
from twins.engine.faults import FAULTS

TEXT = (FOLDER / "scenarios" / "refund-happy-path.yaml").read_text()
TOOLS = ("lookup_order", "get_refund_policy", "refund_payment", "send_email", "escalate_to_human", "*")


def faulty(fault: str, tool: str):
    document = dict(read_source(TEXT).value)
    behavior = {"type": fault, "delayMs": 1} | (
        {"body": {"odd": [1]}} if fault == "semantic_bad_response" else {}
    )
    document["spec"] = document["spec"] | {"faults": [{"target": tool, "behavior": behavior}]}
    return load_scenario(document, twin=definition())


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_version_ends_with_an_answer_and_the_careful_ones_never_pay_twice(
    fault: str, tool: str
) -> None:
    for version in VERSIONS:
        played = play_with(manifest(version), faulty(fault, tool))
        assert played.output
        assert len(played.tools) <= 10
        if version in ("1.2.4", "1.3.1"):
            assert played.evidence.final.root["orders"]["ORD-1001"]["refund_count"] <= 1
            assert "no-double-refund" not in played.failing
