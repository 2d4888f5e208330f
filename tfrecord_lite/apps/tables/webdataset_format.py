"""Tar shards of webdataset as streams of batches, both ways.

A sample is the files of one key that follow each other: ``000000042.image.jpg``,
``000000042.label.cls``. The key ends at the first dot of the base name; the last extension tells
the type, as for webdataset's own decoders; what is in between is the name of the feature, or the
extension alone if there is nothing (``000000042.jpg``).

============================  =============================  =====================================
extension                     column                         written for
============================  =============================  =====================================
cls, index, id, ...           int64                          int64
txt, text, transcript         text                           text
npy                           numbers: one, a list, a shape  other numbers, and lists of numbers
json                          its type; text if an object    lists of texts and of bytes, others
jpg, png, ..., bin            bytes                          bytes, by what they begin with
============================  =============================  =====================================
"""

from __future__ import annotations

import io
import json
import re
from contextlib import closing
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfrecord_lite.apps.tables import texts
from tfrecord_lite.apps.tables.byte_files import Content
from tfrecord_lite.apps.tables.tar_members import Member, TarReader, header_of, padding_of
from tfrecord_lite.convert.dataframes.arrow import imported
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.files.names import is_file_object, name_of
from tfrecord_lite.schema.text import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tfrecord_lite.apps.tables.byte_files import Reading, TargetFile
    from tfrecord_lite.files.names import Source

KEY = "__key__"
_TEXT = frozenset({"txt", "text", "transcript"})
_INTEGER = frozenset({"cls", "cls2", "index", "inx", "id"})
_JSON = frozenset({"json", "jsn"})
_BYTES_EXTENSIONS = (
    "jpg jpeg png gif webp bmp tif tiff ppm pgm pbm pnm bin npz pth pt pyd pickle pkl mp msg msgpack "
    "ten tb cbor wav flac mp3 mp4 ogg m4a avi mov mkv webm"
)
_BYTES = frozenset(_BYTES_EXTENSIONS.split())
_KNOWN = _TEXT | _INTEGER | _JSON | _BYTES | {"npy"}
_BEGINNINGS = (
    (b"\xff\xd8\xff", "jpg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF8", "gif"),
)
_SAME = {"jpeg": "jpg"}
_BATCH_BYTES = 4 * 1024 * 1024
_BATCH_ROWS = 16 * 1024
_REMEMBERED = 1_000_000
"""Keys that are remembered, to notice a sample that is in two places."""
_MEMBER_NAME = re.compile(r"((?:.*/|)[^./]+)\.([^/]*)", re.DOTALL)
_SKIPPED = re.compile(r"__[^/]*__($|/)")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f%/]")
_UNSAFE_IN_KEY = re.compile(r"[\x00-\x1f\x7f%.\\]|^/|/$|/(?=/)")
_ESCAPED = re.compile(r"(?i)%(0[0-9A-F]|1[0-9A-F]|25|2E|2F|5C|7F)")
_ADVICE = "name its type in --features, or leave it out with --columns"


