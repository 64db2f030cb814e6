"""How often a token, a person or an address may ask: counted in fixed windows of one minute.

One counter per window, added to by the cache itself: unlike a list of times it costs the same at any rate.
The counters are where `AGENTTWIN_CACHE_URL` says; without it each web process counts for itself.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from django.conf import settings
from django.core.cache import cache
from rest_framework.throttling import BaseThrottle

logger = logging.getLogger(__name__)

WINDOW_SECONDS = 60


class PerCredentialThrottle(BaseThrottle):
    """`AGENTTWIN_API_RATE` requests a minute for each token, session account or, without both, address."""

    def allow_request(self, request: Any, view: Any) -> bool:
        limit = settings.AGENTTWIN_API_RATE
        if limit <= 0 or view.access_of(request.method).is_public:
            return True
        key = f"api-rate:{self._who(request)}:{int(time.time()) // WINDOW_SECONDS}"
        try:
            cache.add(key, 0, 2 * WINDOW_SECONDS)
            count = cache.incr(key)
        except Exception as problem:
            # The cache protects the server; without it nobody is locked out.
            logger.warning("requests are not counted, the cache does not answer: %s", problem)
            return True
        return bool(count <= limit)

    def wait(self) -> float:
        """Seconds to the next window."""
        return WINDOW_SECONDS - time.time() % WINDOW_SECONDS

    def _who(self, request: Any) -> str:
        if request.auth is not None:
            return f"token-{request.auth.pk}"
        if request.user and request.user.is_authenticated:
            return f"user-{request.user.pk}"
        return f"address-{request.META.get('REMOTE_ADDR', '')}"
