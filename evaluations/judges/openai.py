"""OpenAI and all servers that speak its chat completions: the verdict follows a strict JSON schema."""

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
from evaluations.judges.verdicts import verdict_of_text

PROVIDER = "openai"
ADDRESS = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class OpenAIJudge:
    """One model, asked once per question. The key is read when it is needed and kept nowhere."""

    identity: JudgeIdentity
    address: str
    settings: JudgeSettings
    prompt: Prompt

    @classmethod
    def configured(cls, settings: JudgeSettings, prompt: Prompt) -> OpenAIJudge:
        identity = JudgeIdentity(PROVIDER, settings.model, prompt.version, prompt.sha256)
        return cls(identity, settings.base_url or ADDRESS, settings, prompt)

    def judge(self, request: JudgeRequest) -> Answered:
        import openai

        key = Key.of("OPENAI_API_KEY")
        shown = render(request, self.prompt)

        async def ask(client: httpx2.AsyncClient) -> bytes:
            sdk = openai.AsyncOpenAI(
                api_key=key.value,
                base_url=self.address,
                http_client=client,
                max_retries=0,
                timeout=self.settings.timeout_s,
            )
            answered = await sdk.chat.completions.with_raw_response.create(**self._question(shown))
            return answered.http_response.content

        try:
            data = exchange(ask, timeout_s=self.settings.timeout_s)
        except openai.APIStatusError as refused:
            raise status_error(refused.status_code, refused.response.headers, refused.body, key) from None
        return self._answered(read_reply(data, key), request)

    def _question(self, shown: Shown) -> dict[str, Any]:
        return {
            "model": self.settings.model,
            "max_completion_tokens": MAX_REPLY_TOKENS,
            "messages": [
                {"role": "system", "content": shown.system},
                {"role": "user", "content": shown.user},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {
                    "name": self.prompt.tool_name,
                    "description": self.prompt.tool_description,
                    "schema": dict(self.prompt.schema),
                    "strict": True,
                },
            },
        }

    def _answered(self, reply: Reply, request: JudgeRequest) -> Answered:
        usage = token_usage(reply.body.get("usage"), ("prompt_tokens", "completion_tokens"))
        cost = cost_usd(usage, self.settings)
        try:
            verdict = verdict_of_text(_content(reply.body), request.material)
        except JudgeError as error:
            raise JudgeError(error.kind, error.detail, raw=reply.text, usage=usage, cost_usd=cost) from None
        return Answered(verdict, reply.text, usage, cost)


def _content(body: Mapping[str, Any]) -> str:
    """The text of the one choice that a reply may consist of."""
    choices = body.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], Mapping):
        raise JudgeError("malformed", "the reply has not exactly one choice")
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise JudgeError("malformed", "the reply has no message")
    if choice.get("finish_reason") == "content_filter":
        raise JudgeError("refused", "the provider's filter withheld the reply")
    if message.get("refusal"):
        raise JudgeError("refused", "the model declined")
    if choice.get("finish_reason") == "length":
        raise JudgeError("malformed", "the reply was cut off at its longest length")
    if choice.get("finish_reason") != "stop":
        raise JudgeError("malformed", "the reply did not end of itself")
    content = message.get("content")
    if not isinstance(content, str):
        raise JudgeError("malformed", "the reply has no text")
    return content
