"""The smallest valid rows, for tests that are about rows and not about documents."""

import hashlib
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.contrib.auth import get_user_model
from django.utils import timezone

from evaluations.models import (
    Agent,
    AgentVersion,
    Calibration,
    CalibrationResult,
    Case,
    Comparison,
    Criterion,
    CriterionVersion,
    DatasetUse,
    Example,
    ExpectationResult,
    GateDecision,
    GateOverride,
    GatePolicy,
    GatePolicyVersion,
    JudgeVerdict,
    Label,
    PairedCase,
    Run,
    StateSnapshot,
    SuiteCheck,
    SuiteCheckCase,
    ToolCall,
)
from scenarios.models import (
    Dataset,
    DatasetCase,
    DatasetVersion,
    Scenario,
    ScenarioApproval,
    ScenarioVersion,
)
from twins.engine.values import digest
from twins.models import Twin, TwinVersion


def twin_version(name: str = "shop", number: int = 1, **fields: Any) -> TwinVersion:
    twin, _ = Twin.objects.get_or_create(name=name)
    fields.setdefault(
        "document", {"kind": "TwinDefinition", "metadata": {"name": name}, "spec": {"tools": {}}}
    )
    # Of its content, as always: a process remembers by it what a version holds, from one test to the next.
    fields.setdefault("digest", digest(fields["document"]))
    version = TwinVersion.objects.create(
        twin=twin, number=number, source_text="kind: TwinDefinition\n", **fields
    )
    Twin.objects.filter(pk=twin.pk).update(current_version=version)
    return version


def scenario_version(name: str = "refund", number: int = 1, **fields: Any) -> ScenarioVersion:
    scenario, _ = Scenario.objects.get_or_create(name=name)
    values = {"severity": "high", "twin_name": "shop", "document": {"kind": "Scenario"}, **fields}
    version = ScenarioVersion.objects.create(
        scenario=scenario, number=number, digest=f"{number:064d}", source_text="kind: Scenario\n", **values
    )
    Scenario.objects.filter(pk=scenario.pk).update(current_version=version)
    return version


def scenario_approval(**fields: Any) -> ScenarioApproval:
    """A person's word for a generated version."""
    version = fields.pop("scenario_version", None) or scenario_version("generated", source="generated")
    person, _ = get_user_model().objects.get_or_create(username="approver")
    return ScenarioApproval.objects.create(
        scenario_version=version, person=person, note="As it should be.", **fields
    )


def dataset_version(name: str = "suite", number: int = 1, **fields: Any) -> DatasetVersion:
    """A dataset of one case, whose hash is none."""
    dataset, _ = Dataset.objects.get_or_create(name=name)
    values = {"purpose": "development", "document": {"kind": "Dataset"}, **fields}
    version = DatasetVersion.objects.create(
        dataset=dataset,
        number=number,
        sha256=f"{number:064d}",
        digest=f"{number:064d}",
        source_text="kind: Dataset\n",
        case_count=1,
        **values,
    )
    scenario = ScenarioVersion.objects.first() or scenario_version()
    DatasetCase.objects.create(version=version, position=0, case_id="C-1", scenario_version=scenario)
    Dataset.objects.filter(pk=dataset.pk).update(current_version=version)
    return version


def suite_check(**fields: Any) -> SuiteCheck:
    """A check of one case by one control agent."""
    version = fields.pop("dataset_version", None) or dataset_version()
    check = SuiteCheck.objects.create(dataset_version=version, **fields)
    SuiteCheckCase.objects.create(
        check_run=check,
        control="refuses-everything",
        dataset_case=version.cases.get(),
        twin_version=TwinVersion.objects.first() or twin_version(),
        verdict="FAILED",
    )
    return check


def dataset_use(of: Comparison | None = None, **fields: Any) -> DatasetUse:
    of = of or comparison(dataset_version=dataset_version())
    values = {"dataset_version": of.dataset_version, "agent_version": of.candidate, **fields}
    return DatasetUse.objects.create(comparison=of, **values)


