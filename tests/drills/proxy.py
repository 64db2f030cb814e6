"""Outages on demand: a TCP proxy that can be stopped and started, so that no server of others is touched."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading


class Proxy:
    """Forwards a port of its own to one of this machine. While stopped, connections are refused."""

    def __init__(self, target: int) -> None:
        self._target = target
        self.port = 0
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.start()

    def start(self) -> None:
        """Listen, again on the port of before. Does nothing while it listens."""
        if self._listener is None:
            listener = socket.create_server(("127.0.0.1", self.port), backlog=100)
            self.port = listener.getsockname()[1]
            self._listener = listener
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def stop(self) -> None:
        """Refuse new connections and break those that are open, as a server that died."""
        listener, self._listener = self._listener, None
        if listener is not None:
            # A thread that waits in accept keeps the port: shutting down wakes it.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.cut()

    def cut(self) -> None:
        """Break the open connections; new ones are taken at once."""
        with self._lock:
            ends, self._open = self._open, set()
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            with self._lock:
                self._open |= {near, far}
                is_gone = self._listener is not listener
            threading.Thread(target=self._forward, args=(near, far), daemon=True).start()
            if is_gone:
                self.cut()

    def _forward(self, near: socket.socket, far: socket.socket) -> None:
        other = {near: far, far: near}
        with selectors.DefaultSelector() as ready, near, far:
            for end in other:
                ready.register(end, selectors.EVENT_READ)
            while True:
                for key, _ in ready.select():
                    source = key.fileobj
                    assert isinstance(source, socket.socket)
                    try:
                        data = source.recv(1 << 16)
                        if not data:
                            return
                        other[source].sendall(data)
                    except OSError:
                        return
