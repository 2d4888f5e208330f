#!/usr/bin/env bash
# isal 1.9.1: isal_zlib.decompressobj rejects valid gzip headers that come in pieces.
#
# Seen: a gzip header with its own checksum (FHCRC), or with an extra field and a name, is read if all of it is in the
# first call. In smaller pieces, as a socket or a buffer may deliver it, decompress() raises "Incorrect checksum found"
# or "Invalid deflate block found". A header with one optional part but no checksum is fine in any pieces. zlib's
# decompressobj, of which this is a drop-in replacement, reads all of them byte by byte.
#
# Prints what it saw, and fails if that is no longer so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet isal==1.9.1
cd "$folder"
env/bin/python - <<'PYTHON'
import zlib

from isal import isal_zlib

TEXT = b"hello world " * 20


def gzip_file(flags, parts):
    """Return a gzip member, as RFC 1952 has it; flag 2 is a checksum of the header."""
    header = bytes([31, 139, 8, flags, 0, 0, 0, 0, 0, 255]) + parts
    if flags & 2:
        header += (zlib.crc32(header) & 0xFFFF).to_bytes(2, "little")
    compressor = zlib.compressobj(wbits=-15)
    body = compressor.compress(TEXT) + compressor.flush()
    return header + body + zlib.crc32(TEXT).to_bytes(4, "little") + len(TEXT).to_bytes(4, "little")


def read(module, data, n_bytes):
    inflate = module.decompressobj(31)
    try:
        pieces = (data[i : i + n_bytes] for i in range(0, len(data), n_bytes))
        return b"".join(map(inflate.decompress, pieces)) == TEXT
    except module.error as error:
        return str(error)


extra, name = b"\x06\0abcdef", b"name\0"
files = {
    "no option": gzip_file(0, b""),
    "extra": gzip_file(4, extra),
    "name": gzip_file(8, name),
    "name and checksum": gzip_file(8 | 2, name),
    "extra and name": gzip_file(4 | 8, extra + name),
}
for what, data in files.items():
    seen = [read(isal_zlib, data, n_bytes) for n_bytes in (len(data), 5, 1)]
    print(what, seen)
    assert [read(zlib, data, n_bytes) for n_bytes in (len(data), 5, 1)] == [True] * 3
    assert seen[0] is True
    is_rejected = what in ("name and checksum", "extra and name")
    assert all(isinstance(each, str) == is_rejected for each in seen[1:])
PYTHON
