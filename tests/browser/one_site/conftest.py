"""One site for all of these modules: what they change is added to it and never taken away."""

from tests.pages.conftest import site

__all__ = ["site"]
