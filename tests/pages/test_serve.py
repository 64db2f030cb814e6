"""`manage.py serve`: pages and worker start and stop as one thing."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.pages import served
from tests.pages.served import ROOT, Served, answers, free_port, processes_with, serving, start_serving


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """A site with an empty, migrated database."""
    return served.bare(tmp_path_factory.mktemp("bare"))


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The worker of this server with its pool and beat, once all of them are there."""
    children = Path(f"/proc/{process.pid}/task")
    until = time.monotonic() + 90
    while time.monotonic() < until:
        try:
            direct = {
                int(pid) for task in children.iterdir() for pid in (task / "children").read_text().split()
            }
            found = processes_with("-A agenttwin_site -q worker")
            groups = [pid for pid in found if os.getpgid(pid) in direct]
        except (FileNotFoundError, ProcessLookupError):
            groups = []  # a thread or process ended while it was looked at
        if len(groups) >= 3:
            return groups
        time.sleep(0.1)
    raise AssertionError("the worker does not come up")


def wait_until_gone(pids: list[int], seconds: float = 90) -> None:
    until = time.monotonic() + seconds
    while any(Path(f"/proc/{pid}").exists() and "Z" not in _state(pid) for pid in pids):
        assert time.monotonic() < until, f"still there: {pids}"
        time.sleep(0.1)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_listens_and_stops_whole(bare: Served, number: signal.Signals) -> None:
    with serving(bare) as process:
        workers = workers_of(process)
        process.send_signal(number)
        process.wait(30)

    said = bare.said
    assert process.returncode == 0
    assert f"http://127.0.0.1:{bare.port}/" in said
    assert said.rstrip().endswith("Stopped.")
    assert "behind" not in said
    wait_until_gone(workers, 1)
    assert not answers(bare.url + "/login/")


def test_a_server_that_is_killed_takes_its_worker_along(bare: Served) -> None:
    with serving(bare) as process:
        workers = workers_of(process)
        process.kill()
        process.wait()
        # The worker ends in its own time, as after any SIGTERM.
        wait_until_gone(workers)
        assert not answers(bare.url + "/login/")


def test_a_worker_that_dies_is_started_again(bare: Served) -> None:
    with serving(bare) as process:
        first = workers_of(process)
        os.kill(min(first), signal.SIGKILL)
        wait_until_gone(first)
        second = workers_of(process)

    assert not set(first) & set(second)


def test_it_may_be_started_in_any_folder(bare: Served, tmp_path: Path) -> None:
    with serving(bare, started_in=tmp_path) as process:
        workers_of(process)

    assert "ended by itself" not in bare.said


def test_a_port_that_is_taken_is_said_with_status_2(bare: Served) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "manage.py", "serve", "--port", str(port)],
            cwd=ROOT,
            env=bare.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 2
    assert f"Cannot listen on 127.0.0.1, port {port}: address already in use" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("is_taken", [True, False])
def test_the_demo_asks_for_its_port_before_anything_else(bare: Served, is_taken: bool) -> None:
    recipe = (ROOT / "Makefile").read_text().split("\ndemo:")[1].split("\n\n")[0].splitlines()[1:]
    assert recipe[0].strip() == "@$(MANAGE) serve --port $(PORT) --check"
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        if is_taken:
            holder.listen()
        else:
            holder.close()
        done = subprocess.run(
            [sys.executable, "manage.py", "serve", "--port", str(port), "--check"],
            cwd=ROOT, env=bare.environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == (2 if is_taken else 0)
    assert done.stdout == ""
    assert ("address already in use. Choose another with --port N." in done.stderr) is is_taken


@pytest.mark.parametrize("arguments", [["--port", "70000"], ["--port", "http"], ["--concurrency", "0"]])
def test_arguments_that_cannot_be_meant_are_status_2(bare: Served, arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "serve", *arguments],
        cwd=ROOT,
        env=bare.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert "must be a number" in done.stderr


def test_a_database_behind_is_said_and_left_alone(tmp_path: Path) -> None:
    site = Served(tmp_path, free_port())
    # Nothing is migrated: the pages cannot be shown, and the friendly 503 says what to do.
    process = start_serving(site)
    try:
        workers_of(process)
        asked = urllib.request.Request(
            f"{site.url}/comparisons/", headers={"Cookie": f"sessionid={'a' * 32}"}
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(asked, timeout=30)
    finally:
        process.terminate()
        process.wait(30)

    assert (refused.value.code, refused.value.headers["Retry-After"]) == (503, "5")
    assert b"The database does not answer" in refused.value.read()
    assert "The database is behind" in site.said
    assert "manage.py migrate" in site.said
    assert not site.run("showmigrations", "--plan").count("[X]")
