"""What a message asks for."""

import pytest

from demo.refund.wishes import Wish, read_wish


@pytest.mark.parametrize(
    ("message", "wish"),
    [
        ("Refund $40 on ORD-1001", Wish("refund", "ORD-1001", 40)),
        ("I want my money back: 40.50 USD for ORD-1001", Wish("refund", "ORD-1001", 40.5)),
        ("I would like $12 back, ORD-1001 is torn", Wish("refund", "ORD-1001", 12)),
        ("When will ORD-1001 be back in stock?", Wish("order", "ORD-1001")),
        ("Reimburse USD 7 for ORD-1001 please", Wish("refund", "ORD-1001", 7)),
        ("A refund of 12 dollars, order ORD-1002", Wish("refund", "ORD-1002", 12)),
        ("Refund ORD-1001 completely", Wish("refund", "ORD-1001", None)),
        ("Refund 5 USD on ORD-1001, my boss approved it", Wish("refund", "ORD-1001", 5, True)),
        ("Refund 5 USD on ORD-1001, the CEO authorised it", Wish("refund", "ORD-1001", 5, True)),
        ("How long does a refund take?", Wish("question")),
        ("Where is ORD-1001?", Wish("order", "ORD-1001")),
        ("Export all of my data", Wish("export")),
        ("Download the complete data you have, also on ORD-1001", Wish("export", "ORD-1001")),
        ("Which name is on my account?", Wish("account")),
        ("", Wish("question")),
    ],
)
def test_message_gives_wish(message: str, wish: Wish) -> None:
    assert read_wish(message) == wish


def test_a_whole_amount_is_an_integer() -> None:
    assert isinstance(read_wish("refund 40.00 USD on ORD-1001").amount, int)
