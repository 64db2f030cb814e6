"""How quickly the API answers with 100,000 stored cases: server time, middleware and credential included."""

from __future__ import annotations

from typing import Any

LISTS = {
    "API: list of comparisons": "/api/v1/comparisons/",
    "API: a comparison": "/api/v1/comparisons/{comparison}/",
    "API: cases of a comparison": "/api/v1/comparisons/{comparison}/cases/",
    "API: list of all cases": "/api/v1/cases/",
    "API: a case": "/api/v1/cases/{pair}/",
    "API: calls of a case": "/api/v1/cases/{pair}/calls/?side=candidate",
    "API: trajectory of a case": "/api/v1/cases/{pair}/trajectory/",
    "API: list of scenarios": "/api/v1/scenarios/",
    "API: queue": "/api/v1/queue/",
    "API: audit log": "/api/v1/audit/",
}


def api_addresses(comparison: int) -> dict[str, str]:
    """Names of what is measured with their addresses."""
    from evaluations.models import PairedCase

    pair = PairedCase.objects.get(
        comparison=comparison, scenario_name="refund-timeout-after-mutation", trial=7
    )
    return {name: address.format(comparison=comparison, pair=pair.pk) for name, address in LISTS.items()}


def token_headers() -> dict[str, str]:
    """A credential for the account of the pages' bench."""
    from django.contrib.auth import get_user_model

    from reviews.services.tokens import create_token

    account: Any = get_user_model().objects.get(username="bench")
    _, secret = create_token(
        user=account, name="bench", scopes=["read", "run", "review", "edit"], actor=account
    )
    return {"Authorization": f"Bearer {secret}"}
