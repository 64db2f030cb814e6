"""``manage.py seed_demo``: documents, comparisons and gate decisions of the demos, by everybody's services.

Idempotent: a second run stores nothing and says so. A demo document that was edited meanwhile gets the
shipped content back as a new version (docs/decisions/0602). Exit status 4: a comparison could not be run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, transaction

from evaluations.dispatch import broker_is_configured
from evaluations.errors import EvaluationError
from evaluations.models import Case, Comparison, GateDecision, GatePolicyVersion, PairedCase, Side, Verdict
from evaluations.services.agents import save_agent
from evaluations.services.comparisons import start_comparison
from evaluations.services.demo_examples import calibrate_fake, files_in, load_labelled
from evaluations.services.gate import DECIDABLE, evaluate
from evaluations.services.gate_policies import activate_gate_policy, save_gate_policy
from evaluations.services.waiting import is_open, run_here
from scenarios.services import save_scenario
from scenarios.services.datasets import save_dataset
from twins.documents.problems import DocumentError, format_problem
from twins.services import save_twin

NOT_RUN = 4


@dataclass(frozen=True, slots=True)
class Demo:
    """One agent's demo: its folder below demo/, the agent, the folder's dataset, the gate policy, and the
    pairs (baseline, candidate) to compare and decide on; without a baseline the candidate runs alone.
    """

    folder: str
    agent: str
    dataset: str
    policy: str
    pairs: tuple[tuple[str | None, str], ...]
    # Below demo/: examples that people labelled, for the judge of this demo to be held against.
    labelled: str = ""

    @property
    def name(self) -> str:
        """What ``--demo`` calls it; the agents of one name are loaded together."""
        return self.folder.split("/")[0]

    @property
    def path(self) -> Path:
        return Path(settings.BASE_DIR) / "demo" / self.folder

    def documents(self) -> Iterator[tuple[Path, Callable[..., tuple[Any, bool]]]]:
        """Each file with the service that saves it; a twin comes before the scenarios that name it, those
        before the dataset that lists them. A demo without a policy is decided on by the default one.
        """
        yield self.path / "twin.yaml", save_twin
        for path in sorted((self.path / "agents").glob("*.yaml")):
            yield path, save_agent
        for path in sorted((self.path / "scenarios").glob("*.yaml")):
            yield path, save_scenario
        yield self.path / "dataset.yaml", save_dataset
        if (policy := self.path / "policy.yaml").exists():
            yield policy, _save_policy


DEMOS = (
    Demo(
        folder="refund",
        agent="support-refund-agent",
        dataset="refund-regression-suite",
        policy="default",
        pairs=(("1.2.4", "1.3.0"), ("1.3.0", "1.3.1"), ("1.2.4", "1.3.1")),
        labelled="labelled",
    ),
    Demo(
        folder="approved_refunds",
        agent="approved-refunds-agent",
        dataset="approved-refunds",
        policy="approved-refunds",
        pairs=((None, "1.0.0"), ("1.0.0", "1.1.0"), ("1.1.0", "1.1.1"), ("1.0.0", "0.1.0")),
    ),
    Demo(
        folder="reminders_and_topups/reminders",
        agent="reminder-agent",
        dataset="invoice-reminders",
        policy="invoice-reminders",
        pairs=((None, "1.0.0"), ("1.0.0", "1.1.0"), ("1.0.0", "1.2.0")),
    ),
    Demo(
        folder="reminders_and_topups/topups",
        agent="top-up-agent",
        dataset="wallet-payments",
        policy="wallet-payments",
        pairs=((None, "1.0.0"), ("1.0.0", "1.1.0"), ("1.0.0", "1.2.0")),
    ),
)


class Command(BaseCommand):
    help = "Load the demos: their twins, agent versions and scenarios, and the comparisons between them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--no-comparisons", action="store_true", help="load the documents and compare nothing"
        )
        parser.add_argument(
            "--demo",
            action="append",
            choices=list(dict.fromkeys(demo.name for demo in DEMOS)),
            help="only this one; can be given several times (default: all)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            for demo in DEMOS:
                if options["demo"] and demo.name not in options["demo"]:
                    continue
                self._load(demo)
                if demo.labelled:
                    self._calibrate(Path(settings.BASE_DIR) / "demo" / demo.labelled)
                if not options["no_comparisons"]:
                    for baseline, candidate in demo.pairs:
                        self._compare(demo, baseline, candidate)
        except DatabaseError as problem:
            detail = f"the database cannot be used ({str(problem).strip()}); has it been migrated?"
            raise CommandError(detail, returncode=NOT_RUN) from problem

    @transaction.atomic
    def _load(self, demo: Demo) -> None:
        new, known = [], 0
        for path, save in demo.documents():
            try:
                version, is_new = save(text=path.read_text(encoding="utf-8"))
            except DocumentError as refused:
                name = path.relative_to(settings.BASE_DIR).as_posix()
                lines = [format_problem(name, problem) for problem in refused.problems]
                raise CommandError("\n".join(lines)) from None
            if is_new:
                kind = str(version._meta.verbose_name).removesuffix(" version")
                new.append(f"{kind} {version}")
            else:
                known += 1
        documents = "document" if len(new) == 1 else "documents"
        self.stdout.write(f"demo/{demo.folder}: {len(new) or 'no'} new {documents}, {known} already known")
        for name in new:
            self.stdout.write(f"  new: {name}")

    def _calibrate(self, folder: Path) -> None:
        for path in files_in(folder):
            loaded = load_labelled(path)
            made = f"{loaded.examples or 'no'} new examples, {loaded.labels or 'no'} new labels"
            self.stdout.write(f"{loaded.version}: {made}")
            calibration = calibrate_fake(loaded.version, here=not broker_is_configured())
            if calibration is not None:
                told = calibration.decision or "left to the workers"
                self.stdout.write(f"calibration {calibration.pk} of {calibration.judge_label}: {told}")

    def _compare(self, demo: Demo, baseline: str | None, candidate: str) -> None:
        against = "alone" if baseline is None else f"against-{baseline}"
        has_workers = broker_is_configured()
        try:
            comparison, is_new = start_comparison(
                agent=demo.agent,
                baseline=baseline,
                candidate=candidate,
                dataset=demo.dataset,
                key=f"demo-{demo.dataset}-{candidate}-{against}",
                wake=has_workers,
            )
            # One that a stopped run left behind is finished here as well.
            if not has_workers and is_open(comparison.pk):
                run_here(comparison.pk)
        except EvaluationError as problem:
            raise CommandError(problem.detail, returncode=NOT_RUN) from None
        comparison.refresh_from_db()
        self.stdout.write(
            f"comparison {comparison.pk}, {demo.agent} {candidate} {against.replace('-', ' ', 1)}: "
            f"{'new' if is_new else 'known'}, {_state(comparison)}{_decided(comparison, demo.policy)}"
        )


def _save_policy(*, text: str) -> tuple[GatePolicyVersion, bool]:
    """The shipped policy, in force: also where somebody has put another version of it in force meanwhile."""
    version, is_new = save_gate_policy(text=text)
    if version.policy.current_version_id != version.pk:
        activate_gate_policy(version=version, actor=None, note="shipped with the demo", by_operator=True)
    return version, is_new


def _decided(comparison: Comparison, policy: str) -> str:
    """What the gate says of it; decided on once, as long as nobody asks for another revision."""
    if comparison.state not in DECIDABLE:
        return ""
    found = GateDecision.objects.filter(comparison=comparison, policy__name=policy).first()
    return f", gate: {(found or evaluate(comparison_id=comparison.pk, policy=policy)).outcome}"


def _state(comparison: Comparison) -> str:
    """How far it is, and how many cases of which class where it has ended."""
    if is_open(comparison.pk):
        return "left to the workers"
    classes = PairedCase.objects.filter(comparison=comparison).exclude(classification=None)
    counted = Counter(classes.values_list("classification", flat=True))
    found = ", ".join(f"{number} {name}" for name, number in sorted(counted.items()))
    return f"{comparison.state}{f' ({found})' if found else ''}, passed {_passed(comparison)}"


def _passed(comparison: Comparison) -> str:
    """How many of how many cases pass, ``7/7 -> 2/7``; of the candidate alone where there is no baseline."""
    cases = Case.objects.filter(run__comparison=comparison).values_list("run__side", "verdict")
    counted = Counter((side, verdict == Verdict.PASSED) for side, verdict in cases)
    sides = [
        side
        for side in (Side.BASELINE, Side.CANDIDATE)
        if (side, True) in counted or (side, False) in counted
    ]
    return " -> ".join(
        f"{counted[side, True]}/{counted[side, True] + counted[side, False]}" for side in sides
    )
