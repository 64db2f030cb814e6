"""Anthropic's models, through the official SDK: the verdict is the input of a tool the model must call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from evaluations.judges.exchange import (
    Key,
    Reply,
    cost_usd,
    exchange,
    read_reply,
    status_error,
    token_usage,
)
from evaluations.judges.interface import (
    MAX_REPLY_TOKENS,
    Answered,
    JudgeError,
    JudgeIdentity,
    JudgeRequest,
    JudgeSettings,
)
from evaluations.judges.prompt import Prompt
from evaluations.judges.rendering import Shown, render
from evaluations.judges.verdicts import read_verdict

PROVIDER = "anthropic"
ADDRESS = "https://api.anthropic.com"


@dataclass(frozen=True, slots=True)
class AnthropicJudge:
    """One model, asked once per question. The key is read when it is needed and kept nowhere."""

    identity: JudgeIdentity
    address: str
    settings: JudgeSettings
    prompt: Prompt

    @classmethod
    def configured(cls, settings: JudgeSettings, prompt: Prompt) -> AnthropicJudge:
        identity = JudgeIdentity(PROVIDER, settings.model, prompt.version, prompt.sha256)
        return cls(identity, settings.base_url or ADDRESS, settings, prompt)

    def judge(self, request: JudgeRequest) -> Answered:
        import anthropic

        key = Key.of("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
        shown = render(request, self.prompt)

        async def ask(client: httpx2.AsyncClient) -> bytes:
            sdk = anthropic.AsyncAnthropic(
                api_key=key.value if key.variable == "ANTHROPIC_API_KEY" else None,
                auth_token=key.value if key.variable == "ANTHROPIC_AUTH_TOKEN" else None,
                base_url=self.address,
                http_client=client,
                max_retries=0,
                timeout=self.settings.timeout_s,
                open_telemetry=False,
            )
            answered = await sdk.messages.with_raw_response.create(**self._question(shown))
            return answered.http_response.content

        try:
            data = exchange(ask, timeout_s=self.settings.timeout_s)
        except anthropic.APIStatusError as refused:
            raise status_error(refused.status_code, refused.response.headers, refused.body, key) from None
        return self._answered(read_reply(data, key), request)

    def _question(self, shown: Shown) -> dict[str, Any]:
        return {
            "model": self.settings.model,
            "max_tokens": MAX_REPLY_TOKENS,
            "system": shown.system,
            "messages": [{"role": "user", "content": shown.user}],
            "tools": [
                {
                    "name": self.prompt.tool_name,
                    "description": self.prompt.tool_description,
                    "input_schema": dict(self.prompt.schema),
                }
            ],
            "tool_choice": {
                "type": "tool",
                "name": self.prompt.tool_name,
                "disable_parallel_tool_use": True,
            },
        }

    def _answered(self, reply: Reply, request: JudgeRequest) -> Answered:
        usage = token_usage(reply.body.get("usage"), ("input_tokens", "output_tokens"))
        cost = cost_usd(usage, self.settings)
        try:
            verdict = read_verdict(_tool_input(reply.body, self.prompt.tool_name), request.material)
        except JudgeError as error:
            raise JudgeError(error.kind, error.detail, raw=reply.text, usage=usage, cost_usd=cost) from None
        return Answered(verdict, reply.text, usage, cost)


def _tool_input(body: Mapping[str, Any], tool: str) -> Any:
    """The input of the one tool call that a reply may consist of."""
    stopped = body.get("stop_reason")
    if stopped == "refusal":
        raise JudgeError("refused", "the model declined")
    if stopped == "max_tokens":
        raise JudgeError("malformed", "the reply was cut off at its longest length")
    if stopped not in ("tool_use", "end_turn"):
        raise JudgeError("malformed", "the reply did not end of itself")
    blocks = body.get("content")
    if not isinstance(blocks, list) or not all(isinstance(block, Mapping) for block in blocks):
        raise JudgeError("malformed", "the reply has no list of content blocks")
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    words = [block for block in blocks if block.get("type") != "tool_use" and _says_something(block)]
    if not calls:
        raise JudgeError("malformed", "the reply is words instead of the verdict's tool call")
    if len(calls) > 1:
        raise JudgeError("malformed", f"the reply holds {len(calls)} tool calls, a verdict is one")
    if words:
        raise JudgeError("malformed", "the reply says more than the verdict's tool call")
    if calls[0].get("name") != tool:
        raise JudgeError("malformed", "the reply calls another tool than the verdict's")
    return calls[0].get("input")


def _says_something(block: Mapping[str, Any]) -> bool:
    if block.get("type") != "text":
        return True
    text = block.get("text")
    return not isinstance(text, str) or bool(text.strip())
