r"""Recognise files of other formats, from their first bytes: ``looks_like``.

It is asked only about a file whose first 12 bytes are not the header of a record. A TFRecord file
whose first record is damaged has to stay one: a record below 4 GiB has zeros in bytes 4 to 7, so
what is shorter than 8 bytes of magic is believed only if these are not all zero, or if something
else proves it; and text has no zeros at all. A file shorter than a header may be one that was
cut, unless a byte from 4 to 7 is not zero, or it is an empty JSON document. A header that was right
before a bit flipped, or one of the length and one of the CRC, is damage, whatever follows.

:data:`_MAGICS` lists formats by magic bytes, :data:`_CHECKS` those that need a closer look; encoded images,
sounds and films are those of :mod:`tfrecord_lite.media`. No I/O.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, NamedTuple

from tfrecord_lite.media import recognize
from tfrecord_lite.records.crc32c import masked_crc32c
from tfrecord_lite.records.framing import HEADER_BYTES
from tfrecord_lite.wire.scalar import LEN, WireError, walk

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD_BYTES = 4096
"""So many first bytes are enough to recognise a file; more of them make text more certain."""

_UNPACK = "unpack it first"


class _Start(NamedTuple):
    """The first bytes of a file, and whether they are all."""

    data: bytes
    is_whole: bool


class _Magic(NamedTuple):
    """A format whose files have the same bytes at one offset."""

    offset: int
    magic: bytes
    name: str
    advice: str = ""


_MAGICS = (
    _Magic(0, b"PAR1", "a Parquet file", "pandas.read_parquet reads it"),
    _Magic(0, b"ARROW1\0\0", "an Arrow (Feather) file", "pyarrow.feather.read_table reads it"),
    _Magic(
        0,
        bytes.fromhex("83af70d10d884a3f"),
        "an ArrayRecord or Riegeli file",
        "the package array_record reads ArrayRecord",
    ),
    _Magic(0, b"\n#\xd7\xce", "an MXNet RecordIO file"),
    _Magic(0, b"\x89HDF\r\n\x1a\n", "an HDF5 file", "h5py reads it"),
    _Magic(0, b"SQLite format 3\0", "an SQLite database"),
    _Magic(16, b"\xde\xc0\xef\xbe\x01\0\0\0", "an LMDB database"),
    _Magic(0, b"Obj\x01", "an Avro file"),
    _Magic(0, b"\x93NUMPY", "a NumPy .npy file", "numpy.load reads it"),
    _Magic(0, b"PK\x03\x04", "a zip archive", _UNPACK),
    _Magic(0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    _Magic(0, b"\xfd7zXZ\0", "an xz file", _UNPACK),
    _Magic(0, b"\x04\x22\x4d\x18", "an LZ4 file", _UNPACK),
    _Magic(0, b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    _Magic(0, b"%PDF-", "a PDF document"),
)

CONTROL = bytes(set(range(32)) - set(b"\t\n\r\f")) + b"\x7f"
"""Bytes that no text has."""

_MEDIA_NOUNS = {"image": "image", "audio": "sound", "video": "video"}
_SPOKEN_VOWELS = "AMO"  # an AVI, an MP4, an OGG
_LFS = re.compile(r"version https://git-lfs\.github\.com/spec/")
_HTML = re.compile(r"<(!doctype\s+html|html)\b", re.IGNORECASE)
_XML = re.compile(r"\s*<(\?xml\b|!|[A-Za-z][\w:.-]*[\s/>])")
_JSON = re.compile(r"\s*(\{\s*([\"}]|$)|\[\s*([\[\]{\"\d.-]|true|false|null|$))")
_TEXT_PROTO = re.compile(
    r"\s*(#[^\n]*\n\s*)*[a-z]\w*\s*(\{|<|:\s*(\{|\"|'|-?\d|true\b|false\b|[A-Z]))"
)
_MESSAGE = re.compile(r"^[^#\"']*\w\s*(\{|<|:\s*[{<]\s*$)", re.MULTILINE)
_YAML = re.compile(r"^\s*(-\s|---|[\w.-]+:\s*$)", re.MULTILINE)
_TEXT_EXAMPLE = re.compile(r"\s*(#[^\n]*\n\s*)*(features|context|feature_lists)\s*:?\s*\{")
_TFX_SCHEMA = re.compile(
    r"\s*(#[^\n]*\n\s*)*(feature|sparse_feature|string_domain|int_domain|float_domain"
    r"|tensor_representation_group)\s*:?\s*\{(?!\s*key\b)"
)
_DATASET_INFO = re.compile(
    r'"(citation|configDescription|configName|downloadSize|fileFormat|releaseNotes|splits)":'
)
_INDEX = re.compile(r"0 \d+\r?\n(\d+ \d+\r?\n)*(\d+ ?\d*)?\Z")


def looks_like(head: bytes, *, is_whole: bool) -> str | None:
    r"""Say what a file looks like by its first bytes, with advice in parentheses; None if unknown.

    `is_whole` tells that there are no more bytes.

    Examples
    --------
    >>> looks_like(b"PAR1\x15\x04\x15\x10\x15\x14L\x15", is_whole=False)
    'a Parquet file (pandas.read_parquet reads it)'
    """
    if len(head) < HEADER_BYTES and not (is_whole and _is_no_cut_header(head)):
        return None
    if len(head) >= HEADER_BYTES and _is_nearly_header(head[:HEADER_BYTES]):
        return None
    for check in _CHECKS:
        if found := check(_Start(head, is_whole)):
            return found
    for offset, magic, name, advice in _MAGICS:
        is_sure = len(magic) >= 8 or head[4:8] != bytes(4)
        if is_sure and head.startswith(magic, offset):
            return f"{name} ({advice})" if advice else name
    return None


def _is_no_cut_header(head: bytes) -> bool:
    """Whether so few bytes are not the start of a header: of a record below 4 GiB."""
    return any(head[4:8]) or head.strip() in (b"{}", b"[]")


def _is_nearly_header(data: bytes) -> bool:
    """Whether it is a record's header, but for at most a bit of its length and one of its CRC."""
    length, stored = int.from_bytes(data[:8], "little"), int.from_bytes(data[8:], "little")
    lengths = [length, *(length ^ 1 << bit for bit in range(64))]
    crcs = {masked_crc32c(each.to_bytes(8, "little")) for each in lengths}
    return not crcs.isdisjoint([stored, *(stored ^ 1 << bit for bit in range(32))])


