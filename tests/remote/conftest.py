"""The small world of `tests.running`, whose agent is asked over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.remote.fake_agent import FakeAgent, Handler, fake_agent, response, sends
from tests.running import documents
from tests.running.conftest import compared, given, start  # noqa: F401 - fixtures


@pytest.fixture(autouse=True)
def _tools_answer(settings: Any) -> Iterator[None]:
    """Something answers where the tools would be: most agents here give their answer without a call."""
    with fake_agent(sends(response(404, ""))) as site:
        settings.AGENTTWIN_PUBLIC_URL = site.url
        yield


@pytest.fixture
def serve(settings: Any) -> Iterator[Callable[[Handler], FakeAgent]]:
    """Starts an agent's server and names it to this installation."""
    with ExitStack() as stack:

        def begin(behave: Handler) -> FakeAgent:
            agent = stack.enter_context(fake_agent(behave))
            settings.AGENTTWIN_AGENT_ENDPOINTS = {documents.AGENT: agent.url}
            return agent

        yield begin


from tests.pages.conftest import editor, person, viewer  # noqa: E402, F401 - fixtures
