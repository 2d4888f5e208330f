"""The fuzz targets: a function of bytes for each package that reads what strangers wrote.

A target reads an input with the package, and with an oracle::

    input ──┬── the package ── result, or TFRecordError ──┬── equal? ── word for the count
            └── oracle ─────── result, or rejection ──────┘

It returns a word for the outcome, raises Disagreement if the two differ, and lets any error
through that is not a TFRecordError: those are the findings.
"""

import gzip
import io
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

import tfrecord_lite as tl
from tests.apps.events.event_messages import accepts, rows_of_engine, rows_of_runtime
from tests.fuzz import seeds
from tests.support import reference
from tests.support.agreement import EXAMPLES, SEQUENCES, MessageType
from tests.support.example_messages import EMPTY, is_settled, seen
from tests.support.read_outcome import outcome_of
from tests.tensors.reference_tensor import agrees, n_values_of
from tests.tensors.reference_tensor import reference as reference_tensor
from tfrecord_lite.apps.events import read_events
from tfrecord_lite.described import sidecar
from tfrecord_lite.described.formats import superserial, tfds, tfx
from tfrecord_lite.errors import DataLossError, InvalidArgumentError, Reason
from tfrecord_lite.files.output import open_output
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.sink import RecordSink
from tfrecord_lite.recovery.members import MemberReader

__all__ = ["TARGETS", "Disagreement", "Target"]

READ, REJECTED = "read", "rejected"
UNSETTLED, LENIENT = "rejected by some runtimes", "read, rejected by the runtime"

GZIP_WBITS = 31
MAX_BYTES = 4096
"""Longer inputs find nothing that shorter ones do not, and take longer."""


class Disagreement(Exception):  # noqa: N818 - a finding
    """The package and an oracle differ."""


class Target(NamedTuple):
    """A package, what its inputs are like, and how one is judged."""

    check: Callable[[bytes], str]
    seeds: Callable[[], list[bytes]]


def differ(detail: str) -> Disagreement:
    return Disagreement(detail)


def framing(data: bytes) -> str:
    """Read a file; the oracle goes byte by byte. The first byte says with which options."""
    options, stream = data[0] if data else 0, data[1:]
    if options & 8:
        stream = mended(stream)
    verify, most = not options & 1, 2**31 if options & 2 else 100
    reader = tl.TFRecordReader(io.BytesIO(stream), "", verify=verify, max_record_bytes=most)
    records = reader if options & 4 else (r for b in reader.blocks(2) for r in b)
    found = outcome_of(records, len(stream))
    wanted = reference.decode(stream, verify=verify, max_record_bytes=most)
    if found != wanted:
        raise differ(f"read {found}, the reference {wanted}")
    return READ if found.loss is None else REJECTED


def mended(stream: bytes) -> bytes:
    """Make the checksums right where there are records, so that an input gets beyond them."""
    out, at = bytearray(stream), 0
    while at + 12 <= len(out):
        out[at + 8 : at + 12] = _crc_field(out[at : at + 8])
        stop = at + 12 + int.from_bytes(out[at : at + 8], "little")
        if stop + 4 > len(out):
            break
        out[stop : stop + 4] = _crc_field(out[at + 12 : stop])
        at = stop + 4
    return bytes(out)


def _crc_field(data: bytearray) -> bytes:
    return reference.masked_crc32c(bytes(data)).to_bytes(4, "little")


def streams(data: bytes) -> str:
    """Read a compressed file; the oracle inflates with zlib, and goes byte by byte."""
    data = compressed(data)
    for compression, wbits in (("GZIP", GZIP_WBITS), ("ZLIB", 15)):
        found = outcome_of(tl.TFRecordReader(io.BytesIO(data), compression))
        inflated, is_whole = inflate(data, wbits)
        wanted, loss = reference.decode(inflated)
        # Nothing after a broken stream is compared: its last record may be whole.
        if found.records != wanted[: len(found.records)] or (
            is_whole and loss is None and found.loss is not None
        ):
            raise differ(f"{compression}: read {found}, the reference {wanted}, {loss}")
        if found.loss is None and not (is_whole and loss is None):
            raise differ(f"{compression}: read {found} without a word; {loss}, whole {is_whole}")
    outcome = outcome_of(tl.TFRecordReader(io.BytesIO(data)))
    return READ if outcome.loss is None else REJECTED


