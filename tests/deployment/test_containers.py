"""The container files, which cannot be run here: parsed, and held to what the rest of the project says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
INSTRUCTIONS = re.findall(r"^([A-Z]+) ((?:.*\\\n)*.*)$", DOCKERFILE, re.MULTILINE)
OUR_OWN = ("migrate", "web", "worker", "beat")


def test_the_image_runs_as_nobody_in_particular() -> None:
    users = [argument for instruction, argument in INSTRUCTIONS if instruction == "USER"]
    assert users == ["10001"]
    names = [instruction for instruction, _ in INSTRUCTIONS]
    assert names.index("USER") < names.index("CMD")
    assert "HEALTHCHECK" in names


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    copied = [
        name
        for instruction, argument in INSTRUCTIONS
        if instruction == "COPY"
        for name in argument.split()[:-1]
    ]
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert set(copied) == kept
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_has_every_room_and_the_pinned_python() -> None:
    rooms = {path.parent.name for path in ROOT.glob("*/apps.py")} | {"agenttwin_site", "demo"}
    assert rooms <= {argument.split()[0] for instruction, argument in INSTRUCTIONS if instruction == "COPY"}
    assert "FROM python:3.11" in DOCKERFILE


def test_compose_starts_every_part() -> None:
    assert set(COMPOSE["services"]) == {*OUR_OWN, "postgres", "rabbitmq"}
    for name in OUR_OWN:
        service = COMPOSE["services"][name]
        assert service["image"] == "agenttwin"
        assert service["cap_drop"] == ["ALL"]
        assert service["depends_on"]["postgres"] == {"condition": "service_healthy"}
    for name in ("web", "worker", "beat"):
        assert COMPOSE["services"][name]["depends_on"]["migrate"]["condition"].endswith("successfully")


def test_compose_holds_no_secret_and_opens_no_port_to_the_world() -> None:
    text = (ROOT / "compose.yaml").read_text()
    for name in re.findall(r"(?:PASSWORD|PASS|KEY): (.*)", text):
        assert name.startswith("${"), name
    for service in COMPOSE["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


@pytest.mark.parametrize("name", OUR_OWN)
def test_compose_sets_only_variables_that_are_read(name: str) -> None:
    read = "".join(path.read_text() for path in (ROOT / "agenttwin_site").rglob("*.py"))
    for variable in COMPOSE["services"][name]["environment"]:
        # uvicorn reads this one itself.
        assert variable == "FORWARDED_ALLOW_IPS" or f'"{variable}"' in read, variable
