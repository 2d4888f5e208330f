"""Schema files: sidecars, written and read, and the schemas of other programs, read.

A sidecar is a Schema's JSON with the fingerprint of its data, and with the structure of data that
are not a flat dict::

    {
      "format": "tfrecord_lite.Schema",
      "version": 1,
      "features": {"0": {...}, "1": {...}},
      "data": {"bytes": 123, "crc32_of_head": 456},
      "structure": ["0", "1"]
    }

The sidecar of a data frame has a ``"dataframe"`` instead of the structure. A sidecar without a fingerprint fits any
data. The fingerprint lets the sidecar appear before the data: after a crash, older data beside it are recognised.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tfrecord_lite import errors
from tfrecord_lite.block import HEADER_BYTES
from tfrecord_lite.described.structure import Structure, is_flat_dict, structure_of_json
from tfrecord_lite.errors import DataLossError, InvalidArgumentError, argument_error, errors_at
from tfrecord_lite.files import names
from tfrecord_lite.files.ahead import ReadAhead
from tfrecord_lite.files.compression import detect
from tfrecord_lite.files.input import open_seekable
from tfrecord_lite.files.names import Source, StorageOptions, is_url, name_of
from tfrecord_lite.files.remote import forget_listings
from tfrecord_lite.files.urls import is_http
from tfrecord_lite.options import SOME_COLUMNS, hinted
from tfrecord_lite.records.framing import is_header
from tfrecord_lite.schema import Schema, SequenceSchema
from tfrecord_lite.schema.features import Features
from tfrecord_lite.schema.text import FOR_SEQUENCES, FORMAT, SEQUENCE_FORMAT

if TYPE_CHECKING:
    from tfrecord_lite.convert.arrow import Description
    from tfrecord_lite.files.output import OutputFile

Path: TypeAlias = str | os.PathLike[str]
SchemaLike: TypeAlias = Path | Features | SequenceSchema
"""What a `schema` argument may be: a schema, specifications by name, or a schema file."""


_NEVER_SCHEMAS = ("a Git LFS", "an HTML", "XML", "the index", "a graph_schema")
"""How the recogniser of foreign files names texts that are not a schema either."""
_TFDS_INFO = "dataset_info.json"
_READ_BYTES = 1024 * 1024
_CHECKED_BYTES = 16 * 1024 * 1024
"""How far a file that does not fit its sidecar is looked through for damage."""
_TFX_NAMES = (".pbtxt", ".textproto", ".prototxt")
_TFX = (
    rb"(?m)^\s*(feature|sparse_feature|string_domain|int_domain|float_domain"
    rb"|tensor_representation_group)\s*:?\s*\{"
)


@hinted
def load_schema(path: Path, *, storage_options: StorageOptions = None) -> Schema | Any:
    """Read a schema file: a sidecar, or a file of Super Serial, TFDS, TFX or seqio.

    Parameters
    ----------
    path : str or PathLike
        A path or URL; or a directory of TensorFlow Datasets, as for :func:`tfds_info`.
    storage_options : dict, optional
        Options for fsspec, which opens URLs.

    Returns
    -------
    Schema, or SequenceSchema
        With the original dtypes and shapes that the file has, of all features that can be read.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ImportError
        For a Super Serial header, if PyYAML is not installed.
    InvalidArgumentError
        ``BAD_ARGUMENT`` if the content is in none of these formats; ``UNSUPPORTED`` if no feature
        can be read, with the name of the first in `key`. `source` is the file.

    Examples
    --------
    >>> with open("header.yaml", "w") as file:
    ...     n_characters = file.write("x: {dtype: 4, shape: [28]}")
    >>> load_schema("header.yaml")
    Schema of 1 feature
    name  specification    dtype  shape  original
    ----  ---------------  -----  -----  ----------
    x     FixedLenFeature  int64  [28]   uint8 [28]
    """
    names.check_storage_options(storage_options, path)
    return resolve_schema(path, storage_options).schema


def resolve_schema(schema: SchemaLike, storage_options: StorageOptions = None) -> Sidecar:
    """Return what a `schema` argument says: a Schema, a dict of specifications, or a schema file."""
    if isinstance(schema, str | os.PathLike):
        check_path("path", schema)
        forget_listings(filter(is_url, [os.fspath(schema)]), storage_options)
        return read(schema, storage_options)
    if not isinstance(schema, SequenceSchema | Mapping):
        word = type(schema).__name__
        detail = f"schema must be a Schema, a dict of specifications or a path, not {word}"
        if isinstance(schema, list | tuple):
            detail += f"; names go to columns= of load, scan and read_batches, elsewhere to {SOME_COLUMNS}"
        if isinstance(schema, int):
            raise TypeError(f"{detail}; the number of records in a batch is batch_size={schema}")
        raise TypeError(detail + FOR_SEQUENCES)
    return Sidecar(schema if isinstance(schema, SequenceSchema) else Schema(schema))


class Sidecar(NamedTuple):
    """The content of a schema file."""

    schema: Schema | Any
    """Or a SequenceSchema."""
    structure: Structure | None = None
    """None for a flat dict."""
    fingerprint: object = None
    """The fingerprint of the data file, as parsed from JSON; None if the schema fits any data."""
    dataframe: Description | None = None
    refused: Mapping[str, InvalidArgumentError] = {}
    """The features that cannot be read, with the reasons."""
    texts: Sequence[str] = ()
    """The features that are Text in a features.json: str in tables and data frames, otherwise bytes."""

    @property
    def nesting(self) -> Structure:
        """The structure of the data, also of a flat dict."""
        flat: Structure = {name: name for name in self.schema}
        return flat if self.structure is None else self.structure

    def check_readable(self, columns: Collection[str] | None) -> None:
        """Raise about the first feature that is asked for, though it cannot be read."""
        for name, error in self.refused.items():
            if columns is None:
                detail = f"{error.detail}; name the columns to read without it, as columns=[...]"
                raise error.at(key=name, detail=detail)
            if name in columns:
                raise error.at(key=name)


def read_beside(
    source: Source, storage_options: StorageOptions = None, *, may_be_damaged: bool = False
) -> Sidecar | None:
    """Read the sidecar of a data file and check its fingerprint; None if there is none.

    With `may_be_damaged`, the data may also have another size, or be other bytes of that size.
    """
    if not isinstance(source, (str, os.PathLike)):
        return None
    name = name_of(source)
    place = names.companion(name, names.SIDECAR_SUFFIX)
    try:
        content = content_of(place, storage_options)
    except FileNotFoundError:
        return None
    except (PermissionError, InvalidArgumentError):
        if is_url(name):  # what a server answers for a file that it does not have, or a page
            return None
        raise
    if is_http(name) and b'"format"' not in content:
        return None
    with errors_at(source=place):
        description = parse_sidecar(place, content)
    try:
        expected = description.fingerprint
        actual = None if expected is None else fingerprint_of(name, storage_options)
    except FileNotFoundError:
        return None
    if expected != actual and may_be_damaged and _may_be_damaged(expected, actual):
        text = f"{name}: not the bytes that its sidecar was written for, which is used all the same"
        errors.warn_user(text)
    elif expected != actual:
        if not may_be_damaged:
            _raise_damage(name)
        raise argument_error(
            f"the sidecar was written for other data than are now in {name}; tfrecord verify "
            "shows whether the file is damaged; delete the sidecar if the file was written anew, or "
            "if it does fit, give it as schema",
            source=place,
        )
    return description._replace(fingerprint=None)


def _raise_damage(name: str) -> None:
    """Raise DataLossError about the first damaged record in the first bytes of a local file, if there is one."""
    from tfrecord_lite.options import ReadSettings  # noqa: PLC0415 - for errors alone
    from tfrecord_lite.records.damage import NOT_DAMAGE  # noqa: PLC0415 - for errors alone
    from tfrecord_lite.records.stream import RecordStream  # noqa: PLC0415 - for errors alone

    if is_url(name):
        return
    settings = ReadSettings(max_inflated_bytes=_CHECKED_BYTES)
    try:
        with closing(RecordStream(name, settings)) as stream:
            while stream.file_offset < _CHECKED_BYTES and stream.next_block() is not None:
                pass
    except DataLossError as error:
        if error.reason not in NOT_DAMAGE:
            raise


def _may_be_damaged(expected: object, actual: Fingerprint | None) -> bool:
    """Whether a fingerprint may be of the same data before they were damaged: cut off, or changed."""
    if not isinstance(expected, dict) or actual is None:
        return False
    if expected.get("bytes") == actual["bytes"]:
        return True
    has_same_head = bool(expected.get("crc32_of_head") == actual["crc32_of_head"])
    return has_same_head and actual["bytes"] >= _HEAD_BYTES


def remove_stale(name: str, storage_options: StorageOptions = None) -> None:
    """Remove the sidecar beside a new data file if it was written for other data."""
    place = names.companion(name, names.SIDECAR_SUFFIX)
    try:
        expected = read(place, storage_options).fingerprint
    except (OSError, InvalidArgumentError):
        return
    if expected is not None and expected != fingerprint_of(name, storage_options):
        from tfrecord_lite.files.output import remove  # noqa: PLC0415 - for writers

        remove(place, storage_options)


def check_path(argument: str, path: object) -> None:
    """Raise TypeError unless an argument is a str, or a PathLike of one."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise TypeError(f"{argument} must be a str or PathLike, not {type(path).__name__}")


