"""The Celery worker that a server without a broker brings along: a child that never outlives its parent."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

_PR_SET_PDEATHSIG = 1
# A worker that ends sooner than this after its start is broken rather than unlucky.
_HEALTHY_SECONDS = 10.0
_MAX_FAILED_STARTS = 3
# Told to stop, a worker finishes the chunk in hand (they aim at 2 s) and then takes up to 8 s to take its
# pool apart. Nothing is lost by not waiting for that: what is not finished is claimed again after its lease.
_STOP_SECONDS = 4.0
# In a container the server is often root; the worker is nothing more than the server already is.
_NO_ROOT_WARNING = "ignore:You're running the worker with superuser"

# Looked up before the fork: the child must not load anything between fork and exec.
_libc = ctypes.CDLL(None, use_errno=True)


class WorkerProcess:
    """Runs ``celery worker`` with its beat until `stop`; starts it again if it dies on its own.

    `on_give_up` is called once, from the watching thread, when the worker keeps failing. The worker ends with
    this process even if that is killed: the kernel sends it SIGTERM when the thread that started it is gone.
    """

    def __init__(self, *, concurrency: int, on_give_up: Callable[[], None]) -> None:
        self._concurrency = concurrency
        self._on_give_up = on_give_up
        self._stopping = threading.Event()
        self._folder = tempfile.TemporaryDirectory(prefix="agenttwin-beat-")
        self._process: subprocess.Popen[bytes] | None = None
        # The thread that starts the worker must live as long as the worker: see PR_SET_PDEATHSIG.
        self._thread = threading.Thread(target=self._watch, name="worker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the worker with all its children: politely first, then for good."""
        self._stopping.set()
        process = self._process
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._kill(process)
        self._thread.join(_STOP_SECONDS)
        self._folder.cleanup()

    def _watch(self) -> None:
        failed_starts = 0
        while not self._stopping.is_set():
            started = time.monotonic()
            self._process = self._spawn()
            code = self._process.wait()
            # Pool children and beat are in the worker's group: none may go on without it.
            self._kill(self._process)
            if self._stopping.is_set():
                return
            failed_starts = 0 if time.monotonic() - started > _HEALTHY_SECONDS else failed_starts + 1
            print(f"The worker ended by itself (status {code}).", file=sys.stderr, flush=True)  # noqa: T201
            if failed_starts >= _MAX_FAILED_STARTS:
                self._on_give_up()
                return
            self._stopping.wait(1.0)

    def _spawn(self) -> subprocess.Popen[bytes]:
        parent = os.getpid()

        def die_with_parent() -> None:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            # The parent may have died before the line above took effect.
            if os.getppid() != parent:
                os._exit(1)

        options = ["worker", "--beat", "--schedule", str(Path(self._folder.name) / "schedule")]
        options += ["--concurrency", str(self._concurrency), "--without-mingle", "--without-gossip"]
        options += ["--loglevel", "WARNING"]
        return subprocess.Popen(  # noqa: S603 - our own interpreter and fixed words
            [sys.executable, "-W", _NO_ROOT_WARNING, "-m", "celery", "-A", "agenttwin_site", "-q", *options],
            stdin=subprocess.DEVNULL,
            env=_environment(),
            # Its own group, so that Ctrl-C in the terminal reaches only the server, which then stops it.
            start_new_session=True,
            preexec_fn=die_with_parent,
        )

    @staticmethod
    def _kill(process: subprocess.Popen[bytes]) -> None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return


def _environment() -> dict[str, str]:
    """Ours, with the project importable: `serve` may have been started from any folder."""
    paths = [str(settings.BASE_DIR), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
