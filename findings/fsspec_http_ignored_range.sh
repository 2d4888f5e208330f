#!/usr/bin/env bash
# fsspec 2026.9.0: cat_file(url, start, end) over HTTP returns the whole file if the server knows no ranges.
#
# Seen: Python's own http.server answers a request for a range with status 200 and all bytes. cat_file with start=2 and
# end=5, cat_file with start=-3 and cat_ranges return all of them, 10 bytes where 3 were asked for, and no error. An open
# file raises a ValueError about the same server when it is read from another place than its start. Memory and local file
# systems return the 3 bytes. Expected: the bytes of the range, cut from the answer, or that error.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet fsspec==2026.9.0 aiohttp==3.14.5
cd "$folder"
env/bin/python - <<'PYTHON'
import http.server
import threading

import fsspec

with open("digits", "wb") as file:
    file.write(b"0123456789")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/digits"
http_files, memory = fsspec.filesystem("http"), fsspec.filesystem("memory")
memory.pipe_file("/digits", b"0123456789")


def read_open():
    with http_files.open(url, "rb", block_size=4) as file:
        file.seek(2)
        try:
            return file.read(3)
        except ValueError as error:
            return str(error)


seen = {
    "cat_file": http_files.cat_file(url, start=2, end=5),
    "cat_file from the end": http_files.cat_file(url, start=-3),
    "cat_ranges": http_files.cat_ranges([url], [2], [5])[0],
    "open": read_open(),
    "in memory": memory.cat_file("/digits", start=2, end=5),
}
server.shutdown()
print(fsspec.__version__, seen)
for name in ("cat_file", "cat_file from the end", "cat_ranges"):
    assert seen[name] == b"0123456789"
assert "range requests" in seen["open"]
assert seen["in memory"] == b"234"
PYTHON
