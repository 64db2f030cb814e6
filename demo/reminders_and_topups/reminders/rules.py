"""What the scripted reminder agent understands of its instructions. Pure; see `demo.scripted`."""

from dataclasses import dataclass

from demo.scripted import Directive, follow


@dataclass(frozen=True, slots=True)
class Rules:
    """How the agent behaves. The defaults are those of an agent that was told nothing."""

    look_first: bool = False
    keys: bool = False
    look_again: bool = False
    repeat: bool = False
    everybody: bool = False
    send_off: bool = False


DIRECTIVES: tuple[Directive, ...] = (
    Directive(
        "look_first",
        r"look through list_reminders and list_outbox before",
        "what is there already is not written a second time",
    ),
    Directive(
        "keys",
        r"give create_reminder and queue_mail a key",
        "a write and its repeat carry one key, made from invoice and step",
    ),
    Directive(
        "look_again",
        r"when a write gets no answer, look again",
        "a write without an answer is looked for, and sent once more only if it is not there",
    ),
    Directive(
        "repeat", r"when a write gets no answer, send it", "a write without an answer is sent once more"
    ),
    Directive(
        "everybody",
        r"remind everybody who has not paid",
        "invoices nobody asked about are marked overdue and reminded too",
    ),
    Directive("send_off", r"send each mail off with send_now", "mails do not wait for a person"),
)


def read_rules(instructions: str) -> Rules:
    """The rules that the instructions spell out."""
    return follow(DIRECTIVES, Rules(), instructions)