def read(path: Path, storage_options: StorageOptions = None) -> Sidecar:
    """Read a schema file of any format."""
    check_path("path", path)
    name = name_of(path)
    if os.path.isdir(name) or os.path.basename(name) == _TFDS_INFO:
        features = os.path.join(name, "features.json")
        if not os.path.exists(features):
            folder = tfds_directory(name, storage_options)
            features = os.path.join(folder, "features.json")
            if not is_there(features, storage_options):
                text = "there is no features.json; infer_schema makes a schema of the records"
                raise argument_error(text, source=folder)
        name = features
    with errors_at(source=name):
        content = content_of(name, storage_options)
        tfds_info = None
        if os.path.basename(name) == "features.json":
            with suppress(FileNotFoundError):
                info_name = os.path.join(os.path.dirname(name), _TFDS_INFO)
                tfds_info = content_of(info_name, storage_options)
        return parse_sidecar(name, content, tfds_info)


def content_of(name: str, storage_options: StorageOptions) -> bytes:
    """Read a whole file, without a byte order mark."""
    with closing(open_seekable(name, storage_options)) as file:
        pieces = iter(lambda: file.read(_READ_BYTES), b"")
        first = next(pieces, b"")
        if detail := _not_a_schema(name, first):
            raise argument_error(detail, source=name)
        content = first + b"".join(pieces)
    return content.removeprefix(b"\xef\xbb\xbf")


