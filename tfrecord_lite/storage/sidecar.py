"""Schema files: our sidecars, written and read, and those of other programs, read.

A sidecar is a Schema's JSON with the stamp of its data, and for data that are no flat dict
their structure::

    {
      "format": "tfrecord_lite.Schema",
      "version": 1,
      "features": {"0": {...}, "1": {...}},
      "data": {"bytes": 123, "crc32_of_head": 456},
      "structure": ["0", "1"]
    }

So it can be read by :meth:`Schema.from_json` too, which leaves those aside. A sidecar
without a stamp is of any data.

Of which data a sidecar speaks: their size, and a checksum of how they begin.

Two files cannot appear at once. A sidecar that names its data can appear first: whatever
a crash leaves, other data than its own are told, and never read by it.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from typing import TYPE_CHECKING, Any, TypeAlias

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.files.input import open_input
from tfrecord_lite.files.names import local_size, name_of, remote_place
from tfrecord_lite.files.output import open_output
from tfrecord_lite.schema import Schema
from tfrecord_lite.storage.formats import superserial, tfds
from tfrecord_lite.storage.structure import checked, is_plain

if TYPE_CHECKING:
    from tfrecord_lite.files.output import OutputFile
    from tfrecord_lite.storage.structure import Structure

    Path = str | os.PathLike[str]

SUFFIX = ".schema.json"
"""Added to a data file's name for that of its sidecar."""

_MOST_BYTES = 256 * 1024 * 1024
_READ_BYTES = 1024 * 1024
_FORMAT = "tfrecord_lite.Schema"
_TFX_NAMES = (".pbtxt", ".textproto", ".prototxt")
_TFX = re.compile(
    rb"^\s*(feature|sparse_feature|string_domain|int_domain|float_domain"
    rb"|tensor_representation_group)\s*:?\s*\{",
    re.MULTILINE,
)


def load_schema(path: Path) -> Schema:
    """Read a schema file: our own, or one of Super Serial, TFDS or TFX.

    Parameters
    ----------
    path : str or PathLike
        A path or URL; or a directory with TFDS's ``features.json``. Which kind of file it
        is, its content says.

    Returns
    -------
    Schema
        With the original dtypes and shapes, as far as the file has them.

    Raises
    ------
    FileNotFoundError
        If it is not there.
    ImportError
        For a Super Serial header, if PyYAML is not installed.
    InvalidArgumentError
        ``BAD_ARGUMENT`` if the content is none of these; ``UNSUPPORTED`` for features that
        cannot be read, with the feature's name in `key`. `source` is the file.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "header.yaml")
    >>> with open(path, "w") as file:
    ...     _ = file.write("image: {dtype: 4, shape: [28, 28]}")
    >>> load_schema(path)
    Schema of 1 feature
    name   specification    dtype  shape     original
    -----  ---------------  -----  --------  --------------
    image  FixedLenFeature  int64  [28, 28]  uint8 [28, 28]
    """
    return read(path)[0]


def read_beside(path: Path) -> tuple[Schema, Structure | None]:
    """Read the sidecar of a data file.

    Raises
    ------
    FileNotFoundError
        If there is none, or no data.
    InvalidArgumentError
        As :func:`load_schema`; ``BAD_ARGUMENT`` if it names other data than those.
    """
    return read(f"{name_of(path)}{SUFFIX}", of_data=name_of(path))


def read(path: Path, *, of_data: str | None = None) -> tuple[Schema, Structure | None]:
    """Read a schema file, and the structure if it has one; errors as :func:`load_schema`."""
    name = os.fspath(path)
    if os.path.isdir(name):  # noqa: PTH112 - may be a URL
        name = os.path.join(name, "features.json")  # noqa: PTH118
    data = _bytes_of(name)
    try:
        return _parsed(name, data.removeprefix(b"\xef\xbb\xbf"), of_data)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(
            error.reason, None, name, error.index, error.key, error.detail
        ) from None


def _parsed(name: str, data: bytes, of_data: str | None) -> tuple[Schema, Structure | None]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:4]:
        detail = "a schema file is UTF-8 text; this is UTF-16, UTF-32 or no text at all"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    if data.lstrip()[:1] == b"{":
        return _from_json(name, data, of_data)
    if name.endswith(_TFX_NAMES) or _TFX.search(data):
        from tfrecord_lite.storage.formats import tfx  # noqa: PLC0415 - loads the protobuf runtime

        return tfx.from_text(data), None
    return superserial.from_yaml(data), None


