"""A local HTTP server that answers range requests, counts them, and can answer wrongly."""

import http.server
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class FileServer(http.server.ThreadingHTTPServer):
    """Serves the bytes of `files`, by path.

    Each reset begins with another URL: requests that clients sent before, and that come late, count nowhere.

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
    absent : int
        The status of what is not among the files.
    ignores_ranges : bool
        Answer with the whole file.
    latency : float
        Seconds before each answer.
    refuse : callable
        Takes the first byte that is asked for, or None; returns a status to answer with instead, 1 to cut the
        connection in the middle of the answer, or 0.
    n_requests, n_at_once, most_at_once : int
        Number of requests; of those under way, now and at most.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock = threading.Lock()
        self.n_at_once = self.n_resets = 0
        self.reset()

    def reset(self) -> None:
        """Begin without files, as a server that answers rightly."""
        self.n_resets += 1
        self.files: dict[str, bytes] = {}
        self.cut = self.status = 0
        self.absent = 404
        self.ignores_ranges = False
        self.latency = 0.0
        self.refuse: Callable[[int | None], int] = lambda _: 0
        self.forget()

    def handle_error(self, *_: Any) -> None:
        """Take no notice of clients that have gone."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/{self.n_resets}"

    def forget(self) -> None:
        self.ranges: list[tuple[str, int, int]] = []
        self.heads = self.n_requests = self.most_at_once = 0

    @property
    def n_sent(self) -> int:
        return sum(n_bytes for _, _, n_bytes in self.ranges)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: FileServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(has_content=False)

    def do_GET(self) -> None:
        self._answer(has_content=True)

    def _answer(self, *, has_content: bool) -> None:
        server = self.server
        _, reset, path = self.path.split("/", 2)
        if reset != str(server.n_resets):
            self.close_connection = True
            return
        self.path = f"/{path}"
        with server.lock:
            server.n_at_once += 1
            server.n_requests += 1
            server.heads += not has_content
            server.most_at_once = max(server.most_at_once, server.n_at_once)
        try:
            time.sleep(server.latency)
            self._send(has_content=has_content)
        except ConnectionError:  # who asked has gone
            self.close_connection = True
        finally:
            with server.lock:
                server.n_at_once -= 1

    def _send(self, *, has_content: bool) -> None:
        server = self.server
        data = server.files.get(self.path)
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        refusal = server.refuse(int(asked[1]) if asked else None)
        status = server.status or (server.absent if data is None else 200)
        status = refusal if refusal > 1 else status
        if status != 200 or data is None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
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
            self.wfile.write(part[: len(part) // 2] if refusal == 1 else part)
            self.close_connection = refusal == 1


@contextmanager
def serving() -> Iterator[FileServer]:
    with FileServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