def _text(start: _Start) -> str | None:
    """Recognise text, and what kind of text it is."""
    if start.data.translate(None, CONTROL) != start.data:
        return None
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(start.data, start.is_whole)
    except UnicodeDecodeError:
        return None
    return next((name for kind, name in _TEXTS if kind(text)), "plain text")


def _media(start: _Start) -> str | None:
    """Recognise an image, sound or film, which :mod:`tfrecord_lite.media` knows."""
    found = recognize(start.data) if start.data[4:8] != bytes(4) else None
    if found is None:
        return None
    article = "an" if found.format[0] in _SPOKEN_VOWELS else "a"
    return f"{article} {found.format} {_MEDIA_NOUNS[found.kind]}"


def _is_table(text: str) -> bool:
    """Whether the first lines have the same number of columns, two or more, and are not prose."""
    lines = text.splitlines()[:4]
    return len(lines) > 1 and any(_has_columns(lines, separator) for separator in "\t,;")


def _has_columns(lines: list[str], separator: str) -> bool:
    rows = [line.split(separator) for line in lines]
    if len({len(row) for row in rows}) > 1 or len(rows[0]) == 1:
        return False
    # In prose a space follows each comma, and sentences end, or parts of them have several words.
    is_spaced = separator != "\t" and all(
        not cell or cell[0] == " " for row in rows for cell in row[1:]
    )
    ends = any(line.rstrip().endswith((".", "!", "?")) for line in lines)
    return not (is_spaced and (ends or any(len(cell.split()) > 3 for row in rows for cell in row)))


def _is_dataset_info(text: str) -> bool:
    return bool(_JSON.match(text)) and len(set(_DATASET_INFO.findall(text))) > 1


def _is_json_lines(text: str) -> bool:
    first, _, rest = text.lstrip().partition("\n")
    if not rest.startswith(first[:1]):
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return True


