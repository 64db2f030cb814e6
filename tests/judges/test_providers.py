"""The two providers through their real SDKs, against a local server that speaks their wire formats."""

from __future__ import annotations

import datetime
import json
import logging
import socket
import time
from collections.abc import Callable, Iterator
from email.utils import format_datetime
from typing import Any

import pytest

from evaluations.judges.exchange import MAX_REPLY_BYTES, REDACTED, retry_after
from evaluations.judges.interface import Answered, JudgeError, JudgeSettings, Quote, TokenUsage
from evaluations.judges.prompt import shipped_prompt
from evaluations.judges.registry import judge_for
from evaluations.judges.rendering import render
from tests.judges.building import question, verdict, without
from tests.judges.wire import (
    KEY,
    TOOL,
    Anthropic,
    OpenAI,
    Provider,
    endless,
    hangs_up,
    is_slow,
    says,
    says_half,
    serving,
    trickles,
)

Ask = Callable[..., Answered]
GOOD = json.dumps(verdict())


@pytest.fixture(params=[Anthropic, OpenAI], ids=["anthropic", "openai"])
def wire(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def server() -> Iterator[Provider]:
    with serving() as provider:
        yield provider


@pytest.fixture
def provider(server: Provider, wire: Any, monkeypatch: pytest.MonkeyPatch) -> Provider:
    server.heard.clear()
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(wire.variable, KEY)
    return server


@pytest.fixture
def ask(provider: Provider, wire: Any) -> Ask:
    def one(*replies: Any, timeout_s: float = 10, **settings: Any) -> Answered:
        provider.says = list(replies)
        chosen = JudgeSettings(wire.name, "small", wire.base_url(provider.url), timeout_s, **settings)
        return judge_for(chosen).judge(question())

    return one


def refusal_of(ask: Ask, *replies: Any, **options: Any) -> JudgeError:
    with pytest.raises(JudgeError) as error:
        ask(*replies, **options)
    assert KEY not in error.value.detail + error.value.raw
    return error.value


# --------------------------------------------------------------------------------------------- success


def test_a_verdict_comes_through(ask: Ask, wire: Any, provider: Provider) -> None:
    reply = wire.verdict(verdict())
    answered = ask(says(200, reply), price_input=3.0, price_output=15.0)
    read = answered.verdict
    assert (read.score, read.label, read.confidence, read.reason) == (0.9, "pass", 0.8, "It says so.")
    assert read.quotes == (Quote("answer", "not recorded on ORD-1001"),)
    assert json.loads(answered.raw) == reply
    assert answered.usage == TokenUsage(1200, 80)
    assert answered.cost_usd == pytest.approx(0.0036 + 0.0012)
    (heard,) = provider.heard
    assert heard.path == wire.path
    assert wire.sent_key(heard) == KEY


def test_what_is_sent_is_what_is_shown_and_no_more(ask: Ask, wire: Any, provider: Provider) -> None:
    ask(says(200, wire.verdict(verdict())))
    shown = render(question(), shipped_prompt())
    body = provider.heard[0].body
    schema = json.loads(json.dumps(shipped_prompt().schema))
    if wire is Anthropic:
        assert body["system"] == shown.system
        assert body["messages"] == [{"role": "user", "content": shown.user}]
        assert body["tool_choice"] == {"type": "tool", "name": TOOL, "disable_parallel_tool_use": True}
        assert [(tool["name"], tool["input_schema"]) for tool in body["tools"]] == [(TOOL, schema)]
    else:
        assert body["messages"] == [
            {"role": "system", "content": shown.system},
            {"role": "user", "content": shown.user},
        ]
        form = body["response_format"]
        assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
        assert form["json_schema"]["schema"] == schema
    assert body["model"] == "small"
    assert "0.7" not in json.dumps(body)  # the threshold is ours


def test_without_prices_or_counts_a_cost_is_unknown(ask: Ask, wire: Any) -> None:
    assert ask(says(200, wire.verdict(verdict()))).cost_usd is None
    reply = wire.verdict(verdict(), usage={"input_tokens": "many", "prompt_tokens": True})
    answered = ask(says(200, reply), price_input=3.0, price_output=15.0)
    assert (answered.cost_usd, answered.usage) == (None, TokenUsage(None, None))


# --------------------------------------------------------------------------------------------- statuses


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "rejected"),
        (401, "rejected"),
        (403, "rejected"),
        (404, "rejected"),
        (408, "timeout"),
        (409, "unavailable"),
        (413, "rejected"),
        (422, "rejected"),
        (429, "rate_limited"),
        (500, "unavailable"),
        (502, "unavailable"),
        (503, "unavailable"),
        (504, "timeout"),
        (529, "unavailable"),
    ],
)
def test_a_status_is_an_error_of_its_kind_and_is_asked_once(
    ask: Ask, wire: Any, provider: Provider, status: int, kind: str
) -> None:
    error = refusal_of(ask, says(status, wire.error("some_error", "It went wrong.")))
    assert error.kind == kind
    assert f"HTTP {status}" in error.detail
    assert (error.raw, error.retry_after) == ("", None)
    assert len(provider.heard) == 1  # the SDK's own attempts are off