def compressed(data: bytes) -> bytes:
    """Compress an input that says so, to two members of which a bit may be flipped; else it is one.

    No mutation of a stream has the right checksum at its end.
    """
    if data[:1] != seeds.TO_COMPRESS or len(data) < 4:
        return data
    options, cut, place = data[1:4]
    content = mended(data[4:])
    halves = content[: cut % (len(content) + 1)], content[cut % (len(content) + 1) :]
    stream = bytearray(b"".join(gzip.compress(half, options & 1, mtime=0) for half in halves))
    if options & 2:
        stream[place * len(stream) // 256] ^= 1 << (options >> 5)
    return bytes(stream)


def members(data: bytes) -> str:
    """Recover from a gzip file; the oracles are a reader that stops at damage, and zlib."""

    data = compressed(data)
    file, saved = io.BytesIO(data), io.BytesIO()
    sink = RecordSink(open_output(saved), "")
    try:
        for part in MemberReader(file, "members", ReadSettings("GZIP"), lambda _: None).parts():
            if isinstance(part, tl.Block):
                sink.add_framed(part)
        sink.finish()
    except DataLossError as error:
        if error.reason is not Reason.COMPRESSION:
            raise
        return REJECTED
    records = [*tl.TFRecordReader(io.BytesIO(saved.getvalue()), "")]
    inflated, is_whole = inflate(data, GZIP_WBITS)
    # What is stored in a damaged record, and looks like a member, may take over: that is not promised.
    has_candidates = b"\x1f\x8b\x08" in inflated
    if is_whole and not has_candidates and records != (wanted := reference.decode_on(inflated)[0]):
        raise differ(f"saved {records}, the reference {wanted}")
    read = outcome_of(tl.TFRecordReader(io.BytesIO(data), "GZIP")).records
    if records[: len(read)] != read:
        raise differ(f"saved {records}, a reader finds {read} before the damage")
    return READ if is_whole else REJECTED


def inflate(data: bytes, wbits: int) -> tuple[bytes, bool]:
    """Return what one or several streams hold, and whether the last one is whole."""
    found = bytearray()
    while data:
        stream = zlib.decompressobj(wbits)
        for at in range(len(data)):  # one by one, for what comes before damage
            try:
                found += stream.decompress(data[at : at + 1])
            except zlib.error:
                return bytes(found), False
            if stream.eof:
                break
        else:
            return bytes(found), False
        data = data[at + 1 :]
        if wbits != GZIP_WBITS and data:
            return bytes(found), False  # only gzip has members
    return bytes(found), True


def events(data: bytes) -> str:
    """Read events: the first byte says whether as a file, or as one event among others."""
    if data[:1] == b"\0":
        try:
            found = read_events(io.BytesIO(data[1:]))
            for kind in found.tags:
                getattr(found, kind)()
        except tl.TFRecordError:
            return REJECTED
        return READ
    message = data[1:]
    messages = [seeds.EVENT] * (data[0] % 32 if data else 0) + [message, seeds.EVENT]
    try:
        rows = rows_of_engine(tl.Block.from_records(messages))
    except InvalidArgumentError as error:
        if error.reason is not Reason.MALFORMED:
            raise
        if accepts(message) and is_settled(error):
            raise differ("the runtime accepts it") from error
        return REJECTED if is_settled(error) else UNSETTLED
    except DecodeError:
        # Contents are looked into when they are asked for, and this one is malformed.
        if accepts(message):
            raise
        return REJECTED
    if not accepts(message):
        return LENIENT  # what is malformed is where no value is
    if rows != rows_of_runtime(messages):
        raise differ(f"read {rows}, the runtime {rows_of_runtime(messages)}")
    return READ


def wire(data: bytes) -> str:
    """Read an Example in lockstep with look-alikes; the oracle is the protobuf runtime."""
    fellows = seeds.LOOK_ALIKES[data[0] % len(seeds.LOOK_ALIKES)] if data else []
    return _in_lockstep(EXAMPLES, fellows, data[1:])


def any_order(data: bytes) -> str:
    """Read an Example as one of plain entries, all features or one in three; oracle as of :func:`wire`."""
    fellows = seeds.ANY_ORDER[data[0] % len(seeds.ANY_ORDER)] if data else []
    step = 3 if data[:1] >= b"\x80" else 1
    return _in_lockstep(EXAMPLES, fellows, data[1:], step, way="plain")


def sequences(data: bytes) -> str:
    """Read a SequenceExample in lockstep with look-alikes; oracle as of :func:`wire`."""
    fellows = seeds.SEQUENCES[data[0] % len(seeds.SEQUENCES)] if data else []
    return _in_lockstep(SEQUENCES, fellows, data[1:])


def _in_lockstep(
    of: MessageType, fellows: list[bytes], message: bytes, step: int = 1, **how: Any
) -> str:
    wanted = of.wanted(message)
    if of.is_rejected(message) != (wanted is None):
        return _unsettled(of.runtimes_differ(message))
    if wanted is None:
        return REJECTED
    context, lists = sorted(wanted.context)[::step], sorted(wanted.lists)
    (*rows, found, last), _ = of.engine([*fellows, message, b""], context, lists, **how)
    if last != EMPTY or found != seen(wanted, context, lists):
        raise differ(f"read {found}, the runtime {wanted}")
    if rows != [seen(of.runtime(fellow), context, lists) for fellow in fellows]:
        raise differ("a message before it reads otherwise")
    return READ


def _unsettled(runtimes_differ: bool) -> str:
    if not runtimes_differ:
        raise differ("one rejects what the other accepts")
    return UNSETTLED


_PARSE = tl.ExampleParser(
    {
        "a": tl.FixedLenFeature([2], "float32", default_value=[0.0, 1.0]),
        "b": tl.VarLenFeature("int64"),
        "label": tl.FixedLenFeature([], "int64", default_value=-1),
        "longer/name": tl.RaggedFeature("string"),
        "sparse": tl.SparseFeature("käse", "x" * 9, "float32", 10),
    }
)


def messages(data: bytes) -> str:
    """Parse with features of every sort, one message and many."""
    one, many = _word(_PARSE, [data]), _word(_PARSE, [data] * 40)
    if one != many and UNSETTLED not in {one, many}:
        raise differ(f"one message is {one}, many of it are {many}")
    return READ if one == READ else REJECTED


def _word(read: Callable[[Any], object], data: object) -> str:
    try:
        read(data)
    except InvalidArgumentError as error:
        return REJECTED if is_settled(error) else UNSETTLED
    except tl.TFRecordError:
        return REJECTED
    return READ


def tensors(data: bytes) -> str:
    """Parse a TensorProto; the oracle is a scalar reading of what the runtime makes of it."""
    wanted = reference_tensor(data) if n_values_of(data) < 10_000 else None
    try:
        found = tl.parse_tensor(data, max_bytes=10_000)
    except tl.TFRecordError as error:
        if wanted is not None and error.reason is not Reason.TENSOR_TOO_LARGE:
            raise differ(f"rejected ({error}), the reference reads {wanted}") from error
        return REJECTED
    if wanted is None:
        raise differ(f"read {found!r}, the reference rejects it")
    if not agrees(found, wanted):
        raise differ(f"read {found!r}, the reference {wanted}")
    return READ


_READERS: tuple[Callable[[bytes], tl.Schema | tl.SequenceSchema], ...] = (
    lambda data: sidecar.parse_sidecar("x.json", data).schema,
    lambda data: tl.Schema.from_json(data.decode("utf-8", "replace")), superserial.from_yaml,
    lambda data: tfds.from_json(data).schema, lambda data: tfx.from_text(data)[0],
)  # fmt: skip


def schemas(data: bytes) -> str:
    """Read a schema in each format; what is accepted prints, and reads again as it was."""
    words = set()
    for read in _READERS:
        try:
            schema = read(data)
        except tl.TFRecordError:
            words.add(REJECTED)
            continue
        if type(schema).from_json(schema.to_json()) != schema:
            raise differ(f"{schema!r} reads differently from its own JSON")
        repr(schema)
        words.add(READ)
    return READ if READ in words else REJECTED


TARGETS: dict[str, Target] = {
    "framing": Target(framing, seeds.files), "streams": Target(streams, seeds.compressed_files),
    "members": Target(members, seeds.compressed_files), "wire": Target(wire, seeds.examples),
    "any_order": Target(any_order, seeds.shuffled_examples),
    "sequences": Target(sequences, seeds.sequence_examples),
    "messages": Target(messages, seeds.plain_examples), "tensors": Target(tensors, seeds.tensors),
    "events": Target(events, seeds.events), "schemas": Target(schemas, seeds.schemas),
}  # fmt: skip