_TEXTS: tuple[tuple[Callable[[str], object], str], ...] = (
    (_LFS.match, "a Git LFS pointer (fetch the real file with git lfs pull)"),
    (
        lambda text: '"format": "tfrecord_lite.Schema"' in text[:200],
        "a schema file of this package (name its data file, without .schema.json)",
    ),
    (
        _INDEX.match,
        "the index of a TFRecord file (name the data file, without .idx)",
    ),
    (
        lambda text: _XML.match(text) and _HTML.search(text[:1000]),
        "an HTML page (a failed download often leaves one)",
    ),
    (_XML.match, "XML"),
    (
        lambda text: _JSON.match(text) and '"tensorflow_datasets.' in text[:HEAD_BYTES],
        "a features.json of TFDS (load_schema reads it, load_tfds its directory)",
    ),
    (_is_dataset_info, "a dataset_info.json of TFDS (load_tfds reads its directory)"),
    (lambda text: _JSON.match(text) and _is_json_lines(text), "JSON lines"),
    (_JSON.match, "JSON"),
    (
        _TEXT_EXAMPLE.match,
        "a tf.train.Example in text form (google.protobuf.text_format.Parse reads it)",
    ),
    (_TFX_SCHEMA.match, "a schema of TFX in text form (load_schema reads it)"),
    (_is_table, "CSV"),
    (
        lambda text: _TEXT_PROTO.match(text) and _MESSAGE.search(text) and not _YAML.search(text),
        "a protobuf message in text form (google.protobuf.text_format.Parse reads it)",
    ),
)


def _tar(start: _Start) -> str | None:
    """Recognise a tar archive by the checksum of its first header, which all variants have."""
    block = start.data[:512]
    stored = block[148:156].strip(b"\0 ")
    if len(block) < 512 or not stored.isdigit() or not block[0]:
        return None
    computed = sum(block) - sum(block[148:156]) + 8 * ord(" ")
    try:
        return f"a tar archive ({_UNPACK})" if int(stored, 8) == computed else None
    except ValueError:  # an 8 or a 9
        return None


def _arrow_stream(start: _Start) -> str | None:
    """Recognise the length of a schema, and the flatbuffer of that length, after a marker."""
    head = start.data
    if head[:4] != b"\xff\xff\xff\xff":
        return None
    n_bytes = int.from_bytes(head[4:8], "little")
    root = int.from_bytes(head[8:12], "little")
    is_one = 0 < n_bytes < 2**28 and n_bytes % 8 == 0 and 4 <= root < min(n_bytes, 256)
    return "an Arrow stream (pyarrow.ipc.open_stream reads it)" if is_one else None


def _pickle(start: _Start) -> str | None:
    """Recognise a pickle of protocol 2 or later, by its first frame or its last byte."""
    head = start.data
    if head[0] != 0x80 or not 2 <= head[1] <= 5:
        return None
    is_framed = head[2] == 0x95 and head[8:11] == bytes(3) and head[3:8] != bytes(5)
    is_ended = start.is_whole and head[4:8] != bytes(4) and head[-1:] == b"."
    return "a pickle" if is_framed or is_ended else None


def _npz(start: _Start) -> str | None:
    """Recognise a zip archive whose first entry is an array."""
    head = start.data
    if head[:4] != b"PK\x03\x04":
        return None
    n_bytes = int.from_bytes(head[26:28], "little")
    is_array = head[30 : 30 + n_bytes].endswith(b".npy")
    return "a NumPy .npz archive (numpy.load reads it)" if is_array else None


def _unframed_example(start: _Start) -> str | None:
    """Recognise whole messages that are nothing but Features and FeatureLists with entries."""
    head = start.data
    if not start.is_whole or head[0] != 0x0A:
        return None
    try:
        parts = list(_only_fields(head, 0, len(head), (1, 2)))
        entries = [entry for part in parts for entry in _only_fields(head, *part, (1,))]
        for entry in entries:
            list(_only_fields(head, *entry, (1, 2)))
    except WireError:
        return None
    name = "serialized tf.train.Examples without the framing of records"
    return f"{name} (TFRecordWriter writes it)" if entries else None


def _only_fields(
    head: bytes, start: int, stop: int, numbers: tuple[int, ...]
) -> list[tuple[int, int]]:
    """Return where the fields of a message are; WireError if it has other ones than messages."""
    found = []
    for number, wire_type, begin, end in walk(head, start, stop):
        if number not in numbers or wire_type != LEN:
            raise WireError(0, begin, "another field")
        found.append((begin, end))
    return found


_CHECKS = (_text, _tar, _arrow_stream, _pickle, _npz, _unframed_example, _media)
