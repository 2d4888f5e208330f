"""Reading record files: rules F1 to F4, R1 to R9 and C1 to C8, asked of both.

Where the answers differ on purpose the test bears the mark ``deviation`` and states
both. What is compared is the records, the class of the error, and for the errors of
a record its offset in the decompressed stream.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from crc32c import crc32c

from tests.parity.answers import Answer, ask, assert_same, assert_same_error, read_all, read_ours
from tests.parity.rules import deviation, rule
from tfrecord_lite import TFRecordReader
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.reader import tf_record_iterator
from tfrecord_lite.records.crc32c import masked_crc32c

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.parity.answers import Both

RECORDS = [b"first", b"", b"the third record", bytes(range(256))]
LONG = [b"%4d" % number + bytes(49_996) for number in range(20)]
COMPRESSIONS = ["", "GZIP", "ZLIB"]
COMPRESSED = ["GZIP", "ZLIB"]


def head(length: int) -> bytes:
    """Return the 12 bytes before a record's data."""
    return struct.pack("<QI", length, masked_crc32c(struct.pack("<Q", length)))


def framed(*records: bytes) -> bytes:
    """Return the bytes of a file, as rule F1 has it."""
    return b"".join(head(len(r)) + r + struct.pack("<I", masked_crc32c(r)) for r in records)


def compressed(data: bytes, compression: str) -> bytes:
    """Return a file's content in its compression."""
    if compression == "GZIP":
        return gzip.compress(data)
    return zlib.compress(data) if compression == "ZLIB" else data


def flipped(data: bytes, at: int) -> bytes:
    """Flip one bit of one byte."""
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


def edges(records: list[bytes]) -> list[int]:
    """Return the offset of each record, and of the end."""
    offsets = [0]
    for record in records:
        offsets.append(offsets[-1] + len(record) + 16)
    return offsets


FILE = framed(*RECORDS)
EDGES = edges(RECORDS)


# Framing


@rule("F1")
def test_a_record_is_length_crc_data_crc(both: Both) -> None:
    assert both.write_same(RECORDS) == FILE
    assert both.write_same([b""]).hex() == "00000000000000002903980" + "7d8ea82a2"
    assert both.read_same(FILE) == Answer(RECORDS)
    assert both.read_same(framed(b"")) == Answer([b""])


@rule("F2")
def test_a_crc_is_masked_crc32c(both: Both) -> None:
    assert both.write_same([b""])[12:] == struct.pack("<I", 0xA282EAD8)
    length, data = struct.pack("<Q", 4), b"data"
    bare_length = length + struct.pack("<I", crc32c(length)) + framed(data)[12:]
    bare_data = framed(data)[:-4] + struct.pack("<I", crc32c(data))
    assert both.read_same(bare_length).reason is Reason.LENGTH_CRC
    assert both.read_same(bare_data).reason is Reason.DATA_CRC


@rule("F3")
def test_a_file_has_nothing_but_records(both: Both) -> None:
    assert both.write_same([]) == b""
    assert both.read_same(b"") == Answer([])
    assert both.read_same(b"\n" + FILE).reason is Reason.LENGTH_CRC
    assert both.read_same(FILE + bytes(16)).value == RECORDS  # padding is a record gone wrong


@rule("F4")
@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_files_may_be_put_end_to_end(both: Both, compression: str) -> None:
    one = both.write_same(RECORDS, compression)
    other = both.write_same([b"other"], compression)

    answer = both.read_same(one + other + one, compression)

    assert answer == Answer([*RECORDS, b"other", *RECORDS])


# Reading


@rule("R1")
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_the_end_between_records_is_the_end(both: Both, compression: str) -> None:
    for n_records, edge in enumerate(EDGES):
        data = compressed(FILE[:edge], compression)
        assert both.read_same(data, compression) == Answer(RECORDS[:n_records])