def test_a_key_that_is_refused_is_named_by_its_variable_alone(ask: Ask, wire: Any) -> None:
    said = f"Incorrect API key provided: {KEY[:8]}********{KEY[-4:]}. {KEY}"
    error = refusal_of(ask, says(401, wire.error("authentication_error", said)))
    assert error.detail == f"HTTP 401: the provider does not accept the key in {wire.variable}"
    assert KEY[-4:] not in error.detail


def test_words_of_the_provider_are_told_short_and_without_keys(ask: Ask, wire: Any) -> None:
    said = f"model small does not exist, {KEY}, sk-another-0123456789abcdefghij\n" + "x" * 1000
    error = refusal_of(ask, says(404, wire.error("not_found", said)))
    assert error.detail.startswith(f"HTTP 404: model small does not exist, {REDACTED}, {REDACTED} xxx")
    assert len(error.detail) <= 300


@pytest.mark.parametrize("body", ["", "<html>busy</html>", "[1]", '"busy"', b"\xff\xfe\x00"])
def test_a_status_counts_whatever_stands_in_its_body(ask: Ask, body: Any) -> None:
    assert refusal_of(ask, says(503, body)).kind == "unavailable"


def test_429_says_how_long_in_seconds(ask: Ask, wire: Any) -> None:
    error = refusal_of(ask, says(429, wire.error("rate_limit_error", "Slow down."), retry_after="7"))
    assert (error.kind, error.retry_after) == ("rate_limited", 7.0)


def test_429_says_until_when_as_a_date(ask: Ask, wire: Any) -> None:
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=90)
    reply = says(429, wire.error("rate_limit_error", "x"), retry_after=format_datetime(until, usegmt=True))
    error = refusal_of(ask, reply)
    assert error.kind == "rate_limited"
    assert 60 < error.retry_after < 91


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": " 2.5 "}, 2.5),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 40.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:10 GMT"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "1"}, 1.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=60.0) == seconds


def test_redirects_are_not_followed(ask: Ask, wire: Any, provider: Provider) -> None:
    error = refusal_of(ask, says(307, "", location=f"{provider.url}/elsewhere"), says(200, {}))
    assert error.kind == "rejected"
    assert [heard.path for heard in provider.heard] == [wire.path]


# ------------------------------------------------------------------------- connections, sizes and times


