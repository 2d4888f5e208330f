#!/usr/bin/env bash
# s3fs 2026.9.0: cat_file(path, start, end) by position takes the start for a version.
#
# Seen: fsspec's cat_file is (path, start=None, end=None); s3fs has version_id before start, so that a
# start given by position is taken for a version, and the end for the start: 2 and 5 raise
# ParamValidationError about VersionId, 0 and 5 return the object from byte 5 on. With keywords the range
# comes back.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet s3fs==2026.9.0 fsspec==2026.9.0 'moto[server]==5.2.5'
"$folder/env/bin/python" - 2>"$folder/log" <<'PYTHON'
import inspect

import fsspec
import s3fs
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
store = s3fs.S3FileSystem(key="a", secret="b", endpoint_url=f"http://{host}:{port}")
store.mkdir("bucket")
store.pipe_file("bucket/x", b"0123456789")


def cat(*places, **named):
    try:
        return store.cat_file("bucket/x", *places, **named)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


seen = {
    "fsspec": list(inspect.signature(fsspec.AbstractFileSystem.cat_file).parameters)[1:4],
    "s3fs": list(inspect.signature(s3fs.S3FileSystem._cat_file).parameters)[1:4],
    "by position": cat(2, 5),
    "from 0 by position": cat(0, 5),
    "by keyword": cat(start=2, end=5),
}
server.stop()
print(seen)
assert seen["by keyword"] == b"234"
assert seen["by position"].startswith("ParamValidationError")
assert seen["from 0 by position"] == b"56789"
PYTHON
