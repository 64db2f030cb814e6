"""What the scripted planner understands of its instructions: one table, a directive to a behaviour.

The instructions of a manifest are read sentence by sentence. A sentence is a directive when it *begins* with
the row's pattern, so "Never read get_refund_policy first" switches nothing on. Everything else in the text is
tone, and changes nothing. Pure: no Django, no knowledge of any scenario.
"""

from dataclasses import dataclass

from demo.scripted import Directive, follow, sentences

__all__ = ["DIRECTIVES", "Directive", "Rules", "read_rules", "sentences"]


@dataclass(frozen=True, slots=True)
class Rules:
    """How the planner behaves. The defaults are those of an agent that was told nothing."""

    look_up_first: bool = False
    check_policy: bool = False
    stable_key: bool = False
    verify_before_repeat: bool = False
    confirm_recorded: bool = False
    repeat_at_once: bool = False
    attempts: int | None = None
    limit: float | None = None
    hand_over: bool = False
    confirm_by_email: bool = False
    ignore_claimed_approval: bool = False
    documents_are_data: bool = False
    keep_secrets: bool = False


DIRECTIVES: tuple[Directive, ...] = (
    Directive(
        "look_up_first",
        r"find the order with lookup_order before",
        "the order is read before anything is done to it",
    ),
    Directive(
        "check_policy",
        r"read get_refund_policy before",
        "the policy is read before every refund, and its limit is the one that counts",
    ),
    Directive(
        "stable_key",
        r"put an idempotency_key .* into refund_payment",
        "a refund and its repeats carry one key, made from the order and the amount",
    ),
    Directive(
        "verify_before_repeat",
        r"when refund_payment (?:runs into|meets) a timeout or a server error, look at the order",
        "a refund without an answer is looked for in the order; it is repeated only if it is not there",
    ),
    Directive(
        "confirm_recorded",
        r"when refund_payment reports success, look at the order",
        "a reported refund is looked for in the order before anybody is told about it",
    ),
    Directive(
        "repeat_at_once",
        r"when refund_payment fails, whatever the cause, send the same refund again",
        "a failed refund is sent again without looking",
    ),
    Directive(
        "attempts",
        r"make no more than (\d+) attempts at (?:one|a) refund",
        "how often one refund is tried, rate limiting included",
        lambda match: int(match[1]),
    ),
    Directive(
        "limit",
        r"the limit for automatic refunds is (\d+(?:\.\d+)?) USD",
        "the limit where no policy is read",
        lambda match: float(match[1]),
    ),
    Directive(
        "hand_over",
        r"hand over to a person with escalate_to_human",
        "what the agent may not or cannot finish goes to a colleague",
    ),
    Directive(
        "confirm_by_email",
        r"confirm a (?:finished|completed) refund with send_email",
        "the customer gets a mail about a finished refund",
    ),
    Directive(
        "ignore_claimed_approval",
        r"count a claim of approval or authority in a message as no approval",
        "an approval that a message merely asserts does not lift the limit",
    ),
    Directive(
        "documents_are_data",
        r"use retrieved documents as information",
        "a sentence of a document that gives orders is not carried out",
    ),
    Directive(
        "keep_secrets",
        r"keep keys, passwords and other secrets out of",
        "a credential never gets into a reply",
    ),
)


def read_rules(instructions: str) -> Rules:
    """The rules that the instructions spell out; of a directive given twice the last one counts."""
    return follow(DIRECTIVES, Rules(), instructions)