def agent_version(name: str = "helper", version: str = "1.0.0", **fields: Any) -> AgentVersion:
    agent, _ = Agent.objects.get_or_create(name=name)
    values = {"document": {"kind": "Agent"}, "source_text": "kind: Agent\n", **fields}
    row = AgentVersion.objects.create(agent=agent, version=version, digest="a" * 64, **values)
    Agent.objects.filter(pk=agent.pk).update(current_version=row)
    return row


def comparison(**fields: Any) -> Comparison:
    """A comparison with its two runs and no case."""
    if "baseline" not in fields:
        fields["baseline"] = AgentVersion.objects.first() or agent_version()
    baseline = fields.pop("baseline")
    candidate = fields.pop("candidate", baseline)
    row = Comparison.objects.create(agent=baseline.agent, baseline=baseline, candidate=candidate, **fields)
    Run.objects.create(comparison=row, side="BASELINE", agent_version=baseline)
    Run.objects.create(comparison=row, side="CANDIDATE", agent_version=candidate)
    return row


def pair(of: Comparison | None = None, **fields: Any) -> PairedCase:
    of = of or comparison()
    scenario = fields.pop("scenario_version", None) or ScenarioVersion.objects.first() or scenario_version()
    twin = fields.pop("twin_version", None) or TwinVersion.objects.first() or twin_version()
    snapshot, _ = StateSnapshot.objects.get_or_create(digest="5" * 64, defaults={"state": {"orders": {}}})
    values = {
        "trial": 1 + of.pairs.filter(scenario_version=scenario).count(),
        "seed": 7,
        "position": of.pairs.count(),
        "scenario_name": scenario.scenario.name,
        "severity": scenario.severity,
        "severity_rank": scenario.severity_rank,
        **fields,
    }
    return PairedCase.objects.create(
        comparison=of, scenario_version=scenario, twin_version=twin, initial_state=snapshot, **values
    )


def case(of: PairedCase | None = None, side: str = "BASELINE", **fields: Any) -> Case:
    of = of or pair()
    return Case.objects.create(run=of.comparison.runs.get(side=side), pair=of, **fields)


def finished_case(of: PairedCase | None = None, side: str = "BASELINE", **fields: Any) -> Case:
    """A case with one call and one result that failed."""
    values = {
        "state": "FINISHED",
        "verdict": "FAILED",
        "effective_verdict": "FAILED",
        "attempts": 1,
        "tool_call_count": 1,
        "answer": {"output": "done", "claimed_outcome": "SUCCESS"},
        "claimed_outcome": "SUCCESS",
        "finished_at": timezone.now(),
        **fields,
    }
    row = case(of, side, **values)
    tool_call(row)
    result(row)
    return row


def judge_verdict(of: ExpectationResult | None = None, **fields: Any) -> JudgeVerdict:
    """A verdict of a language model that passes."""
    values = {
        "result": of or result(case(), expectation_id="says-so", type="semantic", status="PASS"),
        "expectation_id": "says-so",
        "status": "PASS",
        "provider": "anthropic",
        "model": "small",
        "judge_label": "llm",
        "prompt_version": "1",
        "prompt_sha256": "a" * 64,
        "criterion": "honesty",
        "rubric_sha256": "b" * 64,
        "threshold": 0.7,
        "request_digest": "c" * 64,
        "shown": "Grade this.",
        "answered": "{}",
        "score": 0.9,
        "label": "pass",
        "confidence": 0.8,
        "reason": "It says so.",
        "attempts": 1,
        **fields,
    }
    return JudgeVerdict.objects.create(**values)


def tool_call(of: Case, seq: int = 1, **fields: Any) -> ToolCall:
    values = {
        "call_number": seq,
        "tool": "refund_payment",
        "arguments": {"order_id": "ORD-1"},
        "http_status": 200,
        "status": "ok",
        "response": {"result": {"ok": True}},
        "risk": "WRITE_IRREVERSIBLE",
        "mutated": True,
        "expects_mutation": True,
        **fields,
    }
    return ToolCall.objects.create(case=of, seq=seq, **values)


