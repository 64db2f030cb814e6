"""A real Chromium for tests, the first that is found; without one the tests are skipped loudly."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

WIDTHS = {"desk": (1280, 900), "phone": (390, 844)}
SCHEMES = ("light", "dark")
# Each width and each scheme once: the other two combinations bring nothing new.
LOOKS = (("desk", "light"), ("phone", "dark"))
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage")
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


def found_browser(playwright: Any) -> str | None:
    """Path of the system's browser, else of the one Playwright downloaded, else None."""
    for name in _NAMES:
        if path := shutil.which(name):
            return path
    downloaded: str = playwright.chromium.executable_path
    return downloaded if os.path.exists(downloaded) else None


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; skips the test where none is installed, fails it where one is required."""
    from playwright.sync_api import sync_playwright

    # Playwright's loop runs in this thread; Django's database calls of other tests must not mind.
    os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    with sync_playwright() as playwright:
        path = found_browser(playwright)
        if path is None:
            reason = "NOT TESTED in a browser: no Chromium found, `make browser` installs one"
            if os.environ.get("AGENTTWIN_REQUIRE_BROWSER"):
                pytest.fail(reason)
            pytest.skip(reason)
        browser = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def violations(page: Any) -> list[str]:
    """What axe-core finds on the page (WCAG 2.1 AA and its best practices), readable."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"runOnly": _RULES}).response["violations"]
    return [
        f"{item['id']} ({item['impact']}): {node['html'][:200]} - {node['failureSummary'][:300]}"
        for item in found
        for node in item["nodes"]
    ]


def is_too_wide(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))


def log_in(page: Any, url: str, name: str, password: str) -> None:
    page.goto(f"{url}/login/")
    page.fill("#id_username", name)
    page.fill("#id_password", password)
    page.click("main button[type=submit]")
    page.wait_for_url(f"{url}/")


if __name__ == "__main__":  # `make browser` asks whether there is anything to install
    import sys

    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        sys.exit(0 if found_browser(started) else 1)
