"""The prompt file: its version and its hash belong together."""

from __future__ import annotations

import hashlib

import jsonschema
import pytest
import yaml

from evaluations.judges.prompt import PROMPT_FILE, read_prompt, shipped_prompt
from tests.judges.building import verdict, without

# A changed file needs a new version and a new line here; lines are never changed, because verdicts name them.
VERSIONS = {
    "1": "371487fd9877b301983eeff9af6bca7fd7f9f41fa3a0d7951f71069cf639ad85",
}


def test_a_change_of_the_prompt_is_a_new_version() -> None:
    prompt = shipped_prompt()
    assert prompt.sha256 == hashlib.sha256(PROMPT_FILE.read_bytes()).hexdigest()
    assert VERSIONS.get(prompt.version) == prompt.sha256


def test_the_schema_is_of_the_strict_kind_that_providers_ask_for() -> None:
    def check(schema: dict) -> None:
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False
            assert sorted(schema["required"]) == sorted(schema["properties"])
            for inner in schema["properties"].values():
                check(inner)
        if schema.get("type") == "array":
            check(schema["items"])

    schema = dict(shipped_prompt().schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    check(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(verdict())
    assert not any(validator.is_valid(without(name)) for name in verdict())


def test_a_criterion_that_is_not_in_the_file_has_no_text() -> None:
    prompt = shipped_prompt()
    assert prompt.criterion_text("general")
    assert prompt.criterion_text("no such criterion") == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 1}, "version"),
        ({"request": "{criterion} {criterion_text}"}, "blocks"),
        ({"request": "{criterion} {criterion_text} {blocks} {blocks}"}, "exactly once"),
        ({"system": None}, "system"),
    ],
)
def test_a_file_that_is_no_prompt_is_refused(change: dict, said: str) -> None:
    value = {**yaml.safe_load(PROMPT_FILE.read_bytes()), **change}
    value = {name: item for name, item in value.items() if item is not None}
    with pytest.raises(ValueError, match=said):
        read_prompt(yaml.safe_dump(value).encode())
