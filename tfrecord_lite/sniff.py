r"""What some bytes are, by their beginning: of files, of values in records.

Nothing is decoded, no I/O is done, and the work is bounded, however many bytes there are. The bytes
may be anything: an image that is cut has no size, and what is in no format is ``text`` or ``bytes``.

A file is asked about only if its first 12 bytes are not the header of a record. A TFRecord file whose first
record is damaged has to stay one: a record below 4 GiB has zeros in bytes 4 to 7, so what is shorter than 8
bytes of magic is believed only if these are not all zero, and text has no zeros at all.
"""

from __future__ import annotations

import codecs
import json
import re
from collections import deque
from collections.abc import Callable
from functools import cache, partial
from itertools import islice
from math import prod
from struct import calcsize, unpack_from
from struct import error as StructError  # noqa: N812
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tfrecord_lite.block import HEADER_BYTES
from tfrecord_lite.texts import human_bytes, plural
from tfrecord_lite.wire.scalar import LEN, VARINT, WireError, read_varint, walk

HEAD_BYTES = 4096
"""So many first bytes are enough to recognise a file."""
OTHER_LABELS = ("text", "bytes", "empty")
"""The labels of byte strings that are in no format."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_MAX_TEXT_BYTES = 1 << 16
_MAX_STEPS = 2000
"""Segments or chunks to look at; a JPEG with a colour profile has some hundred."""
_UNPACK = "unpack it first"


def text_of(data: bytes, *, is_cut: bool = False) -> str | None:
    r"""Return bytes as text if they are UTF-8 without control characters but ``\t\n\r``.

    If `is_cut`, the last character may be cut; it is left out.
    """
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(data, final=not is_cut)
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else text


# ------------------------------------------------------------------- images, sounds, films


class Media(NamedTuple):
    """What an encoded image, sound or film is; None for what its header does not have."""

    format: str
    """Its usual name, such as ``"JPEG"``."""
    mime: str
    ending: str
    """The usual ending of the names of such files, such as ``".jpg"``."""
    width: int | None = None
    height: int | None = None
    """A picture's size, in pixels."""
    sample_rate: int | None = None
    """A sound's, in Hz."""
    n_channels: int | None = None
    seconds: float | None = None

    @property
    def kind(self) -> str:
        """``"image"``, ``"audio"`` or ``"video"``."""
        return self.mime.partition("/")[0]

    @property
    def details(self) -> str:
        """Size, sample rate and length, as far as they are known; may be empty."""
        usual = {None: "", 1: "mono", 2: "stereo"}
        parts = (
            f"{self.width} x {self.height}" if self.width and self.height else "",
            f"{self.sample_rate} Hz" if self.sample_rate else "",
            usual.get(self.n_channels, f"{self.n_channels} channels"),
            "" if self.seconds is None else f"{self.seconds:.1f} s",
        )
        return ", ".join(filter(None, parts))

    def __str__(self) -> str:
        """Name the format, with size, sample rate and length: ``JPEG 640 x 480``."""
        return f"{self.format} {self.details}".rstrip()


_Details: TypeAlias = "dict[str, Any] | None"
"""The known fields of a Media; None if the bytes are not of the format after all."""


def _size(width: int, height: int) -> _Details:
    return {"width": width, "height": height} if width > 0 and height > 0 else {}


def _sound(rate: int, channels: int, n_samples: float = 0) -> _Details:
    seconds = n_samples / rate if n_samples and rate else None
    return {"sample_rate": rate, "n_channels": channels or None, "seconds": seconds} if rate else {}


def _jpeg(data: bytes) -> _Details:
    """Read the first start of a frame: SOF0 to SOF15, but for the three that are something else."""
    at = 2
    for _ in range(_MAX_STEPS):
        prefix, marker = unpack_from(">BB", data, at)
        if prefix != 0xFF or marker in (0xD9, 0xDA):  # lost, the end, or a scan without a frame
            return {}
        if marker == 0xFF:  # a fill byte
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:  # no length
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = unpack_from(">HH", data, at + 5)
            return _size(width, height)
        else:
            at += 2 + unpack_from(">H", data, at + 2)[0]
    return {}


