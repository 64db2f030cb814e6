"""The world of the running tests, with datasets and drafts on top of it."""

from tests.api.conftest import _uncounted, api  # noqa: F401 - fixtures
from tests.datasets.conftest import freeze  # noqa: F401 - fixture
from tests.fault_cases.world import drafted, passed  # noqa: F401 - fixtures
from tests.running.conftest import _agents, compared, given, start  # noqa: F401 - fixtures
