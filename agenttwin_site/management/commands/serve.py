"""`manage.py serve`: the pages, and without a broker the worker too, as one thing that starts and stops."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import warnings
from types import FrameType
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import DatabaseError

from agenttwin_site.worker_process import WorkerProcess

_GRACE_SECONDS = 5


class Command(BaseCommand):
    """Serve the pages until Ctrl-C or SIGTERM.

    Exit status: 0 stopped (with --check: it could be started), 1 the worker cannot be kept running, 2 wrong
    arguments or the port is taken.
    """

    help = "Serves the pages; without a configured broker it also runs the worker. Ctrl-C stops both."
    # The server itself must come up in a second; what is wrong with the database it says below.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=_port, default=8000, help="where to listen (8000)")
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (this machine alone)")
        parser.add_argument("--check", action="store_true", help="only say whether it could listen there")
        parser.add_argument("--concurrency", type=_count, default=2, help="processes of the own worker (2)")

    def handle(self, *args: Any, **options: Any) -> None:
        host, port = options["host"], options["port"]
        listener = _listen(host, port)
        if options["check"]:
            listener.close()
            return
        _tell_agents(host, listener.getsockname()[1])
        self._say_if_behind()
        # Static files are small and whole in memory; WhiteNoise may hand them over synchronously.
        warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")
        server = uvicorn.Server(
            uvicorn.Config(
                "agenttwin_site.asgi:application",
                # On the asyncio loop kept-alive requests wait 40 ms for TCP_NODELAY.
                loop="uvloop",
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
        gave_up = False

        def give_up() -> None:
            nonlocal gave_up
            gave_up = True
            server.should_exit = True

        worker = None
        if not settings.BROKER_IS_CONFIGURED:
            worker = WorkerProcess(concurrency=options["concurrency"], on_give_up=give_up)
        # uvicorn sends the signal that stopped it once more when it is done; without a handler of our own
        # SIGTERM would then end this process before the worker was told.
        signal.signal(signal.SIGTERM, _leave)
        try:
            if worker is not None:
                worker.start()
            self._say_where(host, listener.getsockname()[1], has_worker=worker is not None)
            server.run(sockets=[listener])
        except (KeyboardInterrupt, SystemExit):
            pass
        finally:
            # A second Ctrl-C must not leave the worker behind.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if worker is not None:
                worker.stop()
            listener.close()
        if gave_up:
            raise CommandError("The worker could not be kept running, so nothing would be compared. Stopped.")
        self.stdout.write("Stopped.")

    def _say_where(self, host: str, port: int, *, has_worker: bool) -> None:
        shown = f"[{host}]" if ":" in host else host
        with_what = "with its own worker" if has_worker else "work is done by the workers of the broker"
        self.stdout.write(f"AgentTwin listens on http://{shown}:{port}/ ({with_what}). Ctrl-C stops it.")
        if shown not in settings.ALLOWED_HOSTS and "*" not in settings.ALLOWED_HOSTS:
            allowed = ", ".join(settings.ALLOWED_HOSTS)
            self.stdout.write(f"It answers to the names {allowed}; others belong in DJANGO_ALLOWED_HOSTS.")
        self.stdout.flush()

    def _say_if_behind(self) -> None:
        try:
            executor = MigrationExecutor(connection)
            missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
        except DatabaseError as error:
            self.stderr.write(f"The database does not answer: {error}. Pages will say so until it does.")
            return
        finally:
            connection.close()
        if missing:
            self.stderr.write(
                f"The database is behind: {len(missing)} migrations are not applied. Run: manage.py migrate"
            )


def _tell_agents(host: str, port: int) -> None:
    """Agents find their tools here, unless the operator named another address; the worker inherits it."""
    if not os.environ.get("AGENTTWIN_PUBLIC_URL"):
        reachable = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host  # noqa: S104 - compared, not bound
        shown = f"[{reachable}]" if ":" in reachable else reachable
        os.environ["AGENTTWIN_PUBLIC_URL"] = settings.AGENTTWIN_PUBLIC_URL = f"http://{shown}:{port}"


def _listen(host: str, port: int) -> socket.socket:
    """A socket bound to the address. Raises CommandError (status 2) if that is taken or not ours."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else str(error)
        raise CommandError(
            f"Cannot listen on {host}, port {port}: {reason}. Choose another with --port N.", returncode=2
        ) from None
    listener.set_inheritable(False)
    return listener


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 65535, got {text!r}")
    return int(text)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 64:
        raise argparse.ArgumentTypeError(f"must be a number from 1 to 64, got {text!r}")
    return int(text)
