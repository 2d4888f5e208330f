"""Serve a folder over HTTP as a store far away: ``python -m benchmarks.server FOLDER LATENCY BANDWIDTH``.

LATENCY is in seconds, before each answer; BANDWIDTH in bytes a second, of each connection, 0 without limit.
Prints the port, and ends with its standard input.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_PIECE_BYTES = 256 * 1024


class Server(ThreadingHTTPServer):
    """Answers each request after a while, at a pace."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, folder: Path, latency: float, bandwidth: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.latency, self.bandwidth = latency, bandwidth
        self.content = cache(lambda name: (folder / name).read_bytes())


class Handler(BaseHTTPRequestHandler):
    """Answers for a whole file, or for a range of it."""

    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        """Answer without the content."""
        self._answer(has_content=False)

    def do_GET(self) -> None:
        """Answer with the content."""
        self._answer(has_content=True)

    def _answer(self, *, has_content: bool) -> None:
        time.sleep(self.server.latency)
        try:
            data = memoryview(self.server.content(Path(self.path).name))
        except OSError:
            self.send_error(404)
            return
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        first, last = (asked[1], asked[2]) if asked else (0, "")
        part = data[int(first) : int(last or len(data)) + 1]
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(part)))
        if asked:
            span = f"{first}-{int(first) + len(part) - 1}"
            self.send_header("Content-Range", f"bytes {span}/{len(data)}")
        self.end_headers()
        start, done = time.monotonic(), 0
        while has_content and done < len(part):
            self.connection.sendall(part[done : done + _PIECE_BYTES])
            done += _PIECE_BYTES
            if self.server.bandwidth:
                time.sleep(max(start + done / self.server.bandwidth - time.monotonic(), 0))


if __name__ == "__main__":
    server = Server(Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
