"""A local HTTP server that answers range requests, counts them, and can answer wrongly."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class FileServer(http.server.ThreadingHTTPServer):
    """Serves the bytes of `files`, by path.

    Attributes
    ----------
    ranges : list of tuple
        Path, first byte and number of bytes sent, of each answer with content.
    heads : int
        Number of HEAD requests.
    cut : int
        Leave out that many bytes at the end of each answer to a range request, without a word.
    status : int
        Answer with this status instead, if it is not 0.
    ignores_ranges : bool
        Answer with the whole file.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.ranges: list[tuple[str, int, int]] = []
        self.heads = self.cut = self.status = 0
        self.ignores_ranges = False

    @property
    def url(self) -> str:
        """The URL of the folder of all files."""
        return f"http://127.0.0.1:{self.server_port}"

    def forget(self) -> None:
        """Count from zero again."""
        self.ranges, self.heads = [], 0


class _Handler(http.server.BaseHTTPRequestHandler):
    server: FileServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.server.heads += 1
        self._answer(has_content=False)

    def do_GET(self) -> None:
        self._answer(has_content=True)

    def _answer(self, *, has_content: bool) -> None:
        server = self.server
        data = server.files.get(self.path)
        status = server.status or (404 if data is None else 200)
        if status != 200 or data is None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        first, part = 0, data
        if asked and not server.ignores_ranges:
            first, stop = int(asked[1]), min(int(asked[2]) + 1, len(data))
            part = data[first : max(stop - server.cut, first)]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{stop - 1}/{len(data)}")
        else:
            self.send_response(200)
            self.send_header("ETag", f'"{hash(data):x}"')
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        if has_content:
            server.ranges.append((self.path, first, len(part)))
            self.wfile.write(part)


@contextmanager
def serving() -> Iterator[FileServer]:
    """Run a server."""
    with FileServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
