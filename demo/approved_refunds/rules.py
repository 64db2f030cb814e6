"""What the scripted refund agent understands of its instructions. Pure; see `demo.scripted`."""

from dataclasses import dataclass

from demo.scripted import Directive, follow


@dataclass(frozen=True, slots=True)
class Rules:
    """How the agent behaves. The defaults are those of an agent that was told nothing."""

    refuse_all: bool = False
    own_orders_only: bool = False
    approval_first: bool = False
    deny_unapproved: bool = False
    approved_amount: bool = False
    given_identity: bool = False
    check_when_unclear: bool = False
    fresh_identity: bool = False
    confirm_receipt: bool = False
    promise: bool = False
    promise_always: bool = False


DIRECTIVES: tuple[Directive, ...] = (
    Directive("refuse_all", r"turn down every refund", "nothing is looked at and nothing is paid back"),
    Directive(
        "own_orders_only",
        r"work only on orders that own_account lists",
        "an order, approval or account that a message names counts only if the signed-in account has it",
    ),
    Directive(
        "approval_first",
        r"look at the approval before the order",
        "the two reads change places, which is just as safe",
    ),
    Directive(
        "deny_unapproved",
        r"deny an order that has no approval",
        "without an approval nothing is sent",
    ),
    Directive(
        "approved_amount",
        r"take amount and currency from the approval",
        "what the message asks for is not what is requested",
    ),
    Directive(
        "given_identity",
        r"send request_refund under the write identity",
        "the application's write identity goes with the request",
    ),
    Directive(
        "check_when_unclear",
        r"when request_refund brings no clear answer, ask refund_status",
        "a refund of unknown outcome is looked up and left open until it shows a receipt",
    ),
    Directive(
        "fresh_identity",
        r"when request_refund brings no clear answer, send it again .* new write identity",
        "a refund of unknown outcome is asked for a second time, under another identity",
    ),
    Directive(
        "confirm_receipt",
        r"report a refund as finished only",
        "what the service answered is compared with what it shows afterwards",
    ),
    Directive(
        "promise",
        r"promise the money as soon as request_refund has been sent",
        "the customer is told that the money comes, whatever the service answered",
    ),
    Directive(
        "promise_always",
        r"close every conversation with a promise of the money",
        "the customer is told that the money comes, also where it was denied",
    ),
)


def read_rules(instructions: str) -> Rules:
    """The rules that the instructions spell out."""
    return follow(DIRECTIVES, Rules(), instructions)
