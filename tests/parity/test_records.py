"""Reading record files: rules F1 to F4, R1 to R9 and C1 to C8, asked of both."""

import gzip
import random
import struct
import zlib
from collections.abc import Iterator
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.parity.answers import (
    Answer,
    Both,
    ask,
    assert_same,
    assert_same_error,
    read_all,
    read_ours,
)
from tests.parity.rules import deviation, parameters, rule
from tests.support.file_objects import Pipe
from tests.support.frame_damage import IN_PLACE, Extent
from tfrecord_lite import TFRecordReader
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.files import compression as compressions
from tfrecord_lite.reader import tf_record_iterator
from tfrecord_lite.records.crc32c import masked_crc32c

RECORDS = [b"first", b"", b"the third record", bytes(range(256))]
LONG = [b"%4d" % number + bytes(49_996) for number in range(20)]
COMPRESSIONS = ["", "GZIP", "ZLIB"]
COMPRESSED = ["GZIP", "ZLIB"]


def head(length: int) -> bytes:
    return struct.pack("<QI", length, masked_crc32c(struct.pack("<Q", length)))


def framed(*records: bytes) -> bytes:
    return b"".join(head(len(r)) + r + struct.pack("<I", masked_crc32c(r)) for r in records)


def compressed(data: bytes, compression: str) -> bytes:
    if compression == "GZIP":
        return gzip.compress(data)
    return zlib.compress(data) if compression == "ZLIB" else data


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


FILE = framed(*RECORDS)
EDGES = [len(framed(*RECORDS[:n])) for n in range(len(RECORDS) + 1)]
GZIP = compressed(FILE, "GZIP")
FLAGS: list[tuple[int, bytes]] = [
    (0x04, struct.pack("<H", 6) + b"AB\2\0xy"),  # extra field
    (0x1D, struct.pack("<H", 0) + b"name\0comment\0"),  # and it is text, it says
]


def with_header(flags: int, fields: bytes) -> bytes:
    """Return the file in GZIP, with optional parts of its header."""
    header = b"\x1f\x8b\x08" + bytes([flags]) + struct.pack("<IBB", 1_600_000_000, 2, 3) + fields
    crc = struct.pack("<H", zlib.crc32(header) & 0xFFFF) if flags & 2 else b""
    return header + crc + GZIP[10:]


def with_flushes(window: int, mode: int) -> bytes:
    """Return the file compressed with a flush after each byte, and empty blocks."""
    compressor = zlib.compressobj(wbits=window)
    pieces = [compressor.flush(mode)]
    for number in range(len(FILE)):
        pieces += [compressor.compress(FILE[number : number + 1]), compressor.flush(mode)]
        pieces += [compressor.flush(mode)] * 3
    return b"".join([*pieces, compressor.flush()])