def test_nobody_listens(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(wire.variable, KEY)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(JudgeError) as error:
            judge_for(JudgeSettings(wire.name, "small", url, 5)).judge(question())
    assert (error.value.kind, error.value.detail) == ("unavailable", "the exchange broke off: ConnectError")


def test_no_such_host(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(wire.variable, KEY)
    with pytest.raises(JudgeError) as error:
        judge_for(JudgeSettings(wire.name, "small", "http://judge.invalid", 5)).judge(question())
    assert error.value.kind in ("unavailable", "timeout")


def test_a_connection_that_closes_without_an_answer(ask: Ask) -> None:
    assert refusal_of(ask, hangs_up).kind == "unavailable"


def test_an_answer_that_breaks_off_in_the_middle(ask: Ask, wire: Any) -> None:
    assert refusal_of(ask, says_half(wire.verdict(verdict()))).kind == "unavailable"


def test_a_slow_answer(ask: Ask) -> None:
    error = refusal_of(ask, is_slow(0.6), timeout_s=0.3)
    assert (error.kind, error.detail) == ("timeout", "no answer within 0.3 s")


@pytest.mark.parametrize("in_head", [True, False])
def test_an_answer_that_trickles_ends_in_time(ask: Ask, in_head: bool) -> None:
    started = time.monotonic()
    assert refusal_of(ask, trickles(3, in_head=in_head), timeout_s=0.4).kind == "timeout"
    assert time.monotonic() - started < 2


def spelled(text: str) -> str:
    """The text as JSON may write it: every character by its number."""
    return "".join(f"\\u{ord(character):04x}" for character in text)


def test_a_key_spelled_with_escapes_is_not_kept(ask: Ask, wire: Any) -> None:
    said = json.dumps(wire.verdict({**verdict(), "reason": "It is KEY."}))
    for escaped in (spelled(KEY), json.dumps(spelled(KEY))[1:-1]):
        error = refusal_of(ask, says(200, said.replace("KEY", escaped)))
        assert (error.kind, error.raw) == ("malformed", REDACTED)
        assert error.detail == f"the reply repeats the key in {wire.variable}"


def test_a_placeholder_for_a_key_hides_nothing(ask: Ask, wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(wire.variable, "x")
    assert REDACTED not in ask(says(200, wire.verdict(verdict()))).raw


def test_only_a_reply_that_ended_of_itself_is_a_verdict(ask: Ask, wire: Any) -> None:
    whole = json.dumps(wire.verdict(verdict()))
    for ended in ('"stop"', '"tool_use"'):
        for other in ("null", '"pause_turn"', '"tool_calls"'):
            if ended in whole:
                reply = whole.replace(f'_reason": {ended}', f'_reason": {other}')
                assert reply != whole
                assert refusal_of(ask, says(200, reply)).kind == "malformed"


@pytest.mark.parametrize("reply", [endless, says(200, "")], ids=["too large", "empty"])
def test_what_came_is_paid_for_whatever_it_was(ask: Ask, reply: Any) -> None:
    error = refusal_of(ask, reply)
    assert error.raw
    assert error.cost_usd is None


def test_an_endless_answer_is_not_read_to_its_end(ask: Ask) -> None:
    error = refusal_of(ask, endless)
    assert (error.kind, error.detail) == ("malformed", f"the reply has more than {MAX_REPLY_BYTES} bytes")


def test_a_packed_answer_is_not_unpacked(ask: Ask) -> None:
    error = refusal_of(ask, says(200, b"\x1f\x8b" + b"0" * 100, content_encoding="gzip"))
    assert (error.kind, error.detail) == ("malformed", "the reply is compressed, which was not asked for")


def test_no_proxy_of_the_environment_is_used(ask: Ask, wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    assert ask(says(200, wire.verdict(verdict()))).verdict.score == 0.9


# --------------------------------------------------------------------------------- replies that are none


def test_the_model_declines(ask: Ask, wire: Any) -> None:
    error = refusal_of(ask, says(200, wire.refusal()))
    assert (error.kind, error.detail) == ("refused", "the model declined")
    assert "can't help" in error.raw


def test_a_reply_that_ends_at_its_longest_length(ask: Ask, wire: Any) -> None:
    error = refusal_of(ask, says(200, wire.cut_off()), price_input=3.0, price_output=15.0)
    assert (error.kind, error.detail) == ("malformed", "the reply was cut off at its longest length")
    # It was paid for all the same.
    assert error.cost_usd == pytest.approx(0.0048)
    assert error.usage == TokenUsage(1200, 80)


# Words where a verdict should be: `openai` reads the text, `anthropic` reads no text at all.
WORDS = {
    "prose": "The reply does what was asked. I would give it 0.9.",
    "fenced JSON with trailing text": f"```json\n{GOOD}\n```\nI am sure.",
    "JSON with trailing text": f"{GOOD}\nI am sure.",
    "JSON after text": f"Here it is: {GOOD}",
    "two objects": f"{GOOD}\n{GOOD}",
    "NaN": GOOD.replace("0.9", "NaN"),
    "1e999": GOOD.replace("0.9", "1e999"),
    "a key twice": GOOD.replace("{", '{"label": "fail", ', 1),
    "nothing": "",
    "half of it": GOOD[:40],
}


@pytest.mark.parametrize("text", WORDS.values(), ids=WORDS)
def test_words_are_no_verdict(ask: Ask, wire: Any, text: str) -> None:
    error = refusal_of(ask, says(200, wire.words(text)))
    assert error.kind == "malformed"
    assert error.raw


def test_fenced_json_is_a_verdict_only_where_text_is_the_form(ask: Ask, wire: Any) -> None:
    reply = says(200, wire.words(f"```json\n{GOOD}\n```"))
    if wire is OpenAI:
        assert ask(reply).verdict.score == 0.9
    else:
        assert refusal_of(ask, reply).detail == "the reply is words instead of the verdict's tool call"


BAD_VERDICTS: dict[str, Any] = {
    **{f"without {name}": without(name) for name in verdict()},
    "an empty object": {},
    '"false" as text': verdict(label="false"),
    "pass as a field": {**without("label"), "pass": "false"},
    "score 9": verdict(score=9),
    "score -1": verdict(score=-1),
    "score null": verdict(score=None),
    "score as text": verdict(score="0.9"),
    "score true": verdict(score=True),
    "a list": [verdict()],
    "a text": GOOD,
    "null": None,
}


@pytest.mark.parametrize("given", BAD_VERDICTS.values(), ids=BAD_VERDICTS)
def test_an_object_that_is_no_verdict_is_none(ask: Ask, wire: Any, given: Any) -> None:
    error = refusal_of(ask, says(200, wire.verdict(given)))
    assert error.kind == "malformed"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_numbers_json_does_not_have(ask: Ask, wire: Any, number: str) -> None:
    # As they would stand in the body of a server that writes them.
    if wire is Anthropic:
        body = json.dumps(wire.verdict(verdict(score=0.123456))).replace("0.123456", number)
    else:
        body = json.dumps(wire.words(GOOD.replace("0.9", number)))
    assert refusal_of(ask, says(200, body)).kind == "malformed"


@pytest.mark.parametrize(
    "body",
    ["", "{", "<html>ok</html>", "[]", "null", "{}{}", '{"content": 1}', '{"choices": {}}',
     '{"content": [1]}', b"\xff\xfe", "[" * 200_000, '{"choices": [1]}', '{"choices": [{"message": null}]}'],
)  # fmt: skip
def test_a_body_that_is_no_message(ask: Ask, body: Any) -> None:
    assert refusal_of(ask, says(200, body)).kind == "malformed"


def test_a_call_of_something_else_two_calls_and_words_beside_a_call(ask: Ask, wire: Any) -> None:
    if wire is OpenAI:
        choice = wire.verdict(verdict())["choices"][0]
        for choices in ([], [choice, choice]):
            assert refusal_of(ask, says(200, wire.verdict(verdict(), choices=choices))).kind == "malformed"
        calls = {"role": "assistant", "content": None, "tool_calls": []}
        assert refusal_of(ask, says(200, wire.completion(calls))).detail == "the reply has no text"
        return
    call = wire.call(verdict())
    for content in (
        [call, call],
        [wire.call(verdict(), name="other")],
        [wire.text("On second thought: fail."), call],
        [call, wire.text(GOOD)],
        [call, {"type": "thinking", "thinking": "?"}],
        [],
    ):
        assert refusal_of(ask, says(200, wire.message(content))).kind == "malformed"
    assert ask(says(200, wire.message([wire.text("  "), call]))).verdict.score == 0.9


def test_a_filter_withheld_it(ask: Ask, wire: Any) -> None:
    if wire is OpenAI:
        reply = wire.completion({"role": "assistant", "content": GOOD}, "content_filter")
        assert refusal_of(ask, says(200, reply)).kind == "refused"


def test_quotes_that_are_made_up_are_dropped(ask: Ask, wire: Any) -> None:
    quotes = [{"source": "answer", "text": "I paid twice"}, {"source": "answer", "text": "A specialist"}]
    read = ask(says(200, wire.verdict(verdict(quotes=quotes)))).verdict
    assert (read.quotes, read.dropped_quotes) == ((Quote("answer", "A specialist"),), 1)


# --------------------------------------------------------------------------------------------- the key


def test_without_a_key_nobody_is_asked(ask: Ask, wire: Any, provider: Provider, monkeypatch: Any) -> None:
    monkeypatch.setenv(wire.variable, "  ")
    error = refusal_of(ask, says(200, {}))
    assert error.kind == "rejected"
    assert f"{wire.variable}" in error.detail
    assert "is not set where judging runs" in error.detail
    assert provider.heard == []


@pytest.mark.parametrize("key", ["with a blank", "line\nbreak", "ümläut", "x" * 20_000])
def test_a_key_no_header_can_hold_is_an_error_that_does_not_repeat_it(
    ask: Ask, wire: Any, monkeypatch: Any, caplog: pytest.LogCaptureFixture, key: str
) -> None:
    monkeypatch.setenv(wire.variable, key)
    from evaluations.judges.asking import ask as ask_until

    chosen = JudgeSettings(wire.name, "small", "http://127.0.0.1:9", 2)
    with caplog.at_level(logging.DEBUG):
        found = ask_until(judge_for(chosen), question(), sleep=lambda pause: None)
    assert found.error is not None
    assert key not in found.error.detail + caplog.text + repr(judge_for(chosen))


def test_a_key_that_comes_back_is_hidden_everywhere(
    ask: Ask, wire: Any, caplog: pytest.LogCaptureFixture
) -> None:
    quotes = [{"source": "answer", "text": KEY}]
    with caplog.at_level(logging.DEBUG):
        answered = ask(says(200, wire.verdict(verdict(reason=f"The key is {KEY}.", quotes=quotes))))
    assert answered.verdict.reason == f"The key is {REDACTED}."
    assert KEY not in answered.raw
    assert KEY not in caplog.text


def test_anthropics_other_variable(server: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    server.heard.clear()
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    server.says = [says(200, Anthropic.verdict(verdict()))]
    judge_for(JudgeSettings("anthropic", "small", server.url, 10)).judge(question())
    assert server.heard[0].headers["authorization"] == f"Bearer {KEY}"