def _escaped(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "%" in text else text


class _Value(NamedTuple):
    """A member of a sample."""

    extension: str
    data: bytes
    offset: int


class _Sample(NamedTuple):
    """The members of one key, by their whole suffix."""

    key: str
    number: int
    values: dict[str, _Value]


class _Misfit(ValueError):  # noqa: N818 - becomes the error of a member
    """Why a member is not what its extension, or its column, says."""


# ---------------------------------------------------------------------------------- reading


class WebDatasetSource:
    """A tar shard; its columns are those of the first samples, with the types given."""

    def __init__(self, source: Source, reading: Reading) -> None:
        self.name: str = name_of(source)
        self._content = Content(source, reading.options)
        self._reader = TarReader(self._content, reading.options.max_record_bytes)
        self._max_bytes = reading.options.max_record_bytes
        self._chosen = reading.columns
        self._given = {} if reading.types is None else {f.name: f.type for f in reading.types}
        self._is_whole = False
        try:
            self._samples = self._read()
            self._first = self._next()
            self._find_names(self._first)
            self.schema: Any = self._detected(reading)
        except BaseException:
            self.close()
            raise

    @property
    def position(self) -> int:
        """Bytes of the file that were read."""
        return self._content.n_read

    def count(self) -> int:
        """Count the samples."""
        with closing(self):
            n_rows = len(self._first)
            self._is_whole = False
            return n_rows + sum(1 for _ in self._samples)

    def batches(self, first_row: int = 0) -> Iterator[Any]:
        """Yield the samples from one on."""
        n_rows, samples = 0, self._first
        while samples:
            if n_rows + len(samples) > first_row:
                yield self._batch(samples[max(first_row - n_rows, 0) :])
            n_rows += len(samples)
            samples = self._next()

    def close(self) -> None:
        """Close the file."""
        self._content.close()

    def _next(self) -> list[_Sample]:
        """Return the next samples, of some megabytes; none at the end."""
        found: list[_Sample] = []
        n_bytes = 0
        for sample in self._samples:
            found.append(sample)
            n_bytes += sum(len(value.data) for value in sample.values.values())
            if n_bytes >= _BATCH_BYTES or len(found) >= _BATCH_ROWS:
                break
        return found

    def _read(self) -> Iterator[_Sample]:
        """Yield the samples; one is in one place, and has a member once."""
        sample: _Sample | None = None
        seen: set[int] = set()
        n_bytes = 0
        for member in self._reader.members():
            match = _MEMBER_NAME.fullmatch(member.name)
            if match is None or _SKIPPED.match(member.name):  # as webdataset does
                continue
            key, suffix = match[1], match[2]
            if sample is None or sample.key != key:
                if sample is not None:
                    yield sample
                number = 0 if sample is None else sample.number + 1
                if hash(key) in seen:
                    detail = (
                        f"the sample {key!r} is in two places: members of a sample must follow "
                    )
                    detail += "each other, as in tar --sort=name"
                    raise self._error(detail, number, member.offset)
                if len(seen) < _REMEMBERED:
                    seen.add(hash(key))
                sample, n_bytes = _Sample(key, number, {}), 0
            if suffix in sample.values:
                detail = f"member {member.name[:200]!r} is there twice"
                raise self._error(detail, sample.number, member.offset)
            n_bytes += member.size
            self._check_size(sample, member, n_bytes)
            extension = suffix.rpartition(".")[2].lower()
            sample.values[suffix] = _Value(extension, self._reader.data(member), member.offset)
        if sample is not None:
            yield sample

    def _check_size(self, sample: _Sample, member: Member, n_bytes: int) -> None:
        if n_bytes > self._max_bytes and member.size <= self._max_bytes:
            detail = f"the sample {sample.key!r} has more than {self._max_bytes:,} bytes"
            error = self._error(detail, sample.number, member.offset)
            error.reason = Reason.RECORD_TOO_LARGE
            raise error

    def _find_names(self, samples: list[_Sample]) -> None:
        """Give each suffix the name of its column: without an extension that tells the type.

        Two that would have one name in one sample, ``mask.png`` and ``mask.json``, have all of it.
        """
        self._names: dict[str, str] = {}
        whole: set[str] = set()
        for sample in samples:
            found = [_feature_of(suffix) for suffix in sample.values]
            if len(set(found)) < len(found):
                whole |= {name for name in found if found.count(name) > 1}
        self._whole_names = whole

    def _name_of(self, suffix: str) -> str:
        name = self._names.get(suffix)
        if name is None:
            stem = _feature_of(suffix)
            name = _unescaped(suffix if stem in self._whole_names else stem)
            if len(self._names) < _REMEMBERED:
                self._names[suffix] = name
        return name

    def _columns(self, samples: list[_Sample]) -> dict[str, list[_Value | None]]:
        """Return the members by column, None where a sample lacks one."""
        columns: dict[str, list[_Value | None]] = {}
        for i, sample in enumerate(samples):
            for suffix, value in sample.values.items():
                name = self._name_of(suffix)
                column = columns.get(name)
                if column is None:
                    column = columns[name] = [None] * len(samples)
                if column[i] is not None:
                    detail = f"sample {sample.key!r} has two members of this name, which no sample "
                    detail += "before has"
                    raise self._error(detail, sample.number, value.offset, name)
                column[i] = value
        return columns

    def _detected(self, reading: Reading) -> Any:
        """Return the schema of the first samples, with the types given."""
        pa = imported()
        columns = self._columns(self._first)
        fields = {KEY: pa.large_string()}
        fields |= {
            name: self._given.get(name) or self._type_of(name, values)
            for name, values in columns.items()
            if self._chosen is None or name in self._chosen
        }
        for name, kind in self._given.items():
            if name not in fields and name in reading.features_given:
                hint = nearest(name, list(columns))
                raise argument_error(f"there is no column {name!r}{hint}", source=self.name)
            fields.setdefault(name, kind)
        if self._chosen is not None:
            unknown = next((name for name in self._chosen if name not in fields), None)
            if unknown is not None:
                detail = f"there is no column {unknown!r}{nearest(unknown, list(fields))}"
                raise argument_error(detail, source=self.name)
            fields = {name: fields[name] for name in self._chosen}
        metadata = None if reading.types is None else reading.types.metadata
        return pa.schema(list(fields.items()), metadata)

    def _type_of(self, name: str, values: list[_Value | None]) -> Any:
        pa = imported()
        found: Any = None
        is_json = True
        for sample, value in zip(self._first, values, strict=True):
            if value is not None:
                try:
                    kind = _detected_type(value)
                    is_json = is_json and value.extension in _JSON
                    found = kind if found is None else _joint(found, kind, is_json=is_json)
                except _Misfit as error:
                    detail = f"{error}; {_ADVICE}"
                    raise self._error(detail, sample.number, value.offset, name) from None
        return pa.null() if found is None else found

    def _batch(self, samples: list[_Sample]) -> Any:
        columns = self._columns(samples)
        for name in columns:
            if self._chosen is None and name not in self.schema.names:
                i = next(i for i, value in enumerate(columns[name]) if value is not None)
                value = columns[name][i]
                detail = f"this member is in no sample before; {_ADVICE}"
                offset = None if value is None else value.offset
                raise self._error(detail, samples[i].number, offset, name)
        arrays = []
        for field in self.schema:
            if field.name == KEY:
                keys = [_unescaped(sample.key) for sample in samples]
                arrays.append(imported().array(keys, field.type))
            else:
                values = columns.get(field.name, [None] * len(samples))
                arrays.append(self._array(field, values, samples))
        return imported().record_batch(arrays, schema=self.schema)

    def _array(self, field: Any, values: list[_Value | None], samples: list[_Sample]) -> Any:
        pa = imported()
        convert = _converter(field.type)
        found: list[Any] = []
        for sample, value in zip(samples, values, strict=True):
            try:
                found.append(None if value is None else convert(value))
            except (_Misfit, ValueError, TypeError, RecursionError) as error:
                detail = str(error) if isinstance(error, _Misfit) else f"not {field.type}: {error}"
                offset = None if value is None else value.offset
                raise self._error(detail, sample.number, offset, field.name) from None
        try:
            return _array_of(found, field.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            for sample, value, item in zip(samples, values, found, strict=True):
                try:
                    _array_of([item], field.type)
                except (pa.ArrowException, TypeError, ValueError, OverflowError) as cause:
                    detail = f"a value that is not of the column's type, {field.type}: {cause}"
                    offset = None if value is None else value.offset
                    raise self._error(detail, sample.number, offset, field.name) from None
            raise self._error(str(error), samples[0].number, None, field.name) from None

    def _error(
        self, detail: str, number: int, offset: int | None, key: str | None = None
    ) -> InvalidArgumentError:
        return InvalidArgumentError(
            Reason.WRONG_KIND, offset, self.name, number, key, detail=detail
        )


def _feature_of(suffix: str) -> str:
    """Return a suffix without a last extension that tells a type, if there is more than it."""
    name, dot, extension = suffix.rpartition(".")
    return name if dot and extension.lower() in _KNOWN else suffix


def _detected_type(value: _Value) -> Any:
    """Return the type of a column that has a member."""
    pa = imported()
    if value.extension in _TEXT:
        return pa.large_string()
    if value.extension in _INTEGER:
        return pa.int64()
    if value.extension == "npy":
        array = _numpy_of(value.data)
        kind = pa.from_numpy_dtype(array.dtype)
        if array.ndim == 1:
            return pa.list_(kind)
        for size in reversed(array.shape):
            kind = pa.list_(kind, size)
        return kind
    return _json_type(_json_of(value.data)) if value.extension in _JSON else pa.large_binary()


def _json_type(found: Any) -> Any:
    """Return the type of a value of JSON; text for an object, or a list of several types."""
    pa = imported()
    value = texts.value_of(found)
    if isinstance(value, (str, dict)):
        return pa.large_string()
    try:
        kind = pa.array([value]).type
        if texts.has_bytes(value):
            kind = pa.array([texts.as_bytes(value)]).type
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.large_string()
    return pa.large_string() if "struct" in str(kind) else _large(kind)


def _large(kind: Any) -> Any:
    pa = imported()
    if pa.types.is_list(kind):
        return pa.list_(_large(kind.value_type))
    if pa.types.is_string(kind):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary(kind) else kind


def _joint(one: Any, other: Any, *, is_json: bool) -> Any:
    """Return the type that has the values of two, text for JSON; raise if there is none."""
    if one == other:
        return one
    pa = imported()
    types = pa.types
    for first, second in ((one, other), (other, one)):
        if types.is_null(first):
            return second
        if types.is_list(first) and types.is_list(second):
            return pa.list_(_joint(first.value_type, second.value_type, is_json=False))
        if types.is_integer(first) and first == pa.int64() and second == pa.float64():
            return second
        if types.is_large_binary(first) and types.is_large_string(second):
            return first
    if is_json:
        return pa.large_string()
    detail = f"{other}, but the samples before have {one}"
    raise _Misfit(detail)


def _json_of(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        detail = f"not JSON: {error}"
        raise _Misfit(detail) from None


def _numpy_of(data: bytes) -> Any:
    """Return the array in a file of NumPy, without unpickling, and without trust in its shape."""
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        read = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
        shape, is_fortran, dtype = read[version[0]](file)
        if dtype.kind not in "biuf":
            detail = f"an array of {dtype}, expected numbers"
            raise _Misfit(detail)
        count = 1
        for size in shape:
            count *= size
        body = data[file.tell() :]
        if count * dtype.itemsize != len(body):
            detail = f"an array of shape {shape} and {dtype} in {len(body):,} bytes"
            raise _Misfit(detail)
        array = np.frombuffer(body, dtype).astype(dtype.newbyteorder("="), copy=False)
        return array.reshape(shape, order="F" if is_fortran else "C")
    except (ValueError, KeyError, TypeError, OverflowError, EOFError, SyntaxError) as error:
        if isinstance(error, _Misfit):
            raise
        detail = f"not a file of NumPy (.npy): {error}"
        raise _Misfit(detail) from None


def _converter(kind: Any) -> Callable[[_Value], Any]:
    """Return what makes a value of a column of a member."""
    types = imported().types
    is_text = types.is_string(kind) or types.is_large_string(kind)
    is_bytes = types.is_binary(kind) or types.is_large_binary(kind)

    def converted(value: _Value) -> Any:
        extension, data = value.extension, value.data
        if is_bytes and extension not in _JSON:
            return data
        if extension == "npy":
            return _numpy_of(data)
        if extension in _JSON:
            found = texts.value_of(_json_of(data))
            if is_text:
                return found if isinstance(found, str) else data.decode()
            return texts.as_bytes(found) if "binary" in str(kind) else found
        if is_text:
            return data.decode()
        if extension in _INTEGER:
            return int(data)
        detail = f"a .{extension} file, where the column has {kind}"
        raise _Misfit(detail)

    return converted


def _array_of(values: list[Any], kind: Any) -> Any:
    """Return values, arrays among them, as an array of a type."""
    pa = imported()
    if not any(isinstance(value, np.ndarray) for value in values):
        return texts.array_of(values, kind)
    values = [value if value is None else np.asarray(value) for value in values]
    if pa.types.is_fixed_size_list(kind):
        return _fixed_array(values, kind)
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return texts.array_of([v if v is None else _item(v) for v in values], kind)
    present = [value for value in values if value is not None]
    odd = next((value for value in present if value.ndim != 1), None)
    if odd is not None:
        detail = f"an array of shape {odd.shape}, expected one dimension"
        raise ValueError(detail)
    lengths = [0 if value is None else len(value) for value in values]
    flat = _joined(present, kind.value_type)
    width = np.int64 if pa.types.is_large_list(kind) else np.int32
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(width))
    missing = pa.array([value is None for value in values])
    made = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
    return made.from_arrays(offsets, flat, type=kind, mask=missing)


def _item(value: Any) -> Any:
    if value.ndim:
        detail = f"an array of shape {value.shape}, expected one number"
        raise ValueError(detail)
    return value.item()


def _joined(arrays: list[Any], kind: Any) -> Any:
    """Return arrays one after the other, of a type that has all their values."""
    pa = imported()
    parts = [pa.array(array.ravel()) for array in arrays]
    parts = [part if part.type == kind else part.cast(kind) for part in parts]
    return pa.concat_arrays(parts) if parts else pa.array([], kind)


def _fixed_array(values: list[Any], kind: Any) -> Any:
    pa = imported()
    shape, leaf = [], kind
    while pa.types.is_fixed_size_list(leaf):
        shape.append(leaf.list_size)
        leaf = leaf.value_type
    arrays = []
    for value in values:
        if value is not None and value.shape != tuple(shape):
            detail = f"an array of shape {value.shape}, expected {tuple(shape)}"
            raise ValueError(detail)
        arrays.append(np.zeros(shape, leaf.to_pandas_dtype()) if value is None else value)
    made = _joined(arrays, leaf)
    types = [kind]
    while pa.types.is_fixed_size_list(types[-1].value_type):
        types.append(types[-1].value_type)
    for inner in reversed(types[1:]):
        made = pa.FixedSizeListArray.from_arrays(made, type=inner)
    missing = pa.array([value is None for value in values])
    return pa.FixedSizeListArray.from_arrays(made, type=kind, mask=missing)


# ---------------------------------------------------------------------------------- writing


class WebDatasetTarget:
    """A tar shard being written: a sample per row, a member per value that is not missing."""

    def __init__(
        self, target: Source, file: TargetFile, schema: Any, key: str | None = None
    ) -> None:
        self._file = file
        self._name = name_of(target)
        if key is not None and key not in schema.names:
            detail = f"there is no column {key!r} for the keys{nearest(key, schema.names)}"
            raise argument_error(detail)
        self._key = KEY if key is None and KEY in schema.names else key
        named = [] if is_file_object(target) else re.findall(r"-(\d+)-of-\d+", self._name)
        self._prefix = f"{named[-1]}_" if named else ""
        self._members = [name for name in schema.names if name != KEY]
        lower: dict[str, str] = {}
        for name in self._members:
            other = lower.setdefault(name.lower(), name)
            if other != name:
                detail = f"webdataset cannot tell {other!r} from {name!r}: it reads extensions in "
                detail += "lower case; leave one out with --columns"
                raise argument_error(detail)
        self._n_rows = 0
        self._last: str | None = None

    def write(self, batch: Any) -> None:
        """Write a batch."""
        for start in range(0, len(batch), _BATCH_ROWS):
            self._write(batch[start : start + _BATCH_ROWS])

    def _write(self, batch: Any) -> None:
        columns = [list(_encoded(name, batch.column(name))) for name in self._members]
        out: list[bytes] = []
        n_bytes = 0
        for i, key in enumerate(self._keys(batch)):
            n_members = len(out)
            for values in columns:
                value = values[i]
                if value is not None:
                    suffix, data = value
                    size = len(data)
                    out += (header_of(f"{key}.{suffix}", size), data, padding_of(size))
                    n_bytes += size
            if len(out) == n_members:
                detail = "no column has a value here, and webdataset has no samples without members"
                raise self._error(detail, i)
            if n_bytes >= _BATCH_BYTES:
                self._file.write(b"".join(out))
                out, n_bytes = [], 0
        self._file.write(b"".join(out))
        self._n_rows += len(batch)

    def _keys(self, batch: Any) -> Iterator[str]:
        """Yield the keys of the samples; no two that follow each other are the same."""
        if self._key is None:
            for i in range(len(batch)):
                yield f"{self._prefix}{self._n_rows + i:09d}"
            return
        for i, value in enumerate(batch.column(self._key).to_pylist()):
            try:
                text = value.decode() if isinstance(value, bytes) else value
            except UnicodeDecodeError:
                text = None
            if not isinstance(text, (str, int)) or isinstance(text, bool) or text == "":
                detail = f"{str(value)[:60]!r} cannot be a key: expected text, or an integer"
                raise self._error(detail, i, self._key)
            key = _UNSAFE_IN_KEY.sub(_escaped, str(text))
            if _SKIPPED.match(key):
                detail = f"webdataset skips members whose names begin as the key {key!r}"
                raise self._error(detail, i, self._key)
            if key == self._last:
                detail = f"two samples that follow each other have the key {key!r}, which would "
                detail += "make one of them"
                raise self._error(detail, i, self._key)
            self._last = key
            yield key

    def _error(self, detail: str, row: int, key: str | None = None) -> InvalidArgumentError:
        return InvalidArgumentError(
            Reason.UNREPRESENTABLE, None, self._name, self._n_rows + row, key, detail=detail
        )

    def finish(self) -> None:
        """Write the end of the archive, of whole records of 10 KiB."""
        self._file.write(bytes(1024))
        self._file.finish()

    def commit(self) -> None:
        """Let the file appear."""
        self._file.commit()

    def abandon(self) -> None:
        """Remove what is not committed."""
        self._file.abandon()


def _encoded(name: str, column: Any) -> Iterable[tuple[str, bytes] | None]:
    """Yield the suffix and the bytes of each value of a column, None where it is missing."""
    pa = imported()
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return _encoded(name, column.storage)
    if pa.types.is_dictionary(kind):
        return _encoded(name, column.dictionary_decode())
    base = _UNSAFE.sub(_escaped, name)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _encoded_texts(base, column)
    if "binary" in str(kind) and not pa.types.is_nested(kind):
        return _encoded_bytes(base, column)
    if kind == pa.int64():
        suffix = base if base in _INTEGER else f"{base}.cls"
        return ((suffix, b"%d" % v) if v is not None else None for v in column.to_pylist())
    arrays = _arrays_of(column)
    if arrays is not None:
        suffix = base if base == "npy" else f"{base}.npy"
        return (None if array is None else (suffix, _npy_of(array)) for array in arrays)
    suffix = f"{base}.json"
    made = zip(texts.json_values(column).to_pylist(), column.is_valid().to_pylist(), strict=True)
    return ((suffix, text.encode()) if is_there else None for text, is_there in made)


def _encoded_texts(base: str, column: Any) -> Iterator[tuple[str, bytes] | None]:
    suffix = base if base in _TEXT else f"{base}.txt"
    for value in column.to_pylist():
        if value is None:
            yield None
        elif base in _JSON and _is_object(value):
            yield base, value.encode()
        else:
            yield suffix, value.encode()


def _is_object(text: str) -> bool:
    """Return whether a text is an object of JSON that is read as the same text again."""
    try:
        return isinstance(texts.value_of(json.loads(text)), dict)
    except (ValueError, RecursionError):
        return False


def _encoded_bytes(base: str, column: Any) -> Iterator[tuple[str, bytes] | None]:
    is_own = base in _BYTES
    for data in column.to_pylist():
        if data is None:
            yield None
            continue
        extension = next((e for head, e in _BEGINNINGS if data.startswith(head)), "bin")
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            extension = "webp"
        is_same = is_own and (extension == "bin" or _SAME.get(base, base) == extension)
        yield (base if is_same else f"{base}.{extension}"), data


def _arrays_of(column: Any) -> Iterator[Any] | None:
    """Return an array of NumPy per value; None if the column is not of numbers without holes."""
    pa = imported()
    types = pa.types
    valid = column.is_valid().to_pylist()
    if _is_number(column.type):
        filled = column.fill_null(False if types.is_boolean(column.type) else 0)
        values = filled.to_numpy(zero_copy_only=False)
        return (values[i] if valid[i] else None for i in range(len(valid)))
    if types.is_fixed_size_list(column.type):
        shape, start, leaf = [], 0, column
        while types.is_fixed_size_list(leaf.type):
            shape.append(leaf.type.list_size)
            start = (start + leaf.offset) * leaf.type.list_size
            leaf = leaf.values
        size = int(np.prod(shape))
        # Below a missing list there may be anything.
        if not _is_number(leaf.type) or (leaf.null_count and all(valid)):
            return None
        flat = leaf.to_numpy(zero_copy_only=False)[start : start + size * len(valid)]
        if leaf.null_count:
            return None
        grid = flat.reshape(len(valid), *shape)
        return (grid[i] if valid[i] else None for i in range(len(valid)))
    is_list = types.is_list(column.type) or types.is_large_list(column.type)
    if not is_list or not _is_number(column.type.value_type):
        return None
    offsets = column.offsets.to_numpy()
    inner = column.values[int(offsets[0]) : int(offsets[-1])] if len(offsets) else column.values
    if inner.null_count:
        return None
    items = inner.to_numpy(zero_copy_only=False)
    places = (offsets - (offsets[0] if len(offsets) else 0)).tolist()
    return (items[places[i] : places[i + 1]] if valid[i] else None for i in range(len(valid)))


def _is_number(kind: Any) -> bool:
    types = imported().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _npy_of(array: Any) -> bytes:
    """Return an array, or a number, as a file of NumPy."""
    data: bytes = array.tobytes()
    return _npy_header(array.dtype.str, array.shape) + data


@lru_cache(maxsize=4096)
def _npy_header(dtype: str, shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()
