"""The reviewer's pages in a real Chromium: the demo, prepared once, and a fresh copy served to each test."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pages.browser import log_in
from tests.pages.conftest import visit
from tests.pages.served import PASSWORD, Served, free_port, prepared, serving

__all__ = ["visit"]

TIMEOUT_CASE = "/comparisons/1/cases/refund-timeout-after-mutation/"


@pytest.fixture(scope="session")
def demo(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Served:
    """The demo's comparisons in a database nobody writes to. Without a browser nothing is prepared."""
    return prepared(tmp_path_factory.mktemp("demo"))


class ServedWithoutWorker(Served):
    """Nothing is compared in these tests: a broker that is somebody else's business spares the worker."""

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "CELERY_BROKER_URL": "memory://"}


def copy_of(demo: Served, folder: Path) -> Served:
    shutil.copytree(demo.folder, folder)
    return ServedWithoutWorker(folder, free_port())


@pytest.fixture
def site(demo: Served, tmp_path: Path) -> Iterator[Served]:
    """The demo as it was seeded, served; what a test decides here no other test sees."""
    copy = copy_of(demo, tmp_path / "site")
    with serving(copy):
        yield copy


@pytest.fixture
def log_in_again(site: Served) -> Callable[[Any, str], None]:
    """Fills the login page a test was sent to."""

    def fill(page: Any, name: str) -> None:
        page.fill("#id_username", name)
        page.fill("#id_password", PASSWORD)
        page.click("main button[type=submit]")

    return fill


@pytest.fixture
def stranger(browser: Any, site: Served) -> Iterator[Callable[..., Any]]:
    """A window with options of one's own (no JavaScript, for instance), logged in as this role."""
    contexts = []

    def open_page(role: str, **options: Any) -> Any:
        context = browser.new_context(base_url=site.url, viewport={"width": 1280, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        log_in(page, site.url, role, PASSWORD)
        return page

    yield open_page
    for context in contexts:
        context.close()