def _bmp(data: bytes) -> _Details:
    if data[14] == 12:
        return _size(*unpack_from("<HH", data, 18))
    width, height = unpack_from("<ii", data, 18)
    return _size(width, abs(height))


def _webp(data: bytes) -> _Details:
    form = data[12:16]
    if form == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = unpack_from("<HH", data, 26)
        return _size(width & 0x3FFF, height & 0x3FFF)
    if form == b"VP8L" and data[20:21] == b"\x2f":
        (bits,) = unpack_from("<I", data, 21)
        return _size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if form == b"VP8X":
        low, high, low2, high2 = unpack_from("<HBHB", data, 24)
        return _size((high << 16 | low) + 1, (high2 << 16 | low2) + 1)
    return {}


def _wav(data: bytes) -> _Details:
    """Read the format, and the length of the samples; a stream does not know that when it begins."""
    channels = rate = byte_rate = 0
    at = 12
    for _ in range(_MAX_STEPS):
        if at + 8 > len(data):
            break
        name, n_bytes = unpack_from("<4sI", data, at)
        if name == b"fmt ":
            channels, rate, byte_rate = unpack_from("<HII", data, at + 10)
        elif name == b"data" and byte_rate:
            n_bytes = n_bytes if n_bytes < 0xFFFFFFFF else len(data) - at - 8
            return _sound(rate, channels, n_bytes / byte_rate * rate)
        at += 8 + n_bytes + n_bytes % 2
    return _sound(rate, channels)


def _flac(data: bytes) -> _Details:
    """Read STREAMINFO, which comes first: 20 bits of rate, 3 of channels, 36 of samples."""
    (bits,) = unpack_from(">Q", data, 18)
    return _sound(bits >> 44, (bits >> 41 & 7) + 1, bits & (1 << 36) - 1)


_compiled = cache(partial(re.compile, flags=re.DOTALL))
"""Compiles a pattern when it is first needed: all together would take longer than a short file does."""


class _Format(NamedTuple):
    begins: bytes
    name: str
    """The name of the format, with its article."""
    advice: str = ""
    """What reads such a file."""
    read: Callable[[bytes], _Details] = lambda _: {}
    is_sure: bool = False
    """Whether damage never looks like it: 8 bytes of magic, or a closer look."""
    media: Media | None = None

    def details(self, data: bytes) -> _Details:
        """Return what the header says, nothing if it is cut; None if this is another format after all."""
        try:
            return self.read(data) if _compiled(self.begins).match(data) else None
        except (StructError, IndexError):
            return None if self.media is None else {}


def _medium(pattern: bytes, name: str, mime: str, ending: str, read: Any = lambda _: {}) -> _Format:
    noun = {"image": "image", "audio": "sound", "video": "video"}[mime.partition("/")[0]]
    article = "an" if name[0] in "AMO" else "a"  # an AVI, an MP4, an OGG
    noun = f"{article} {name} {noun}"
    return _Format(pattern, noun, read=read, media=Media(name, mime, ending))


def _tar(data: bytes) -> _Details:
    stored = data[148:156].strip(b"\0 ")
    if len(data) < 512 or not re.fullmatch(rb"[0-7]+", stored) or not data[0]:
        return None
    computed = sum(data[:512]) - sum(data[148:156]) + 8 * ord(" ")
    return {} if int(stored, 8) == computed else None


def _arrow_stream(data: bytes) -> _Details:
    n_bytes, root = unpack_from("<II", data, 4)
    is_one = 0 < n_bytes < 2**28 and n_bytes % 8 == 0 and 4 <= root < min(n_bytes, 256)
    return {} if is_one else None


def _anomalies(data: bytes) -> _Details:
    """Check the first feature of a schema, whose name is not followed by the value of an Example's."""
    at = re.match(_LENGTH * 2 + rb"\n", data, re.DOTALL).end()  # type: ignore[union-attr]
    stop = at + 1 + data[at]
    is_name = data[at] < 128 and text_of(data[at + 1 : stop]) is not None
    return {} if is_name and data[stop] in b"\x10\x2a\x30\x3a\x4a\x52\x6a\x72" else None


_LENGTH = rb"\n[\x80-\xff]{0,4}[\0-\x7f]"
"""The start of field 1, which has a length."""
_FTYP = rb"\0\0[\0-\x03].ftyp"
"""The start of a short box; a text may have these letters at its fifth byte."""