def tfds_directory(directory: Path, storage_options: StorageOptions = None) -> str:
    """Return the directory with a ``dataset_info.json``: this one, or the only one below."""
    if not os.fspath(directory):
        raise argument_error("the name of a directory is empty; '.' is the current one")
    name = os.fspath(directory).rstrip("/") or "/"
    name = name if is_url(name) else os.path.expanduser(name)
    if os.path.basename(name) == _TFDS_INFO:
        return os.path.dirname(name)
    for below in ("", "*/", "*/*/", "*/*/*/"):
        infos = matches(name, f"{below}{_TFDS_INFO}", storage_options)
        folders = [os.path.dirname(path) for path in infos]
        if len(folders) > 1:
            listed = ", ".join(folder[len(name) + 1 :] for folder in folders[:8])
            more = ", ..." if len(folders) > 8 else ""
            detail = f"several data sets or versions are below, give one of {listed}{more}"
            raise argument_error(detail, source=name)
        if folders:
            return folders[0]
    if not is_url(name) and not os.path.isdir(name):
        raise FileNotFoundError(f"no directory {name!r}")
    detail = f"no {_TFDS_INFO} in {name!r}, nor up to three levels below; expected a directory of "
    detail += "TensorFlow Datasets"
    raise FileNotFoundError(detail)


def is_there(name: str, storage_options: StorageOptions = None) -> bool:
    """Return whether there is a file, also at a URL."""
    with suppress(FileNotFoundError):
        open_seekable(name, storage_options).close()
        return True
    return False


def matches(directory: str, pattern: str, storage_options: StorageOptions) -> list[str]:
    """Return the files of a directory that match a pattern, sorted."""
    if not is_url(directory):
        import glob  # noqa: PLC0415 - for folders of TFDS

        paths = sorted(glob.glob(pattern, root_dir=directory or None))
        return [os.path.join(directory, path) for path in paths]
    if "*" not in pattern:
        name = f"{directory}/{pattern}"
        return [name] if is_there(name, storage_options) else []
    with suppress(FileNotFoundError):
        return list(map(name_of, names.expand(f"{directory}/{pattern}", storage_options)))
    return []


def _not_a_schema(name: str, first: bytes) -> str | None:
    """Return what a file seems to be by its beginning; None for a schema file."""
    if first.startswith(b"{") and b"\0" not in first:  # JSON, as most are
        return None
    from tfrecord_lite.sniff import HEAD_BYTES, looks_like  # noqa: PLC0415 - many patterns

    head = first[:HEAD_BYTES]
    content = looks_like(head, is_whole=len(head) < HEAD_BYTES)
    is_binary = b"\0" in head
    if is_header(head[:HEADER_BYTES]) or (content is None and is_binary and detect(head)):
        if os.path.isfile(beside := f"{name}{names.SIDECAR_SUFFIX}"):
            return f"this is a data file; its sidecar is {beside}"
        return "this is a data file, not a schema; infer_schema makes one of its records"
    if content and (is_binary or content.startswith(_NEVER_SCHEMAS)):
        return f"not a schema file; it looks like {content}"
    return None


