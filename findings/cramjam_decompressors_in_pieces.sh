#!/usr/bin/env bash
# cramjam 2.14.0: Decompressor objects take no stream in pieces: each call needs all of one.
#
# Seen: each format has a Compressor and a Decompressor with the methods compress, decompress, flush and finish. What a
# Compressor was given in pieces comes back. A Decompressor raises OSError at the first piece that is not a whole stream
# ("incomplete deflate stream", "incomplete frame"), for gzip, zlib, deflate, bzip2, zstd, lz4, xz, snappy and brotli, where
# zlib.decompressobj and bz2.BZ2Decompressor wait for more. Expected: that, as its counterpart takes pieces.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet cramjam==2.14.0
cd "$folder"
env/bin/python - 2>log <<'PYTHON' || { tail -5 log; exit 1; }
import zlib

import cramjam

data = b"abcdefghij" * 1000
formats = ("gzip", "zlib", "deflate", "bzip2", "zstd", "lz4", "xz", "snappy", "brotli")
seen = {}
for name in formats:
    module = getattr(cramjam, name)
    compressor = module.Compressor()
    for start in range(0, len(data), 100):
        compressor.compress(data[start : start + 100])
    stream = bytes(compressor.finish())
    whole = module.Decompressor()
    whole.decompress(stream)
    assert bytes(whole.finish()) == data
    pieces = module.Decompressor()
    half = len(stream) // 2
    try:
        pieces.decompress(stream[:half])
        pieces.decompress(stream[half:])
        seen[name] = f"{len(bytes(pieces.finish()))} bytes"
    except OSError as error:
        seen[name] = f"OSError: {error}"
print(seen)
inflater = zlib.decompressobj()
stream = zlib.compress(data)
assert inflater.decompress(stream[:10]) + inflater.decompress(stream[10:]) == data
assert all(text.startswith("OSError") for text in seen.values())
PYTHON