_FORMATS = (
    _medium(rb"\xff\xd8\xff", "JPEG", "image/jpeg", ".jpg", _jpeg),
    _medium(
        rb"\x89PNG\r\n\x1a\n", "PNG", "image/png", ".png",
        lambda data: _size(*unpack_from(">II", data, 16)) if data[12:16] == b"IHDR" else {},
    ),
    _medium(rb"GIF8[79]a", "GIF", "image/gif", ".gif", lambda data: _size(*unpack_from("<HH", data, 6))),
    _medium(rb"RIFF....WEBP", "WebP", "image/webp", ".webp", _webp),
    # A text may begin with BM: the second header has one of these lengths.
    _medium(rb"BM.{12}[\x0c\x10\x28\x34\x38\x40\x6c\x7c]\0\0\0", "BMP", "image/bmp", ".bmp", _bmp),
    _medium(rb"II[\x2a\x2b]\0|MM\0[\x2a\x2b]", "TIFF", "image/tiff", ".tif"),
    _medium(_FTYP + rb"avi[fs]", "AVIF", "image/avif", ".avif"),
    _medium(_FTYP + rb"(hei[cmsx]|hev[cmsx]|mif1|msf1)", "HEIC", "image/heic", ".heic"),
    _medium(rb"\0\0\0\x0cjP  \r\n\x87\n", "JPEG 2000", "image/jp2", ".jp2"),
    _medium(rb"\xff\x4f\xff\x51", "JPEG 2000", "image/jp2", ".j2k"),
    _medium(rb"\0\0\0\x0cJXL \r\n\x87\n", "JPEG XL", "image/jxl", ".jxl"),
    _medium(rb"(RIFF|RF64)....WAVE", "WAV", "audio/wav", ".wav", _wav),
    _medium(rb"fLaC[\0\x80]", "FLAC", "audio/flac", ".flac", _flac),
    _medium(rb"OggS\0.{23,278}\x80theora", "OGG video", "video/ogg", ".ogv"),
    _medium(rb"OggS\0", "OGG", "audio/ogg", ".ogg"),
    _medium(rb"ID3[\x02-\x04].[\x00-\xff][\x00-\x7f]{4}", "MP3", "audio/mpeg", ".mp3"),
    # The next frame begins alike; without it, chance may have made the first.
    _medium(rb"(\xff[\xe2\xe3\xf2\xf3\xfa\xfb])[\x10-\xeb].{20,2100}?\1[\x10-\xeb]", "MP3", "audio/mpeg", ".mp3"),
    _medium(_FTYP + rb"M4A ", "M4A", "audio/mp4", ".m4a"),
    _medium(_FTYP + rb"qt  ", "QuickTime", "video/quicktime", ".mov"),
    _medium(_FTYP, "MP4", "video/mp4", ".mp4"),
    _medium(rb"RIFF....AVI ", "AVI", "video/x-msvideo", ".avi"),
    _medium(rb"\x1a\x45\xdf\xa3.{0,40}webm", "WebM", "video/webm", ".webm"),
    _Format(rb".{148}", "a tar archive", _UNPACK, is_sure=True, read=_tar),
    _Format(
        rb"\xff{4}.{8}", "an Arrow stream", "pyarrow.ipc.open_stream reads it", is_sure=True, read=_arrow_stream
    ),
    # Of protocol 4 and later, with its first frame.
    _Format(rb"\x80[\x04\x05]\x95.{1,5}\0\0\0", "a pickle", is_sure=True),
    _Format(rb"PAR1", "a Parquet file", "pandas.read_parquet reads it"),
    _Format(rb"ARROW1\0\0", "an Arrow (Feather) file", "pyarrow.feather.read_table reads it", is_sure=True),
    _Format(
        b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f", "an ArrayRecord or Riegeli file",
        "the package array_record reads ArrayRecord, riegeli's own library Riegeli", is_sure=True,
    ),
    _Format(rb"\n#\xd7\xce", "an MXNet RecordIO file"),
    _Format(rb"\x89HDF\r\n\x1a\n", "an HDF5 file", "h5py reads it", is_sure=True),
    _Format(rb"SQLite format 3\0", "an SQLite database", is_sure=True),
    _Format(rb".{16}\xde\xc0\xef\xbe\x01\0\0\0", "an LMDB database", is_sure=True),
    _Format(rb"Obj\x01", "an Avro file"),
    _Format(rb"\x93NUMPY", "a NumPy .npy file", "numpy.load reads it"),
    _Format(rb"PK\x03\x04.{26}[^\0]{0,200}?\.npy", "a NumPy .npz archive", "numpy.load reads it"),
    _Format(rb"PK\x03\x04", "a zip archive", _UNPACK),
    _Format(rb"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    _Format(rb"\xfd7zXZ\0", "an xz file", _UNPACK),
    _Format(rb"\x04\x22\x4d\x18", "an LZ4 file", _UNPACK),
    _Format(rb"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    _Format(rb"\xff\x06\0\0sNaPpY", "a Snappy file", _UNPACK),
    _Format(rb"%PDF-", "a PDF document"),
    # One message each: a data set with its number of examples, and a schema with its first feature.
    _Format(
        _LENGTH + rb"(\n[\0-\x7f][^\0]*?)?\x10[\x80-\xff]*[\0-\x7f]\x1a",
        "statistics of TFX, as in FeatureStats.pb", "tensorflow_data_validation.load_stats_binary reads it",
    ),
    _Format(
        _LENGTH * 2 + rb"\n", "anomalies of TFX, as in SchemaDiff.pb",
        "the message Anomalies of tensorflow_metadata parses it", read=_anomalies,
    ),
)  # fmt: skip
"""The first that matches counts."""
_MEDIA_STARTS = (
    b"\xff", b"\x89P", b"GI", b"RI", b"RF", b"BM", b"II", b"MM", b"\0\0", b"fL", b"Og", b"ID", b"\x1a"
)  # fmt: skip
"""How media begin; no pattern need be tried for most texts and numbers."""


def recognize(data: bytes) -> Media | None:
    r"""Recognise an encoded image, sound or film; None if the bytes are not of a known format.

    Truncated bytes are recognised by their beginning.

    Examples
    --------
    >>> str(recognize(b"GIF89a\x80\x02\xe0\x01"))
    'GIF 640 x 480'
    >>> recognize(b"text")
    """
    for form in _FORMATS if data.startswith(_MEDIA_STARTS) else ():
        if form.media is not None and (details := form.details(data)) is not None:
            return form.media._replace(**details)
    return None


# ---------------------------------------------------------------------------------- files


def looks_like(head: bytes, *, is_whole: bool) -> str | None:
    r"""Say what a file looks like by its first bytes, with advice in parentheses; None if unknown.

    `is_whole` means that there are no more bytes.

    >>> looks_like(b"PAR1\x15\x04\x15\x10\x15\x14L\x15", is_whole=False)
    'a Parquet file (pandas.read_parquet reads it)'
    """
    if len(head) < HEADER_BYTES:
        # Maybe the start of a header, of a record below 4 GiB, that was cut.
        is_no_header = any(head[4:8]) or head.strip() in (b"{}", b"[]")
        if not (is_whole and is_no_header):
            return None
    if (text_kind := _text_kind(head, is_whole=is_whole)) is not None:
        return text_kind
    is_header = head[4:8] == bytes(4)
    for form in _FORMATS:
        if (form.is_sure or not is_header) and form.details(head) is not None:
            return f"{form.name} ({form.advice})" if form.advice else form.name
    if is_whole and _is_unframed_example(head):
        noun = "serialized tf.train.Examples without the framing of records"
        return f"{noun} (TFRecordWriter writes it)"
    for layout in _LENGTHS:
        if (messages := _after_lengths(head, layout, is_whole=is_whole)) is not None:
            prefix, advice = "varint lengths", "google.protobuf.proto.parse_length_prefixed"
            if n_bytes := calcsize(layout):
                prefix = f"plain lengths of {n_bytes} bytes"
                advice = f"struct.unpack({layout!r}, file.read({n_bytes})) and file.read(length)"
            return f"{messages} after {prefix} (read them with {advice}; TFRecordWriter writes records)"
    if _are_snappy_blocks(head):
        return SNAPPY_BLOCKS
    # Hadoop's blocks have the length of what they hold before them.
    if head[:1] == b"\0" and _are_snappy_blocks(head[4:]):
        return f"Snappy blocks of Hadoop ({_UNPACK}, or have Spark write gzip)"
    return None


SNAPPY_BLOCKS = "blocks compressed with Snappy (pip install cramjam, and they are read)"
"""What the files look like that TensorFlow, or the package tfrecords, compressed with Snappy."""
_LENGTHS = ("", "<q", ">q", "<I", ">I")
"""How the length of a message is stored before it, in the words of struct; "" for a varint."""
_MAX_MESSAGES = 50


def _after_lengths(data: bytes, layout: str, *, is_whole: bool) -> str | None:
    """Name the messages, each after its length; None if they are not messages."""
    n_messages, stop, are_examples = 0, 0, True
    try:
        while stop < len(data) and n_messages < _MAX_MESSAGES:
            if layout:
                (length,), start = unpack_from(layout, data, stop), stop + calcsize(layout)
            else:
                length, start = read_varint(data, stop, min(stop + 5, len(data)))
            stop = start + length
            # The first field of an Example is all of it.
            size, inner = read_varint(data, start + 1, min(start + 6, len(data)))
            are_examples &= data[start : start + 1] == b"\n" and inner + size == stop
            if start < 0 or stop > len(data) or not length:
                break
            deque(walk(data, start, stop), maxlen=0)
            n_messages += 1
    except (StructError, WireError):
        return None
    is_end = stop == len(data) if is_whole else stop >= len(data)
    if not (is_end or n_messages == _MAX_MESSAGES) or not (are_examples or n_messages > 1):
        return None
    return "tf.train.Examples" if are_examples else "protobuf messages"


def _are_snappy_blocks(data: bytes) -> bool:
    """Check the lengths of the first block and of its content, and that it begins with a literal."""
    n_bytes = int.from_bytes(data[:4], "big")
    n_plain, at = read_varint(data, 4, min(9, len(data)))
    is_length = n_plain > 0 and 5 < n_bytes <= 32 + n_plain * 7 // 6
    return is_length and at < len(data) and data[at] & 3 == 0


def _is_unframed_example(data: bytes) -> bool:
    """Whether these are whole messages that are nothing but Features and FeatureLists with entries."""
    try:
        parts = list(walk(data, 0, len(data)))
        entries = [entry for *_, start, stop in parts for entry in walk(data, start, stop)]
    except WireError:
        return False
    are_parts = data[:1] == b"\n" and all(part[:2] in ((1, LEN), (2, LEN)) for part in parts)
    return are_parts and bool(entries) and all(entry[:2] == (1, LEN) for entry in entries)


def _is_table(text: str) -> bool:
    """Whether the first lines have equally many columns, two or more; prose has spaces after commas."""
    lines = text.splitlines()[:4]
    separators = [s for s in "\t,;" if lines and re.search(f"{s}[^ ]", lines[0])]
    return len(lines) > 1 and any(len({line.count(s) for line in lines}) == 1 for s in separators)


def _is_json_lines(text: str) -> bool:
    first, _, rest = text.lstrip().partition("\n")
    try:
        return rest.startswith(first[:1]) and json.loads(first) is not None
    except (ValueError, RecursionError):
        return False


_COMMENTS = r"\s*(#[^\n]*\n\s*)*"
_JSON = r"\s*(\{\s*([\"}]|$)|\[\s*([\[\]{\"\d.-]|true|false|null|$))"
_CLOSER: dict[str, Callable[[str], bool]] = {"JSON lines": _is_json_lines, "CSV": _is_table}
_TEXTS = (
    (r"version https://git-lfs\.github\.com/spec/", "a Git LFS pointer", "fetch the real file with git lfs pull"),
    (
        r'[^\0]{0,150}"format": "tfrecord_lite\.Schema"', "a schema file of this package",
        "name its data file, without .schema.json",
    ),
    (
        r"0 \d+\r?\n(\d+ \d+\r?\n)*(\d+ ?\d*)?\Z", "the index of a TFRecord file",
        "name the data file, without .idx",
    ),
    (
        r"(?i)\s*<([^\0]{0,990}<)?(!doctype\s+html|html)\b", "an HTML page",
        "a failed download often leaves one",
    ),
    (r"\s*<(\?xml\b|!|[A-Za-z][\w:.-]*[\s/>])", "XML", ""),
    (
        _JSON + r'[^\0]*?"tensorflow_datasets\.', "a features.json of TFDS",
        "load_schema reads it, load_tfds its directory",
    ),
    (_JSON, "JSON lines", "tfrecord convert --from jsonl reads it"),
    (_JSON, "JSON", ""),
    (
        _COMMENTS + r"(context\s*\{[^\0]*?\}\s*)?(node_sets|edge_sets)\s*:?\s*\{",
        "a graph_schema.pbtxt of TF-GNN", "the Examples beside it are read without a schema",
    ),
    (
        _COMMENTS + r"(features|context|feature_lists)\s*:?\s*\{", "a tf.train.Example in text form",
        "google.protobuf.text_format.Parse reads it",
    ),
    (
        _COMMENTS + r"(feature|sparse_feature|string_domain|int_domain|float_domain"
        r"|tensor_representation_group)\s*:?\s*\{(?!\s*key\b)",
        "a schema of TFX in text form", "load_schema reads it",
    ),
    ("", "CSV", "tfrecord convert --from csv reads it"),
    ("", "plain text", ""),
)  # fmt: skip
"""How a text begins, what it is, and advice; the first that matches counts, if a closer look agrees."""


def _text_kind(head: bytes, *, is_whole: bool) -> str | None:
    text = text_of(head.replace(b"\f", b"").removeprefix(b"\xef\xbb\xbf"), is_cut=not is_whole)
    for begins, name, advice in _TEXTS if text is not None else ():
        is_close = name not in _CLOSER or _CLOSER[name](text)  # type: ignore[arg-type]
        if is_close and re.match(begins, text):  # type: ignore[arg-type]
            return f"{name} ({advice})" if advice else name
    return None


# --------------------------------------------------------------------------------- values


class ValueContent(NamedTuple):
    """What a byte string is."""

    label: str
    """Its format in a word or two, such as ``"JPEG"``, ``"float32 tensor"``, ``"text"``, ``"bytes"``."""
    details: str
    """The size of a picture, the shape of a tensor, ...; may be empty."""
    n_bytes: int
    """Of a tensor or array of numbers, those of its elements."""
    media: Media | None = None
    shape: tuple[int, ...] | None = None
    """The shape of a tensor or array."""

    def __str__(self) -> str:
        """Say all of it in one line."""
        if not self.n_bytes and not self.details:
            return self.label
        n_bytes = plural(self.n_bytes, "byte")
        size = n_bytes if self.n_bytes < 1024 else human_bytes(self.n_bytes)
        what = f"{self.label} {self.details}".rstrip()
        return size if what == "bytes" else f"{what}, {size}"


def recognize_value(value: bytes) -> ValueContent:
    r"""Recognise what a byte string is, a long text by its first 64 KiB; never fails.

    Examples
    --------
    >>> print(recognize_value(b"GIF89a\x80\x02\xe0\x01"))
    GIF 640 x 480, 10 bytes
    """
    n_bytes = len(value)
    if not value:
        return ValueContent("empty", "", 0)
    if (media := recognize(value)) is not None:
        return ValueContent(media.format, media.details, n_bytes, media)
    recognized = _tensor(value) or _array(value)
    if recognized is not None:
        label, shape, size = recognized
        shown = [str(side) for side in shape[:8]] + (["..."] if len(shape) > 8 else [])
        details = f"[{', '.join(shown)}]"
        return ValueContent(label, details, n_bytes if size is None else size, shape=shape)
    is_text = text_of(value[:_MAX_TEXT_BYTES], is_cut=n_bytes > _MAX_TEXT_BYTES) is not None
    return ValueContent("text" if is_text else "bytes", "", n_bytes)


def content_text(value: bytes) -> str | None:
    """Say what an image, sound, tensor or array is; None for other bytes."""
    content = recognize_value(value)
    return None if content.label in OTHER_LABELS else str(content)


_DTYPES = (
    "-", "float32", "float64", "int32", "uint8", "int16", "int8", "string", "complex64",
    "int64", "bool", "-", "-", "-", "bfloat16", "-", "-", "uint16", "complex128", "float16",
    "-", "variant", "uint32", "uint64", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e4m3b11fnuz", "float8_e5m2fnuz", "int4", "uint4", "int2", "uint2", "float4_e2m1fn",
)  # fmt: skip
"""The dtypes of TensorProtos by number; a dash for those that have no elements of this kind."""
_OF_LENGTHS = ("string", "variant")
"""Their content is the lengths of all elements, and then their bytes."""
_MAX_FIELDS = 200  # that many well-formed fields are proof enough
_MAX_DIMS = 254
_LISTS = range(5, 19)
_NPY = (
    rb"\x93NUMPY(?=.{0,4000}?'descr':\s*'([<>|=]?[A-Za-z]\d{0,4})')"
    rb"(?=.{0,4000}?'shape':\s*\(([\d, ]{0,1300})\))"
)


def _tensor(data: bytes) -> tuple[str, tuple[int, ...], int | None] | None:
    """Return what a TensorProto holds: label, shape, bytes of its elements; None for other bytes.

    The dtype is first, there is one shape, and the elements are as many as that asks for: all in the
    content, or at least one in a list (rule T5 repeats the last).
    """
    if len(data) < 4 or data[0] != 0x08:
        return None

    def size_of(start: int, stop: int) -> int:
        parts = islice(walk(data, start, stop), _MAX_FIELDS)
        sizes = [read_varint(data, a, b)[0] for n, wire, a, b in parts if (n, wire) == (1, VARINT)]
        return sizes[-1] if sizes else 0

    try:
        dtype = dict(enumerate(_DTYPES)).get(read_varint(data, 1, len(data))[0], "-")
        fields = list(islice(walk(data, 0, len(data)), _MAX_FIELDS))
        shapes = [field[2:] for field in fields if field[0] == 2]
        if dtype == "-" or len(shapes) != 1:
            return None
        dims = list(islice(walk(data, *shapes[0]), _MAX_DIMS + 1))
        shape = tuple(size_of(start, stop) for *_, start, stop in dims)
    except WireError:
        return None
    kinds = {1: VARINT, 2: LEN, 3: VARINT, 4: LEN}
    are_known = all(number in _LISTS or wire == kinds.get(number) for number, wire, *_ in fields)
    if not are_known or any(dim[:2] != (2, LEN) for dim in dims):
        return None
    if len(shape) > _MAX_DIMS or prod(filter(None, shape)) >= 2**63:
        return None
    n_bytes = None
    if dtype in np.sctypeDict:
        n_bytes = prod(shape) * np.dtype(dtype).itemsize
    elif dtype not in _OF_LENGTHS:  # of ml_dtypes, which need not be installed
        n_bytes = prod(shape) * (2 if dtype == "bfloat16" else 1)
    contents = [field[2:] for field in fields if field[0] == 4]
    if any(start < stop for start, stop in contents):
        start, stop = contents[-1]
        is_full = stop - start == n_bytes
        if dtype in _OF_LENGTHS:
            is_full = _are_items(data, start, stop, prod(shape))
    else:
        is_full = not prod(shape) or any(number in _LISTS for number, *_ in fields)
    return (f"{dtype} tensor", shape, n_bytes) if is_full else None


def _are_items(data: bytes, at: int, stop: int, n_items: int) -> bool:
    """Whether a content is the lengths of so many items, and these; only the first lengths if many."""
    n_bytes = 0
    try:
        for _ in range(min(n_items, _MAX_STEPS)):
            length, at = read_varint(data, at, stop)
            n_bytes += length
    except WireError:
        return False
    return n_items > _MAX_STEPS or at + n_bytes == stop


def _array(data: bytes) -> tuple[str, tuple[int, ...], int] | None:
    """Read the header of a .npy file, a dictionary in Python's syntax; None if it is another."""
    header = re.match(_NPY, data, re.DOTALL) if data.startswith(b"\x93NUMPY") else None
    if header is None:
        return None
    digits: list[bytes] = re.findall(rb"\d+", header[2])
    if max(map(len, digits), default=0) > 18:
        return None
    try:
        dtype = np.dtype(header[1].decode())
    except (TypeError, ValueError):
        return None
    shape = tuple(map(int, digits))
    n_bytes = prod(shape) * dtype.itemsize
    return (f"{dtype.name} array", shape, n_bytes) if n_bytes < 2**63 else None