def parse_sidecar(name: str, content: bytes, tfds_info: bytes | None = None) -> Sidecar:
    """Detect the format of a schema file's content, and parse it."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content[:4]:
        raise argument_error("a schema file must be UTF-8 text, not UTF-16, UTF-32 or binary")
    if content.lstrip()[:1] in (b"{", b"[", b'"') or name.endswith(".json"):
        return _parse_json(content, tfds_info)
    if name.endswith(_TFX_NAMES) or re.search(_TFX, content):
        from tfrecord_lite.described.formats import tfx  # noqa: PLC0415 - loads the protobuf runtime

        schema, refused = tfx.from_text(content)
        return Sidecar(schema, refused=refused)
    from tfrecord_lite.described.formats import superserial  # noqa: PLC0415 - seldom needed

    return Sidecar(superserial.from_yaml(content))


def _parse_json(content: bytes, tfds_info: bytes | None) -> Sidecar:
    import json  # noqa: PLC0415 - seldom needed

    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise argument_error(f"not valid JSON ({type(error).__name__})") from None
    if not isinstance(document, dict):
        raise argument_error("expected a JSON object with a schema")
    if document.get("format") == FORMAT:
        schema = Schema.from_json(content)
        structure = None
        if "structure" in document:
            structure = structure_of_json(document["structure"], schema)
        described = None
        if document.get("dataframe") is not None:
            from tfrecord_lite.described.frames import check_description  # noqa: PLC0415 - for frames

            described = check_description(document["dataframe"], schema)
        return Sidecar(schema, structure, document.get("data"), described)
    if document.get("format") == SEQUENCE_FORMAT:
        return Sidecar(SequenceSchema.from_json(content), None, document.get("data"))
    from tfrecord_lite.described.formats import from_seqio, is_seqio, tfds  # noqa: PLC0415 - of other programs

    if tfds.is_features(document):
        features = tfds.from_json(content, tfds_info)
        return Sidecar(features.schema, refused=features.refused, texts=features.texts)
    if is_seqio(document):
        schema, refused = from_seqio(document)
        return Sidecar(schema, refused=refused)
    detail = f'this JSON is not a schema; expected a sidecar with "format": "{FORMAT}", a '
    raise argument_error(f"{detail}features.json of TFDS, or an info.SPLIT.json of seqio")


def write(path: Path, sidecar: Sidecar, storage_options: StorageOptions = None) -> OutputFile:
    """Write a sidecar to a temporary file; the caller commits or abandons it."""
    from tfrecord_lite.files.output import open_output  # noqa: PLC0415 - for writers

    file = open_output(name_of(path), atomic=True, storage_options=storage_options)
    try:
        file.write([content_to_write(sidecar)])
        file.finish()
    except BaseException:
        file.abandon()
        raise
    return file


def content_to_write(sidecar: Sidecar) -> bytes:
    """Return a sidecar as JSON."""
    import json  # noqa: PLC0415 - seldom needed

    document = {**json.loads(sidecar.schema.to_json()), "data": sidecar.fingerprint}
    if sidecar.structure is not None and not is_flat_dict(sidecar.structure):
        document["structure"] = sidecar.structure
    if sidecar.dataframe is not None:
        document["dataframe"] = sidecar.dataframe
    return json.dumps(document, indent=2, allow_nan=False).encode() + b"\n"


# -------------------------------------------------------------------------- fingerprints

Fingerprint: TypeAlias = dict[str, int]
"""Ties a sidecar to its data file: ``bytes``, its size; ``crc32_of_head``, of its first 64 KiB."""

_HEAD_BYTES = 64 * 1024


class FingerprintingFile:
    """A file object that computes the fingerprint of what is written to it."""

    def __init__(self, file: Any) -> None:
        self.name: str = file.name
        self._file = file
        self._n_bytes = 0
        self._crc32 = 0

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write all of `data`."""
        view = memoryview(data).cast("B")
        self._file.write([view])
        if self._n_bytes < _HEAD_BYTES:
            self._crc32 = zlib.crc32(view[: _HEAD_BYTES - self._n_bytes], self._crc32)
        self._n_bytes += len(view)
        return len(view)

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of what was written so far."""
        return {"bytes": self._n_bytes, "crc32_of_head": self._crc32}


def fingerprint_of(name: str, storage_options: StorageOptions = None) -> Fingerprint:
    """Compute the fingerprint of a file, by its path or URL."""
    if is_url(name):
        with ReadAhead((), storage_options) as ahead:
            if (file := ahead.open(name)) is not None:
                with closing(file):
                    file.end_at(_HEAD_BYTES)
                    n_bytes, crc32 = _head_of(file)
                    return {"bytes": n_bytes + file.remaining(), "crc32_of_head": crc32}
    with closing(open_seekable(name, storage_options, 1)) as whole:
        _, crc32 = _head_of(whole)
        return {"bytes": whole.seek(0, os.SEEK_END), "crc32_of_head": crc32}


def _head_of(file: Any) -> tuple[int, int]:
    n_bytes = crc32 = 0
    while n_bytes < _HEAD_BYTES and (data := file.read(_HEAD_BYTES - n_bytes)):
        crc32 = zlib.crc32(data, crc32)
        n_bytes += len(data)
    return n_bytes, crc32