def _from_json(name: str, data: bytes, of_data: str | None) -> tuple[Schema, Structure | None]:
    try:
        found: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        detail = f"a schema file that is not JSON: {type(error).__name__}"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail) from None
    if found.get("format") == _FORMAT:
        schema = Schema.from_json(data)
        if of_data is not None and "data" in found and found["data"] != stamp_of(of_data):
            detail = (
                f"the sidecar is of other data than {of_data}, which may have been changed since, "
                "or its saving did not end; if it does fit, give it as schema_path"
            )
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        if "structure" not in found:
            return schema, None
        return schema, checked(found["structure"], schema)
    if tfds.is_features(found):
        return tfds.from_json(data, _info_beside(name)), None
    if isinstance(found.get("format"), str) or not _is_header(found):
        detail = (
            f'JSON that is no schema: expected a sidecar with "format": "{_FORMAT}", '
            "a features.json of TFDS, or a header of Super Serial with a shape and a dtype "
            "for each feature"
        )
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    return superserial.from_mapping(found), None


def _is_header(found: dict[str, Any]) -> bool:
    """Whether some feature has what those of Super Serial have."""
    return any(isinstance(item, dict) and {"shape", "dtype"} & {*item} for item in found.values())


def _info_beside(name: str) -> bytes | None:
    """Return TFDS's other file, if it is there."""
    folder, base = os.path.split(name)
    if base != "features.json":
        return None
    try:
        return _bytes_of(os.path.join(folder, "dataset_info.json"))  # noqa: PTH118 - as above
    except FileNotFoundError:
        return None


def _bytes_of(name: str) -> bytes:
    """Read a whole file, which must not be larger than any schema."""
    file = open_input(name)
    data = bytearray()
    try:
        while chunk := file.read(_READ_BYTES):
            data += chunk
            if len(data) > _MOST_BYTES:
                detail = f"more than {_MOST_BYTES} bytes; is this a schema file?"
                raise InvalidArgumentError(Reason.BAD_ARGUMENT, source=name, detail=detail)
    finally:
        file.close()
    return bytes(data)


def write(path: Path, schema: Schema, structure: Structure, stamp: Stamp) -> OutputFile:
    """Write a sidecar beside its place; the caller commits it, or abandons it."""
    document = {**json.loads(schema.to_json()), "data": stamp}
    if not is_plain(structure) or not isinstance(structure, dict):
        document["structure"] = structure
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    file = open_output(name_of(path), atomic=True)
    try:
        file.write([text.encode()])
        file.finish()
    except BaseException:
        file.abandon()
        raise
    return file


Stamp: TypeAlias = dict[str, int]
"""``bytes``, the size of the file; ``crc32_of_head``, of its first 64 KiB."""

_HEAD_BYTES = 64 * 1024


class Stamped:
    """A file object to write to, that makes the stamp of what is written.

    Parameters
    ----------
    file : OutputFile
    """

    def __init__(self, file: OutputFile) -> None:
        self.name = file.name
        self._file = file
        self._n_bytes = 0
        self._crc32 = 0
        self._is_wanted = True

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write all of `data`."""
        view = memoryview(data).cast("B")
        if self._is_wanted:
            self._file.write([view])
            if self._n_bytes < _HEAD_BYTES:
                self._crc32 = zlib.crc32(view[: _HEAD_BYTES - self._n_bytes], self._crc32)
            self._n_bytes += len(view)
        return len(view)

    def abandon(self) -> None:
        """Remove the file; what is written from now on goes nowhere."""
        self._is_wanted = False
        self._file.abandon()

    @property
    def stamp(self) -> Stamp:
        """Of what was written so far."""
        return {"bytes": self._n_bytes, "crc32_of_head": self._crc32}


def stamp_of(name: str) -> Stamp:
    """Return the stamp of a file, by its path or URL.

    Raises
    ------
    FileNotFoundError
        If it is not there.
    """
    file = open_input(name)
    n_bytes = crc32 = 0
    try:
        while n_bytes < _HEAD_BYTES and (data := file.read(_HEAD_BYTES - n_bytes)):
            crc32 = zlib.crc32(data, crc32)
            n_bytes += len(data)
    finally:
        file.close()
    if n_bytes == _HEAD_BYTES:
        n_bytes = _size_of(name)
    return {"bytes": n_bytes, "crc32_of_head": crc32}


def _size_of(name: str) -> int:
    size = local_size(name)
    if size is not None:
        return size
    filesystem, path = remote_place(name)
    return int(filesystem.size(path))