@deviation("R2")
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_the_end_inside_a_head_is_an_error_here(both: Both, compression: str) -> None:
    for n_records, edge in enumerate(EDGES):
        for n_bytes in range(1, 12):
            data = compressed((FILE + bytes(12))[: edge + n_bytes], compression)
            theirs, ours = both.read(data, compression)
            assert theirs == Answer(RECORDS[:n_records])
            assert ours.value == RECORDS[:n_records]
            assert (ours.reason, ours.offset) == (Reason.TRUNCATED, edge)


@rule("R3")
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_the_end_inside_data_is_an_error(both: Both, compression: str) -> None:
    for n_records, (start, stop) in enumerate(pairwise(EDGES)):
        for cut in {start + 12, start + 13, stop - 5, stop - 4, stop - 1} & {
            *range(start + 12, stop)
        }:
            theirs, ours = both.read(compressed(FILE[:cut], compression), compression)
            assert_same(theirs, ours)
            assert ours.value == RECORDS[:n_records]
            assert ours.reason is Reason.TRUNCATED
            assert ours.offset == theirs.offset == start


@rule("R4")
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_wrong_length_or_length_crc_is_an_error(both: Both, compression: str) -> None:
    for n_records, start in enumerate(EDGES[:-1]):
        for at in range(start, start + 12):
            theirs, ours = both.read(compressed(flipped(FILE, at), compression), compression)
            assert_same(theirs, ours)
            assert ours.value == RECORDS[:n_records]
            assert ours.reason is Reason.LENGTH_CRC
            assert ours.offset == theirs.offset == start
            assert ("Is this even a TFRecord file?" in str(theirs.error)) == (start == 0)
            assert ("is this a TFRecord file" in str(ours.error)) == (start == 0)