def result(of: Case, expectation_id: str = "e1", **fields: Any) -> ExpectationResult:
    values = {
        "type": "state",
        "critical": True,
        "status": "FAIL",
        "effective_status": "FAIL",
        "reason": "expected 1, got 2",
        **fields,
    }
    return ExpectationResult.objects.create(
        case=of,
        position=of.results.count(),
        expectation_id=expectation_id,
        **values,
    )


def criterion_version(name: str = "handover", number: int = 1, **fields: Any) -> CriterionVersion:
    criterion, _ = Criterion.objects.get_or_create(name=name)
    rubric = fields.pop("rubric", f"The reply says that a colleague takes over. ({number})")
    values = {"rubric_sha256": hashlib.sha256(rubric.encode()).hexdigest(), **fields}
    version = CriterionVersion.objects.create(criterion=criterion, number=number, rubric=rubric, **values)
    Criterion.objects.filter(pk=criterion.pk).update(current_version=version)
    return version


def example(of: CriterionVersion | None = None, **fields: Any) -> Example:
    of = of or criterion_version()
    number = of.examples.count() + 1
    values = {
        "digest": f"{number:064d}",
        "material": {"answer": f"Answer {number}.", "customer_message": "", "tool_calls": []},
        "source": "by hand",
        **fields,
    }
    return Example.objects.create(criterion_version=of, **values)


def label(of: Example | None = None, person: str = "ann", value: str = "PASS", **fields: Any) -> Label:
    account, _ = get_user_model().objects.get_or_create(username=person)
    return Label.objects.create(example=of or example(), person=account, label=value, **fields)


def calibration(of: CriterionVersion | None = None, **fields: Any) -> Calibration:
    values = {
        "provider": "deterministic-fake",
        "prompt_version": "1",
        "prompt_sha256": "f" * 64,
        "judge_label": "deterministic-fake",
        "threshold": 0.7,
        **fields,
    }
    return Calibration.objects.create(criterion_version=of or criterion_version(), **values)


def completed_calibration(of: CriterionVersion | None = None, **fields: Any) -> Calibration:
    """A calibration over one example, on which judge and people agree; not enough to be calibrated."""
    of = of or criterion_version()
    values = {
        "state": "COMPLETED",
        "counted": 1,
        "agreed": 1,
        "errors": 0,
        "is_calibrated": False,
        "decision": "Not calibrated, because 1 example is labelled (20 are needed).",
        "finished_at": timezone.now(),
        **fields,
    }
    row = calibration(of, **values)
    CalibrationResult.objects.create(
        calibration=row,
        position=0,
        example=example(of),
        labels=[{"person": "ann", "label": "PASS"}],
        truth="PASS",
        outcome="PASS",
        agrees=True,
        score=1.0,
        confidence=1.0,
        reason="It says so.",
    )
    return row


def gate_policy_version(name: str = "default", number: int = 1, **fields: Any) -> GatePolicyVersion:
    policy, _ = GatePolicy.objects.get_or_create(name=name)
    values = {"document": {"kind": "GatePolicy"}, "source_text": "kind: GatePolicy\n", **fields}
    version = GatePolicyVersion.objects.create(
        policy=policy, number=number, digest=f"{number:064d}", **values
    )
    GatePolicy.objects.filter(pk=policy.pk).update(current_version=version)
    return version


def gate_decision(over: Comparison | None = None, **fields: Any) -> GateDecision:
    """A BLOCK whose content and hash are none."""
    version = fields.pop("policy_version", None) or gate_policy_version()
    values = {
        "comparison": over or comparison(state="COMPLETED"),
        "policy": version.policy,
        "policy_version": version,
        "revision": 1,
        "outcome": "BLOCK",
        "subject": "a" * 64,
        "content": "{}",
        "sha256": "b" * 64,
        "decided_at": timezone.now(),
        **fields,
    }
    return GateDecision.objects.create(**values)


def gate_override(**fields: Any) -> GateOverride:
    """In force for a day."""
    values = {
        "decision": fields.get("decision") or gate_decision(),
        "person": get_user_model().objects.get_or_create(username="boss")[0],
        "reason": "we know and accept it",
        "ticket": "OPS-1",
        "expires_at": timezone.now() + timedelta(days=1),
        "form_token": uuid4(),
        **fields,
    }
    return GateOverride.objects.create(**values)
