"""Exit status 0 while the web process of this container answers. Asks as the proxy before it would."""

import os
import sys
import urllib.request

# The first name the site answers to; a pattern such as ".example.com" stands for the name itself.
HOST = os.environ.get("DJANGO_ALLOWED_HOSTS", "").split(",")[0].strip().lstrip(".*") or "localhost"
REQUEST = urllib.request.Request(
    f"http://127.0.0.1:{os.environ.get('PORT', '8000')}/api/v1/health/",
    headers={"Host": HOST, "X-Forwarded-Proto": "https"},
)
try:
    with urllib.request.urlopen(REQUEST, timeout=4) as answer:  # noqa: S310 - our own port
        sys.exit(0 if answer.status == 200 else 1)
except OSError as problem:
    sys.exit(f"no answer: {problem}")
