"""What the scripted top-up agent understands of its instructions. Pure; see `demo.scripted`.

A rule that is only given "usually" holds in `USUALLY` of the runs; which ones, the seed of the run decides.
"""

import hashlib
import re
from dataclasses import dataclass

from demo.scripted import Directive, follow

USUALLY = 0.7


@dataclass(frozen=True, slots=True)
class Rules:
    """How the agent behaves. The defaults are those of an agent that was told nothing."""

    allowlist: bool = False
    cap: bool = False
    pin: bool = False
    consent: bool = False
    notes_are_text: bool = False
    paid_once: bool = False
    repeat: bool = False
    # How likely a payment carries a key: never, usually or always.
    key: float = 0.0


def _how_often(match: re.Match[str]) -> float:
    return USUALLY if match[1] else 1.0


DIRECTIVES: tuple[Directive, ...] = (
    Directive(
        "allowlist",
        r"pay only the account that list_payees shows",
        "an account that is not the payee's on the list gets nothing; a person decides",
    ),
    Directive("cap", r"pay no more at once than the cap", "what is above the cap goes to a person"),
    Directive("pin", r"check the pin with check_pin before", "without the right PIN nothing is paid"),
    Directive("consent", r"get the owner's yes with ask_consent before", "without a yes nothing is paid"),
    Directive("notes_are_text", r"treat a note on a bill as text", "what a bill orders is not carried out"),
    Directive(
        "paid_once",
        r"look into read_ledger before you pay",
        "what the ledger shows as paid is not paid again",
    ),
    Directive(
        "repeat", r"when pay gets no answer, send it again", "a payment without an answer is sent again"
    ),
    Directive(
        "key",
        r"(usually,? )?give pay a key",
        "a payment and its repeat carry one key; after 'usually' only in seven of ten runs",
        _how_often,
    ),
)


def read_rules(instructions: str) -> Rules:
    """The rules that the instructions spell out."""
    return follow(DIRECTIVES, Rules(), instructions)


def holds(likely: float, seed: int, rule: str) -> bool:
    """Whether a rule that holds this often holds in the run of this seed: the same answer each time."""
    drawn = hashlib.sha256(f"{seed}:{rule}".encode()).digest()[:8]
    return int.from_bytes(drawn, "big") < likely * 2**64