def read_alike() -> Iterator[tuple[Any, ...]]:
    """Give rule, content, compression, records, and reason and offset of the error that ends them."""
    length, other = struct.pack("<Q", 4), framed(b"other")
    yield "F1", framed(b""), "", [b""]
    bare = length + struct.pack("<I", crc32c(length)) + framed(b"data")[12:]
    yield "F2", bare, "", [], Reason.LENGTH_CRC, 0
    bare = framed(b"data")[:-4] + struct.pack("<I", crc32c(b"data"))
    yield "F2", bare, "", [], Reason.DATA_CRC, 0
    yield "F3", b"\n" + FILE, "", [], Reason.LENGTH_CRC, 0
    yield "F3", FILE + bytes(16), "", RECORDS, Reason.LENGTH_CRC, len(FILE)
    for name in ("", "GZIP"):
        parts = [compressed(part, name) for part in (FILE, other, FILE)]
        yield "F4", b"".join(parts), name, [*RECORDS, b"other", *RECORDS]
    for name, (n, (start, stop)) in product(COMPRESSIONS, enumerate(pairwise(EDGES))):
        before = RECORDS[:n]
        yield "R1", compressed(FILE[:start], name), name, before
        yield "R1", compressed(FILE[:stop], name), name, RECORDS[: n + 1]
        for cut in {start + 12, start + 13, stop - 5, stop - 4, stop - 1} & {
            *range(start + 12, stop)
        }:
            data = compressed(FILE[:cut], name)
            yield "R3", data, name, before, Reason.TRUNCATED, start
        for at in range(start, start + 12):
            data = compressed(flipped(FILE, at), name)
            yield "R4", data, name, before, Reason.LENGTH_CRC, start
        for at in {start + 12, (start + 12 + stop) // 2, stop - 4, stop - 1}:
            data = compressed(flipped(FILE, at), name)
            yield "R5", data, name, before, Reason.DATA_CRC, start
    for size in (2**20, 2**31 - 1, 2**64 - 5, 2**64 - 1):
        reason = Reason.TRUNCATED if size < 2**31 else Reason.RECORD_TOO_LARGE
        yield "R6", FILE + head(size) + bytes(100), "", RECORDS, reason, len(FILE)
    for actual, asked in product(COMPRESSIONS, COMPRESSIONS):
        reason = Reason.COMPRESSION if asked else Reason.LENGTH_CRC
        error = () if actual == asked else (reason, 0)
        yield "C1", compressed(FILE, actual), asked, [] if error else RECORDS, *error
    for name in COMPRESSIONS:
        yield "C2", b"", name, []
    for junk in (b"ju", b"junk", bytes(512), framed(b"raw")):
        yield "C5", GZIP * 2 + junk, "GZIP", RECORDS * 2, Reason.TRAILING_DATA, 2 * len(FILE)
    for cut in (*range(1, 30), *EDGES[1:-1], len(FILE) - 1):
        halves = compressed(FILE[:cut], "GZIP") + compressed(FILE[cut:], "GZIP")
        yield "C5", halves, "GZIP", RECORDS
    yield "C5", GZIP + compressed(b"", "GZIP"), "GZIP", RECORDS
    for (flags, fields), crc in product(FLAGS, (0, 2)):
        yield "C6", with_header(flags | crc, fields) * 2, "GZIP", RECORDS * 2
    for mode in (zlib.Z_PARTIAL_FLUSH, zlib.Z_FULL_FLUSH):
        yield "C7", with_flushes(31, mode), "GZIP", RECORDS


@pytest.mark.parametrize(
    ("data", "name", "records", "reason", "offset"), parameters(read_alike(), None, None)
)
def test_both_read_the_same(
    both: Both, data: bytes, name: str, records: list[bytes], reason: Any, offset: int | None
) -> None:
    theirs, ours = both.read(data, name)
    assert_same(theirs, ours)
    assert_same(both.read_dataset(both.path(data), name), ours)
    assert ours.value == records
    if reason is None:
        assert ours.error is None
        return
    assert (ours.reason, ours.offset) == (reason, offset)
    if theirs.offset is not None and offset is not None:  # rule R5: there it is that of the data
        assert theirs.offset == offset + 12 * (reason is Reason.DATA_CRC)
    if reason is Reason.LENGTH_CRC and len(data) > 20 and not name:
        assert ("Is this even a TFRecord file?" in str(theirs.error)) == (offset == 0)


def differing() -> Iterator[tuple[Any, ...]]:
    """Give rule, content, compression, number of TensorFlow's records and its error, our records, reason, offset."""
    for name, (n, edge), n_bytes in product(COMPRESSIONS, enumerate(EDGES), range(1, 12)):
        data = compressed((FILE + bytes(12))[: edge + n_bytes], name)
        yield "R2", data, name, n, None, RECORDS[:n], Reason.TRUNCATED, edge
    yield "R5", flipped(FILE, 12), "", 0, "DataLossError", [], Reason.DATA_CRC, 0
    for size in (2**63 - 4, 2**63, 2**64 - 6):
        data, error = FILE + head(size) + bytes(100), "InvalidArgumentError"
        yield "R6", data, "", 4, error, RECORDS, Reason.RECORD_TOO_LARGE, len(FILE)
    end = len(FILE)
    for junk in (b"x", bytes(1)):
        yield "C5", GZIP + junk, "GZIP", 4, None, RECORDS, Reason.TRAILING_DATA, end
    for junk in (b"x", b"junk", bytes(512), compressed(FILE, "ZLIB")):
        data = compressed(FILE, "ZLIB") + junk
        yield "C5", data, "ZLIB", 4, None, RECORDS, Reason.TRAILING_DATA, end
    none = compressed(b"", "GZIP")  # an empty gzip stream ends the file for TensorFlow only
    yield "C5", GZIP + none + GZIP, "GZIP", 4, None, RECORDS * 2
    yield "C5", none + GZIP + GZIP, "GZIP", 0, None, RECORDS * 2


@pytest.mark.parametrize(
    ("data", "name", "n_theirs", "error", "records", "reason", "offset"),
    parameters(differing(), None, None, mark=deviation),
)
def test_we_differ(
    both: Both, data: bytes, name: str, n_theirs: int, error: Any, records: Any, reason: Any, offset: Any
) -> None:  # fmt: skip
    theirs, ours = both.read(data, name)
    assert theirs.value == RECORDS[:n_theirs]
    assert type(theirs.error).__name__ == (error or "NoneType")
    assert ours.value == records
    assert ours.error is None if reason is None else (ours.reason, ours.offset) == (reason, offset)


@rule("R7")
@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("at", [3, 8, 12, 36], ids=["length", "length CRC", "data CRC", "later"])
def test_a_damaged_record_is_not_stepped_over(both: Both, compression: str, at: int) -> None:
    path = both.path(compressed(flipped(FILE, at), compression))
    with both.readers(path, compression) as (theirs, ours):
        for _ in range(6):
            their_answer, our_answer = ask(next, theirs), ask(next, ours)
            assert_same(their_answer, our_answer)
        assert their_answer.error is not None
        assert str(ask(next, theirs).error) == str(their_answer.error)
        assert str(ask(next, ours).error) == str(our_answer.error)


@rule("R8")
@deviation("R2")
@pytest.mark.parametrize("size", [0, 100_000])
def test_the_end_is_not_final_when_the_file_grows(both: Both, size: int) -> None:
    last = framed(bytes(size))
    cuts = {0, 7, 12, 13, len(last) // 2, len(last) - 4, len(last) - 1}
    for cut in cuts:
        path = both.path(framed(b"one") + last[:cut])
        with both.readers(path) as (theirs, ours), Path(path).open("ab", buffering=0) as file:
            first = [(ask(next, theirs), ask(next, ours)) for _ in range(3)]
            file.write(last[cut:])
            then = [(ask(next, theirs), ask(next, ours)) for _ in range(2)]
        their_answer, our_answer = first[-1]
        if 0 < cut < 12:  # inside a head
            assert isinstance(their_answer.error, StopIteration)
            assert our_answer.reason is Reason.TRUNCATED
        else:
            assert_same(their_answer, our_answer)
        for their_answer, our_answer in first[:1] + then:
            assert_same(their_answer, our_answer)
        assert then[0][1].value == bytes(size)


@rule("R9")
@deviation("R9")
def test_what_is_no_file(both: Both) -> None:
    missing, folder = both.path(name="none"), str(both.folder)
    for path in (missing, missing.encode(), ""):
        assert_same_error(ask(both.iterator, path), ask(tf_record_iterator, path))
    ours = read_ours(missing)
    assert isinstance(ours.error, FileNotFoundError)
    assert_same(both.read_theirs(missing), ours)
    assert_same(both.read_dataset(missing), ours)
    # A reader reads the files in a folder; TensorFlow's own names refuse it, as TensorFlow does.
    assert both.read_theirs(folder).error is not None
    assert both.read_dataset(folder).error is not None
    wrong: Any
    for wrong in (None, 3, 1.5, [b"name"]):
        assert_same(ask(both.iterator, wrong), ask(tf_record_iterator, wrong))
    path_object: Any = Path(both.path(FILE))
    assert isinstance(ask(both.iterator, path_object).error, TypeError)
    assert both.read_dataset(path_object) == Answer(RECORDS)
    assert read_ours(path_object) == Answer(RECORDS)


# Compression


@deviation("C3")
@pytest.mark.parametrize("compression", COMPRESSED)
def test_a_stream_without_its_end_is_an_error_here(both: Both, compression: str) -> None:
    data = compressed(FILE, compression)
    clean = 0
    for cut in range(1, len(data)):
        theirs, ours = both.read(data[:cut], compression)
        assert ours.value == theirs.value, cut
        clean += theirs.error is None
        assert theirs.error is None or "EOF reached" in str(theirs.error)
        assert ours.reason is Reason.COMPRESSED_TRUNCATED
    assert clean > 12  # the header and the trailer at the least


@rule("C4")
@pytest.mark.parametrize("compression", COMPRESSED)
def test_a_wrong_trailer_is_an_error(both: Both, compression: str) -> None:
    data = compressed(framed(*LONG), compression)
    for place in range(1, 9 if compression == "GZIP" else 5):
        theirs, ours = both.read(flipped(data, len(data) - place), compression)
        assert_same_error(theirs, ours)
        assert ours.reason is Reason.COMPRESSED_CORRUPT
        # How many come is a matter of buffers; here it is all of them.
        assert theirs.value == LONG[: len(theirs.value)]
        assert ours.value == LONG


@rule("C8")
@deviation("C8")
def test_an_unknown_compression_is_rejected_but_read_as_none_by_a_dataset(both: Both) -> None:
    path = both.path(FILE)
    wrong: Any
    for wrong in ("LZ4", "SNAPPY", 3, 1.5):
        assert_same(ask(both.iterator, path, wrong), ask(tf_record_iterator, path, wrong))
    # What a reader of ours takes a name for: any word in any letter case.
    known = {"BZ2": "BZ2", "gzip": "GZIP", "NONE": ""}
    readers: list[Any] = [TFRecordReader, tf_record_iterator]
    for name, reader in product(["BZ2", "gzip", "NONE", "LZ4"], readers):
        assert both.read_dataset(path, name) == Answer(RECORDS)
        ours = read_all(partial(reader, path, name))
        if known.get(name) == "":
            assert ours == Answer(RECORDS)
            continue
        assert ours.value == []
        if name in known:  # but this is not a file of it
            assert ours.reason is Reason.COMPRESSION
        else:
            assert isinstance(ours.error, InvalidArgumentError)
            assert ours.error.reason is Reason.BAD_ARGUMENT


# Random records, flushes and damage

# zlib-ng, which some builds of Python come with, makes other streams of the same content.
zlib_itself = pytest.mark.skipif(
    "ng" in zlib.ZLIB_RUNTIME_VERSION, reason="this Python does not compress with zlib itself"
)


def filled(size: int, seed: int) -> bytes:
    """Make a record that compresses badly, somewhat, well or entirely."""
    maker = random.Random(seed)
    if seed % 4 == 0:
        return maker.randbytes(size)
    alphabet = maker.randbytes(256 if seed % 4 == 1 else 12)
    unit = bytes(maker.choices(alphabet, k=min(size, (5, 300, 20_000)[seed % 3])))
    return (unit * (size // max(len(unit), 1) + 1))[:size]


def contents(max_size: int = 100_000, max_count: int = 30) -> st.SearchStrategy[list[bytes]]:
    """Lists of records of all sizes, most of them small."""
    sizes = st.one_of(
        st.integers(0, 40),
        st.integers(0, 1000),
        st.sampled_from([0, 11, 12, 16, 32_767, 32_768, 65_520, 65_536]),
        st.integers(0, max_size),
    )
    return st.lists(st.builds(filled, sizes, st.integers(0, 10_000)), max_size=max_count)


flushes = st.one_of(st.just(set[int]()), st.sets(st.integers(0, 30), max_size=5))
settings_of_zlib = st.fixed_dictionaries(
    {},
    optional={
        "compression_level": st.integers(1, 9) | st.just(-1),
        "window_bits": st.none() | st.integers(9, 15) | st.integers(25, 31),
        "mem_level": st.none() | st.integers(1, 9),
        "compression_strategy": st.integers(0, 4),
    },
)


@zlib_itself
@rule("F1", "O6", "O7", "O8")
@pytest.mark.parametrize("compression", COMPRESSIONS)
@settings(max_examples=120)
@given(content=contents() | contents(900_000, 8), flush_after=flushes, options=settings_of_zlib)
@example([filled(size, 4) for size in (262_143, 262_144, 262_145)], {1}, {})
@example([filled(600_000, seed) for seed in range(4)], set(), {})
def test_both_write_the_same_file_and_read_it_back(
    both: Both, compression: str, content: list[bytes], flush_after: set[int], options: dict[str, Any]
) -> None:  # fmt: skip
    data = both.write_same(content, {"compression_type": compression, **options}, flush_after)
    if not options:
        assert both.read_same(data, compression) == Answer(content)


@rule("F1", "F3", "C1")
@pytest.mark.parametrize("compression", COMPRESSIONS)
@settings(max_examples=60)
@given(contents(), flushes, st.integers(1, 40) | st.integers(1, 200_000), st.booleans())
def test_what_tensorflow_wrote_is_read_in_any_pieces(
    both: Both, compression: str, content: list[bytes], flush_after: set[int], size: int, detect: bool
) -> None:  # fmt: skip
    theirs, _ = both.write(content, compression, flush_after)
    pipe = Pipe(theirs, max(size, len(theirs) // 2000))  # not all day
    answer = read_all(lambda: TFRecordReader(pipe, None if detect else compression))
    assert answer == Answer(content)


@st.composite
def damaged(draw: DrawFn, data: bytes) -> tuple[bytes, bool]:
    """Draw a file with one to three damages, and whether its end is cut off."""
    is_cut = False
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from([*IN_PLACE, "cut", "append", "swap"]))
        size, seed = draw(st.integers(1, 20) | st.integers(1, 3000)), draw(st.integers(0, 2**32))
        start = draw(st.integers(0, max(len(data) - 1, 0)))
        at = Extent(start, min(start + size, len(data)))
        if kind == "append":
            data += random.Random(seed).randbytes(size)
        elif kind == "cut":
            data, is_cut = data[:start], True
        elif kind == "swap":
            data = data[at.start : at.stop] + data[: at.start] + data[at.stop :]
        elif data:
            data = IN_PLACE[kind](data, at, random.Random(seed))
    return data, is_cut


small = contents(max_size=3000, max_count=12)


@rule("R3", "R4", "R5", "R7")
@deviation("R2")
@settings(max_examples=400)
@given(small, st.data())
def test_damaged_files_are_alike(both: Both, content: list[bytes], draw: st.DataObject) -> None:
    data, _ = draw.draw(damaged(framed(*content)))
    theirs, ours = both.read(data)
    # What is left of the first head may happen to be text, say, and is named as that.
    is_foreign = ours.error is not None and ours.reason is Reason.NOT_A_TFRECORD
    if theirs.error is None and ours.error is not None:
        assert is_foreign or ours.reason is Reason.TRUNCATED  # inside a head: R2
        assert ours.value == theirs.value
        left = len(data) - sum(len(record) + 16 for record in ours.value)
        assert 0 < left < 12
    else:
        assert_same(theirs, ours)
        if theirs.error is not None:
            in_data = 12 if ours.reason is Reason.DATA_CRC else 0  # R5
            ours_offset = 0 if is_foreign else ours.offset
            assert ours_offset is not None
            assert theirs.offset == ours_offset + in_data


def waits_for_more(data: bytes) -> bool:
    """Whether zlib finds nothing wrong in a stream, and not its end."""
    decompressor = zlib.decompressobj(wbits=47)  # GZIP or ZLIB
    try:
        decompressor.decompress(data)
    except zlib.error:
        return False
    return not decompressor.eof


@rule("C4", "C5")
@deviation("C3", "C5")
@pytest.mark.parametrize("engine", ["fast", "zlib"])
@pytest.mark.parametrize("name", COMPRESSED)
@settings(max_examples=150)
@given(small | contents(200_000, 12), st.data())
def test_both_give_the_same_records_of_a_damaged_stream(
    both: Both, name: str, engine: str, content: list[bytes], draw: st.DataObject
) -> None:
    data, is_cut = draw.draw(damaged(compressed(framed(*content), name)))
    path = both.path(data)

    theirs = both.read_theirs(path, name)
    with pytest.MonkeyPatch.context() as patch:
        if engine == "zlib":
            patch.setattr(compressions, "_inflate_module", lambda: zlib)
        ours = read_ours(path, name)

    text = f"TensorFlow: {theirs}; ours: {ours}"
    n_theirs, n_ours = len(theirs.value), len(ours.value)
    assert set(ours.value) <= set(content)
    assert ours.value[:n_theirs] == theirs.value[:n_ours], text
    assert n_ours >= n_theirs, text
    if n_ours > n_theirs:
        # TensorFlow drops its buffer when the stream turns out bad (C4), and
        # ends at an empty gzip stream (C5).
        ended = theirs.error is None and name == "GZIP"
        assert ended or "inflate() failed" in str(theirs.error), text
    if theirs.error is not None:
        assert ours.error is not None, text
    elif ours.error is not None:  # R2, C3, C5
        allowed = {Reason.TRUNCATED, Reason.COMPRESSED_TRUNCATED, Reason.TRAILING_DATA}
        if len(data) == 1:
            allowed.add(Reason.COMPRESSION)  # not even half a header: C3
        if is_cut or (engine == "fast" and waits_for_more(data)):
            # ISA-L may see that what is there is wrong where zlib still waits for the rest: C3.
            allowed.add(Reason.COMPRESSED_CORRUPT)
        assert ours.reason in allowed, text
