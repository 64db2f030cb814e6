"""ASGI entry of the site: the wire answers under its own addresses, everything else is Django's."""

import os
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agenttwin_site.settings")

# Before the wire's modules: they need the apps to be loaded.
_django: Any = get_asgi_application()

from agenttwin_site.observed import Observed  # noqa: E402
from twins.wire.router import Wire  # noqa: E402

application = Observed(Wire(_django))