@rule("R5")
@deviation("R5")
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_wrong_data_is_an_error_whose_offset_here_is_the_record_s(
    both: Both, compression: str
) -> None:
    for n_records, (start, stop) in enumerate(pairwise(EDGES)):
        for at in {start + 12, (start + 12 + stop) // 2, stop - 4, stop - 1}:
            theirs, ours = both.read(compressed(flipped(FILE, at), compression), compression)
            assert_same(theirs, ours)
            assert ours.value == RECORDS[:n_records]
            assert ours.reason is Reason.DATA_CRC
            assert "Is this even" not in str(theirs.error)
            assert theirs.offset == start + 12
            assert ours.offset == start


@rule("R6")
@pytest.mark.parametrize("length", [2**20, 2**31 - 1, 2**64 - 5, 2**64 - 1])
def test_a_length_beyond_the_file_is_an_error(both: Both, length: int) -> None:
    answer = both.read_same(framed(*RECORDS) + head(length) + bytes(100))

    assert answer.value == RECORDS
    assert answer.reason is (Reason.TRUNCATED if length < 2**31 else Reason.RECORD_TOO_LARGE)


@deviation("R6")
@pytest.mark.parametrize("length", [2**63 - 4, 2**63, 2**64 - 6])
def test_a_negative_length_is_data_loss_here(both: Both, length: int) -> None:
    theirs, ours = both.read(framed(*RECORDS) + head(length) + bytes(100))

    assert type(theirs.error).__name__ == "InvalidArgumentError"
    assert theirs.value == ours.value == RECORDS
    assert ours.reason is Reason.RECORD_TOO_LARGE


@deviation("R6")
@pytest.mark.parametrize("limit", [2**31, 2**64 - 1])
def test_a_huge_length_ends_tensorflow_s_process_and_is_an_error_here(
    both: Both, died: Callable[[str], bool], limit: int
) -> None:
    path = both.path(framed(*RECORDS) + head(2**62) + bytes(100), "huge")
    assert died(f"list(tf.compat.v1.io.tf_record_iterator({path!r}))")

    ours = read_all(lambda: TFRecordReader(path, "", max_record_bytes=limit))

    assert ours.value == RECORDS
    assert ours.reason is (Reason.RECORD_TOO_LARGE if limit == 2**31 else Reason.TRUNCATED)


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


@rule("R7")
def test_a_wrong_length_is_not_believed(both: Both) -> None:
    # With the length 5 the record would be whole, and its data right.
    data = struct.pack("<Q", 5) + framed(b"right")[8:]
    assert both.read_same(data) == Answer([b"right"])
    wrong = data[:8] + bytes(4) + data[12:]
    assert both.read_same(wrong).value == []


@rule("R7")
def test_after_damage_only_a_dataset_goes_on_and_with_the_next_file(both: Both) -> None:
    bad, good = both.path(flipped(FILE, EDGES[2]), "bad"), both.path(framed(b"good"), "good")
    dataset = both.tf.data.TFRecordDataset([bad, good]).as_numpy_iterator()
    theirs = [ask(next, dataset) for _ in range(4)]
    assert [answer.value for answer in theirs] == [*RECORDS[:2], None, b"good"]
    ignoring = both.tf.data.TFRecordDataset([bad, good]).ignore_errors()
    assert list(ignoring.as_numpy_iterator()) == [*RECORDS[:2], b"good"]

    reader = iter(TFRecordReader([bad, good], ""))
    ours = [ask(next, reader) for _ in range(4)]

    assert [answer.value for answer in ours] == [*RECORDS[:2], None, None]
    assert_same(theirs[2], ours[2])
    assert isinstance(ours[3].error, StopIteration)


@rule("R8")
def test_the_end_is_not_final_when_the_file_grows(both: Both) -> None:
    path = both.path(framed(b"one"))
    with both.readers(path) as (theirs, ours), Path(path).open("ab", buffering=0) as file:
        for more in (b"", framed(b"two"), framed(b"three", b"four"), b"", framed(bytes(100_000))):
            file.write(more)
            for _ in range(3):
                assert_same(ask(next, theirs), ask(next, ours))
    assert both.read_same(Path(path).read_bytes()).value[-1] == bytes(100_000)


@rule("R8")
@pytest.mark.parametrize("size", [0, 9, 100_000, 3_000_000])
def test_a_cut_record_that_was_completed_is_returned(both: Both, size: int) -> None:
    last = framed(bytes(size))
    for cut in {12, 13, len(last) // 2, len(last) - 4, len(last) - 1} & {*range(12, len(last))}:
        path = both.path(framed(b"one") + last[:cut])
        with both.readers(path) as (theirs, ours), Path(path).open("ab", buffering=0) as file:
            first = [(ask(next, theirs), ask(next, ours)) for _ in range(3)]
            file.write(last[cut:])
            then = [(ask(next, theirs), ask(next, ours)) for _ in range(2)]
        for their_answer, our_answer in first + then:
            assert_same(their_answer, our_answer)
        assert first[-1][1].reason is Reason.TRUNCATED
        assert then[0][1].value == bytes(size)


@deviation("R2")
def test_a_cut_head_that_was_completed_is_returned(both: Both) -> None:
    last = framed(b"last")
    path = both.path(framed(b"one") + last[:7])
    with both.readers(path) as (theirs, ours), Path(path).open("ab", buffering=0) as file:
        assert next(theirs) == next(ours) == b"one"
        assert isinstance(ask(next, theirs).error, StopIteration)
        assert ask(next, ours).reason is Reason.TRUNCATED
        file.write(last[7:])
        assert next(theirs) == next(ours) == b"last"


@rule("R9")
def test_a_file_that_is_not_there_is_an_error_at_once(both: Both) -> None:
    for path in (both.path(name="none"), both.path(name="none").encode(), ""):
        theirs, ours = ask(both.iterator, path), ask(tf_record_iterator, path)
        assert type(theirs.error).__name__ == "NotFoundError"
        assert_same_error(theirs, ours)
    missing = both.path(name="none")
    assert_same(both.read_dataset(missing), read_ours(missing))


@rule("R9")
def test_a_folder_is_an_error(both: Both) -> None:
    folder = str(both.folder)
    theirs, ours = both.read_theirs(folder), read_ours(folder)
    assert "Is a directory" in str(theirs.error)
    assert_same(theirs, ours)
    assert_same(both.read_dataset(folder), ours)


@rule("R9")
@pytest.mark.parametrize("path", [None, 3, 1.5, [b"name"]])
def test_what_is_no_path_is_a_type_error(both: Both, path: Any) -> None:
    assert_same(ask(both.iterator, path), ask(tf_record_iterator, path))


@deviation("R9")
def test_a_path_object_will_do_here(both: Both) -> None:
    path = Path(both.path(FILE))
    assert isinstance(ask(both.iterator, path).error, TypeError)
    assert both.read_dataset(path) == Answer(RECORDS)  # type: ignore[arg-type]
    assert read_all(lambda: tf_record_iterator(path)) == Answer(RECORDS)
    assert read_all(lambda: TFRecordReader(path)) == Answer(RECORDS)


# Compression


@rule("C1")
@pytest.mark.parametrize("asked", COMPRESSIONS)
@pytest.mark.parametrize("actual", COMPRESSIONS)
def test_the_whole_file_is_one_stream_and_not_detected(both: Both, actual: str, asked: str) -> None:
    answer = both.read_same(compressed(FILE, actual), asked)

    if actual == asked:
        assert answer == Answer(RECORDS)
    else:
        assert answer.value == []
        wanted = Reason.COMPRESSION if asked else Reason.LENGTH_CRC
        assert (answer.reason, answer.offset) == (wanted, 0)


@rule("C2")
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_an_empty_file_is_fine_in_every_compression(both: Both, compression: str) -> None:
    assert both.read_same(b"", compression) == Answer([])


@deviation("C3")
@pytest.mark.parametrize("compression", COMPRESSED)
def test_a_stream_without_its_end_is_an_error_here(both: Both, compression: str) -> None:
    data = compressed(FILE, compression)
    clean = 0
    for cut in range(1, len(data)):
        theirs, ours = both.read(data[:cut], compression)
        assert ours.value == theirs.value, cut
        clean += theirs.error is None
        if theirs.error is not None:
            assert "EOF reached" in str(theirs.error)
        assert ours.reason is Reason.COMPRESSED_TRUNCATED
    assert clean > 12  # the header and the trailer at the least


@rule("C4")
@pytest.mark.parametrize("compression", COMPRESSED)
@pytest.mark.parametrize("records", [RECORDS, LONG], ids=["short", "long"])
def test_a_wrong_trailer_is_an_error(both: Both, compression: str, records: list[bytes]) -> None:
    data = compressed(framed(*records), compression)
    for place in range(1, 9 if compression == "GZIP" else 5):
        theirs, ours = both.read(flipped(data, len(data) - place), compression)
        assert_same_error(theirs, ours)
        assert "inflate() failed" in str(theirs.error)
        assert ours.reason is Reason.COMPRESSED_CORRUPT
        # How many come is a matter of buffers; here it is all of them.
        assert theirs.value == records[: len(theirs.value)]
        assert ours.value == records


@rule("C5")
@pytest.mark.parametrize("junk", [b"ju", b"junk", bytes(512), framed(b"raw")])
def test_behind_a_gzip_stream_only_another_may_follow(both: Both, junk: bytes) -> None:
    one = compressed(FILE, "GZIP")
    assert both.read_same(one + one, "GZIP") == Answer(RECORDS * 2)

    answer = both.read_same(one + one + junk, "GZIP")

    assert answer.value == RECORDS * 2
    assert (answer.reason, answer.offset) == (Reason.TRAILING_DATA, 2 * len(FILE))


@rule("C5")
@pytest.mark.parametrize("cut", [*range(1, 30), *EDGES[1:-1], len(FILE) - 1])
def test_records_may_cross_gzip_streams(both: Both, cut: int) -> None:
    data = compressed(FILE[:cut], "GZIP") + compressed(FILE[cut:], "GZIP")
    assert both.read_same(data, "GZIP") == Answer(RECORDS)


@deviation("C5")
@pytest.mark.parametrize(
    ("name", "junk"),
    [("GZIP", b"x"), ("GZIP", bytes(1)), ("ZLIB", b"x"), ("ZLIB", b"junk"), ("ZLIB", bytes(512)),
     ("ZLIB", compressed(FILE, "ZLIB"))],
)  # fmt: skip
def test_a_byte_behind_a_gzip_stream_or_anything_behind_zlib_is_an_error_here(
    both: Both, name: str, junk: bytes
) -> None:
    theirs, ours = both.read(compressed(FILE, name) + junk, name)

    assert theirs == Answer(RECORDS)
    assert ours.value == RECORDS
    assert (ours.reason, ours.offset) == (Reason.TRAILING_DATA, len(FILE))


@deviation("C5")
def test_an_empty_gzip_stream_ends_the_file_for_tensorflow_only(both: Both) -> None:
    some, none = compressed(FILE, "GZIP"), compressed(b"", "GZIP")
    assert both.read_same(some + none, "GZIP") == Answer(RECORDS)
    for data, n_records in ((some + none + some, 4), (none + some + some, 0)):
        theirs, ours = both.read(data, "GZIP")
        assert theirs == Answer(RECORDS[:n_records])
        assert ours == Answer(RECORDS * 2)


@rule("C6")
@pytest.mark.parametrize(
    ("flags", "fields"),
    [
        (0x01, b""),  # text, it says
        (0x04, struct.pack("<H", 6) + b"AB\2\0xy"),  # extra field
        (0x08, b"name.tfrecord\0"),
        (0x10, b"comment\0"),
        (0x1C, struct.pack("<H", 0) + b"name\0comment\0"),
    ],
    ids=["text", "extra", "name", "comment", "all"],
)
@pytest.mark.parametrize("with_crc", [False, True])
def test_gzip_headers_may_have_their_optional_parts(
    both: Both, flags: int, fields: bytes, with_crc: bool
) -> None:
    plain = compressed(FILE, "GZIP")
    flags |= 0x02 * with_crc
    header = b"\x1f\x8b\x08" + bytes([flags]) + struct.pack("<IBB", 1_600_000_000, 2, 3) + fields
    header += struct.pack("<H", zlib.crc32(header) & 0xFFFF) * with_crc

    answer = both.read_same(header + plain[10:] + header + plain[10:], "GZIP")

    assert answer == Answer(RECORDS * 2)


@rule("C7")
@pytest.mark.parametrize("mode", [zlib.Z_PARTIAL_FLUSH, zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH])
@pytest.mark.parametrize(("compression", "window"), [("GZIP", 31), ("ZLIB", 15)])
def test_flush_points_and_empty_blocks_mean_nothing(
    both: Both, compression: str, window: int, mode: int
) -> None:
    compressor = zlib.compressobj(wbits=window)
    pieces = [compressor.flush(mode)]
    for number in range(len(FILE)):
        pieces += [compressor.compress(FILE[number : number + 1]), compressor.flush(mode)]
        pieces += [compressor.flush(mode)] * 3
    pieces.append(compressor.flush())

    assert both.read_same(b"".join(pieces), compression) == Answer(RECORDS)


@deviation("C8")
@pytest.mark.parametrize("name", ["BZ2", "gzip", "NONE", "LZ4"])
def test_an_unknown_compression_is_read_as_none_by_a_dataset_and_rejected_here(
    both: Both, name: str
) -> None:
    path = both.path(FILE)
    assert both.read_dataset(path, name) == Answer(RECORDS)

    readers: list[Callable[[str, str], Any]] = [TFRecordReader, tf_record_iterator]
    for reader in readers:
        ours = read_all(partial(reader, path, name))
        # Names that a reader of ours knows: in any letter case, unless the signature is TensorFlow's.
        known = {"BZ2"} if reader is tf_record_iterator else {"BZ2", "gzip"}

        assert ours.value == []
        if name in known:  # but this is not a file of it
            assert ours.reason is Reason.COMPRESSION
        else:
            assert isinstance(ours.error, InvalidArgumentError)
            assert isinstance(ours.error, ValueError)
            assert ours.error.reason is Reason.BAD_ARGUMENT


@rule("C8")
@pytest.mark.parametrize("name", ["gzip", "NONE", "SNAPPY", 3, 1.5])
def test_an_unknown_compression_is_rejected_by_the_iterators(both: Both, name: Any) -> None:
    path = both.path(FILE)
    assert_same(ask(both.iterator, path, name), ask(tf_record_iterator, path, name))
