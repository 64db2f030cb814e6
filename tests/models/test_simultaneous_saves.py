"""Two processes that save the same twin at the same time get two numbers, and neither save is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.migrated import migrated_database

ROOT = Path(__file__).parents[2]
SAVES = 6

# Both wait for the other before they begin: the first save of each tries to make the twin itself.
SAVER = f"""
import django, pathlib, sys, time
django.setup()
from tests.models import documents
from twins.services import save_twin
me, meeting_point = int(sys.argv[1]), pathlib.Path(sys.argv[2])
(meeting_point / str(me)).touch()
while not (meeting_point / str(1 - me)).exists():
    time.sleep(0.001)
for step in range({SAVES}):
    version, created = save_twin(text=documents.twin(100 * me + step))
    print(version.number)
"""


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_two_saves_at_the_same_time_get_two_numbers(database, tmp_path) -> None:
    with migrated_database(database, tmp_path) as url:
        environment = {
            **os.environ,
            "DATABASE_URL": url,
            "AGENTTWIN_DATA_DIR": str(tmp_path),
            "DJANGO_SETTINGS_MODULE": "agenttwin_site.settings",
            "PYTHONPATH": str(ROOT),
        }
        savers = [
            subprocess.Popen(
                [sys.executable, "-c", SAVER, str(me), str(tmp_path)],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for me in (0, 1)
        ]
        ended = [saver.communicate(timeout=120) for saver in savers]
    assert [saver.returncode for saver in savers] == [0, 0], [error for _, error in ended]
    numbers = sorted(int(number) for out, _ in ended for number in out.split())
    assert numbers == list(range(1, 2 * SAVES + 1))
