"""A request for a comparison, read once: what was asked for, and the digest that makes it comparable."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from evaluations.errors import RequestError

MAX_TRIALS = 1000
MAX_KEY_CHARACTERS = 200
_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """What a person or a pipeline asked for, before anything is looked up.

    `scenarios` and `tags` select the union of what they name; both empty selects every scenario of the agent.
    `baseline` None tries the candidate alone. `trials` None means as many as each scenario says.
    """

    agent: str
    baseline: str | None
    candidate: str
    scenarios: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    dataset: str | None = None
    trials: int | None = None
    seed: int = 0

    @property
    def selection(self) -> dict[str, object]:
        return {"scenarios": list(self.scenarios), "tags": list(self.tags), "dataset": self.dataset}

    @property
    def digest(self) -> str:
        """Equal for equal requests, whatever the order in which scenarios and tags were named."""
        content = {
            "agent": self.agent,
            "baseline": self.baseline,
            "candidate": self.candidate,
            "trials": self.trials,
            "seed": self.seed,
            **self.selection,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_request(
    *,
    agent: str,
    baseline: str | None,
    candidate: str,
    scenarios: Iterable[str] = (),
    tags: Iterable[str] = (),
    dataset: str | None = None,
    trials: int | None = None,
    seed: int = 0,
) -> ComparisonRequest:
    """The request with names sorted and repeated ones dropped.

    Raises:
        RequestError: every value that cannot be meant, at once.
    """
    problems = [
        f"{name}: must not be empty"
        for name, value in (("agent", agent), ("baseline", baseline), ("candidate", candidate))
        if not value and value is not None
    ]
    scenarios, tags = tuple(sorted(set(scenarios))), tuple(sorted(set(tags)))
    problems += [
        f"{name}: must not be empty"
        for name, chosen in (("scenario", scenarios), ("tag", tags))
        if "" in chosen
    ]
    named = [("agent", agent), ("baseline", baseline), ("candidate", candidate), ("dataset", dataset)]
    named += [("scenario", one) for one in scenarios] + [("tag", one) for one in tags]
    problems += [
        f"{name}: no name has such characters, got {value!r}"
        for name, value in named
        if value is not None and not _storable(value)
    ]
    if trials is not None and not (_whole(trials) and 1 <= trials <= MAX_TRIALS):
        problems.append(f"trials: must be a whole number from 1 to {MAX_TRIALS}, got {trials!r}")
    if not (_whole(seed) and -_INT64 <= seed < _INT64):
        problems.append(f"seed: must be a whole number of at most 64 bits, got {seed!r}")
    if problems:
        raise RequestError(problems)
    return ComparisonRequest(agent, baseline, candidate, scenarios, tags, dataset, trials, seed)


def read_key(key: str | None) -> str | None:
    """The idempotency key; None when none was given.

    Raises:
        RequestError: empty, or longer than 200 characters.
    """
    if key is None:
        return None
    if not key.strip() or len(key) > MAX_KEY_CHARACTERS or not key.isprintable():
        raise RequestError([f"key: must be 1 to {MAX_KEY_CHARACTERS} printable characters"])
    return key


def _storable(text: str) -> bool:
    """Whether a database can be asked for it: NUL and lone surrogates are in no text it holds."""
    return "\x00" not in text and text.encode("utf-8", "ignore").decode("utf-8") == text


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
