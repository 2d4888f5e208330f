"""Members of tar archives, read from a stream and written to one; nothing is ever extracted.

::

    header of 512 bytes │ data, padded to 512 bytes │ header │ ... │ 1,024 zero bytes

Headers are those of ustar, GNU (long names) and pax (long names, large sizes). What is read is held
in memory, so its size is limited; links, devices and sparse files are errors.
"""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tfrecord_lite.errors import DataLossError, InvalidArgumentError, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.apps.tables.byte_files import Content

BLOCK_BYTES = 512
_MAX_EXTENSION_BYTES = 1024 * 1024
"""A long name, or the settings of pax, are no larger than this."""
_READ_AT_ONCE = 4 * 1024 * 1024
_END = bytes(BLOCK_BYTES)
_FILES, _LONG_NAME, _SETTINGS = b"0\0007", b"L", b"x"
_IGNORED = b"gK5"
"""Settings for all members, targets of links, directories."""
_KINDS = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a pipe",
    b"S": "a sparse file",
}


class Member(NamedTuple):
    """A file in an archive."""

    name: str
    offset: int
    """Of its header in the archive, decompressed."""
    size: int


class TarReader:
    """The files of an archive, in order; the data of each is read or skipped before the next."""

    def __init__(self, content: Content, max_bytes: int) -> None:
        self._name, self._max_bytes = content.name, max_bytes
        self._file = io.BufferedReader(cast("Any", content), 256 * 1024)
        self._offset = 0
        self._left = self._padding = 0

    def members(self) -> Iterator[Member]:
        """Yield the files up to the end of the archive, which must be marked."""
        name: str | None = None
        size: int | None = None
        while True:
            self._skip(self._left + self._padding)
            self._left = self._padding = 0
            offset = self._offset
            header = self._read(BLOCK_BYTES, offset)
            if header == _END:
                self._check_end()
                return
            kind, found_name, found_size = self._parsed(header, offset)
            if kind == _LONG_NAME:
                name = self._text(self._extension(found_size, offset).rstrip(b"\0"), offset)
            elif kind == _SETTINGS:
                name, size = self._settings(self._extension(found_size, offset), offset, name, size)
            elif kind in _FILES:
                self._left = found_size if size is None else size
                self._padding = -self._left % BLOCK_BYTES
                yield Member(found_name if name is None else name, offset, self._left)
                name = size = None
            elif kind in _IGNORED:
                self._left = found_size
                self._padding = -found_size % BLOCK_BYTES
                name, size = (name, size) if kind == b"K" else (None, None)
            else:
                what = _KINDS.get(kind, f"of type {kind!r}")
                detail = f"{found_name[:200]!r} is {what}; only files can be members of samples"
                raise InvalidArgumentError(Reason.UNSUPPORTED, offset, self._name, detail=detail)

    def data(self, member: Member) -> bytes:
        """Return the data of the last member."""
        if member.size > self._max_bytes:
            detail = f"member {member.name[:200]!r} has {member.size:,} bytes, above the limit of "
            detail += f"{self._max_bytes:,}"
            raise self._loss(Reason.RECORD_TOO_LARGE, member.offset, detail)
        data = self._read(self._left, member.offset)
        self._left = 0
        return data

    def _extension(self, size: int, offset: int) -> bytes:
        if size > _MAX_EXTENSION_BYTES:
            raise self._loss(
                Reason.RECORD_TOO_LARGE, offset, f"a header of {size:,} bytes in a tar archive"
            )
        data = self._read(size, offset)
        self._skip(-size % BLOCK_BYTES)
        return data

    def _settings(
        self, data: bytes, offset: int, name: str | None, size: int | None
    ) -> tuple[str | None, int | None]:
        """Return the name and size that pax's settings tell: ``LENGTH NAME=VALUE`` and a newline."""
        while data:
            digits, _, rest = data.partition(b" ")
            length = int(digits) if digits.isdigit() and len(digits) < 8 else 0
            if not len(digits) + 3 <= length <= len(data) or data[length - 1 : length] != b"\n":
                raise self._loss(Reason.MALFORMED, offset, "a header of pax that is damaged")
            word, _, value = rest[: length - len(digits) - 2].partition(b"=")
            data = data[length:]
            if word == b"path":
                name = self._text(value, offset)
            elif word == b"size":
                size = int(value) if value.isdigit() and len(value) < 20 else -1
                if size < 0:
                    raise self._loss(Reason.MALFORMED, offset, "a header of pax that is damaged")
            elif word.startswith(b"GNU.sparse"):
                detail = "a sparse file; only plain files can be members of samples"
                raise InvalidArgumentError(Reason.UNSUPPORTED, offset, self._name, detail=detail)
        return name, size

    def _parsed(self, header: bytes, offset: int) -> tuple[bytes, str, int]:
        """Return the type, name and size in a header."""
        stored = header[148:156].strip(b" \0")
        total = sum(header) - sum(header[148:156]) + 8 * 32
        if not stored.isdigit() or len(stored) > 7 or b"8" in stored or b"9" in stored:
            raise self._loss(Reason.MALFORMED, offset, "this is not a header of a tar archive")
        if int(stored, 8) != total:
            detail = "the checksum of this tar header is wrong"
            raise self._loss(Reason.MALFORMED, offset, detail)
        name = header[:100].rstrip(b"\0")
        prefix = header[345:500].partition(b"\0")[0]
        if prefix and header[257:263] == b"ustar\0":
            name = prefix + b"/" + name
        text = self._text(name.partition(b"\0")[0], offset)
        return header[156:157], text, self._size(header[124:136], offset)

    def _size(self, digits: bytes, offset: int) -> int:
        if digits[0] == 0x80:  # binary, of GNU
            return int.from_bytes(digits[1:], "big")
        octal = digits.strip(b" \0") or b"0"
        if not octal.isdigit() or b"8" in octal or b"9" in octal:
            raise self._loss(Reason.MALFORMED, offset, "a tar header without a size")
        return int(octal, 8)

    def _text(self, name: bytes, offset: int) -> str:
        try:
            return name.decode()
        except UnicodeDecodeError:
            detail = f"the name of a member is not UTF-8: {name[:100]!r}"
            raise self._loss(Reason.MALFORMED, offset, detail) from None

    def _read(self, n_bytes: int, offset: int) -> bytes:
        data = self._file.read(min(n_bytes, _READ_AT_ONCE))
        if len(data) < n_bytes:  # nothing is allocated for what a header only claims
            parts = [data]
            while parts[-1] and n_bytes > sum(map(len, parts)):
                parts.append(self._file.read(min(n_bytes - sum(map(len, parts)), _READ_AT_ONCE)))
            data = b"".join(parts)
        self._offset += len(data)
        if len(data) < n_bytes:
            detail = (
                f"the tar archive ends at byte {self._offset:,}, within a member or before its "
            )
            detail += "end is marked: is it cut short?"
            raise self._loss(Reason.TRUNCATED, offset, detail)
        return data

    def _skip(self, n_bytes: int) -> None:
        while n_bytes:
            part = min(n_bytes, _READ_AT_ONCE)
            self._read(part, self._offset)
            n_bytes -= part

    def _check_end(self) -> None:
        """Read the padding after the end; raise if there is more than zeros."""
        while data := self._file.read(_READ_AT_ONCE):
            if data.count(0) != len(data):
                detail = "there is more after the end of the tar archive: were two joined?"
                raise self._loss(Reason.TRAILING_DATA, self._offset, detail)
            self._offset += len(data)

    def _loss(self, reason: Reason, offset: int, detail: str) -> DataLossError:
        return DataLossError(reason, offset, self._name, detail=detail)


def header_of(name: str, size: int) -> bytes:
    """Return the header, or headers, of a file; of pax only where ustar does not have it."""
    encoded = name.encode()
    if len(encoded) >= 100 or size >= 8**11 or not name.isascii():
        info = tarfile.TarInfo(name)
        info.size = size
        return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")
    head = b"%s0000644\0000000000\0000000000\000%011o\00000000000000\0" % (
        encoded.ljust(100, b"\0"),
        size,
    )
    tail = b"0" + bytes(100) + b"ustar\00000" + bytes(64) + b"0000000\0000000000\0" + bytes(167)
    return b"%s%06o\0 %s" % (head, sum(head) + sum(tail) + 8 * 32, tail)


def padding_of(size: int) -> bytes:
    """Return the zeros after the data of a file."""
    return bytes(-size % BLOCK_BYTES)
