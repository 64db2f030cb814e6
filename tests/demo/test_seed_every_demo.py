"""`seed_demo` with all demos: every agent's documents once, and the figures of each from stored rows."""

from collections import Counter
from io import StringIO

import pytest
from django.core.management import call_command

from evaluations.models import AgentVersion, Case, Comparison

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_broker(settings) -> None:
    settings.BROKER_IS_CONFIGURED = False


def seed(*options: str) -> str:
    said = StringIO()
    call_command("seed_demo", *options, stdout=said)
    return said.getvalue()


def comparison(agent: str, baseline: str, candidate: str) -> Comparison:
    return Comparison.objects.get(agent__name=agent, baseline__version=baseline, candidate__version=candidate)


def passed(agent: str, baseline: str, candidate: str) -> tuple[int, int]:
    """How many cases each side of a comparison passed."""
    cases = Case.objects.filter(run__comparison=comparison(agent, baseline, candidate), verdict="PASSED")
    sides = Counter(cases.values_list("run__side", flat=True))
    return sides["BASELINE"], sides["CANDIDATE"]


def test_the_figures_of_every_demo_come_out_of_the_stored_rows() -> None:
    first = seed()
    assert {found.state for found in Comparison.objects.all()} == {"COMPLETED"}
    assert passed("support-refund-agent", "1.2.4", "1.3.0") == (9, 6)
    assert passed("approved-refunds-agent", "1.0.0", "1.1.0") == (7, 2)
    assert passed("approved-refunds-agent", "1.1.0", "1.1.1") == (2, 7)
    assert passed("approved-refunds-agent", "1.0.0", "0.1.0") == (7, 1)
    assert passed("reminder-agent", "1.0.0", "1.1.0") == (4, 0)
    assert passed("reminder-agent", "1.0.0", "1.2.0") == (4, 0)
    # Nine tasks: one ten times, seven three times, one once; "usually" fails three of the ten.
    assert passed("top-up-agent", "1.0.0", "1.1.0") == (32, 0)
    assert passed("top-up-agent", "1.0.0", "1.2.0") == (32, 29)
    weekly = Case.objects.filter(
        run__comparison=comparison("top-up-agent", "1.0.0", "1.2.0"),
        run__side="CANDIDATE",
        pair__scenario_name="weekly-top-up",
    )
    assert (weekly.count(), weekly.filter(verdict="PASSED").count()) == (10, 7)
    compared = Comparison.objects.count()
    again = seed()
    assert Comparison.objects.count() == compared == again.count("known, COMPLETED")
    assert first.count("new, COMPLETED") == compared
    assert ": new" not in again
    assert set(Case.objects.values_list("run__model_kind", flat=True)) == {"deterministic-fake"}


@pytest.mark.parametrize(
    ("demo", "agents"),
    [
        ("approved_refunds", {"approved-refunds-agent"}),
        ("reminders_and_topups", {"reminder-agent", "top-up-agent"}),
    ],
)
def test_one_demo_alone_can_be_loaded(demo: str, agents: set[str]) -> None:
    seed("--demo", demo, "--no-comparisons")
    assert set(AgentVersion.objects.values_list("agent__name", flat=True)) == agents
