"""The refund demo on its stage, as functions."""

from demo.refund.planner import SupportRefundAgent
from scenarios.documents.agent import AgentManifest
from scenarios.documents.scenario import Scenario
from tests.demo.staging import Played, Stage
from twins.engine.definition import Definition

__all__ = [
    "FOLDER",
    "SCENARIOS",
    "VERSIONS",
    "Played",
    "definition",
    "manifest",
    "play",
    "play_with",
    "scenario",
    "told",
]

STAGE = Stage("refund", SupportRefundAgent)
FOLDER, SCENARIOS, VERSIONS = STAGE.folder, STAGE.scenarios, STAGE.versions


def definition() -> Definition:
    return STAGE.definition


def scenario(name: str) -> Scenario:
    return STAGE.scenario(name)


def manifest(version: str) -> AgentManifest:
    return STAGE.manifest(version)


play, play_with, told = STAGE.play, STAGE.play_with, STAGE.told
