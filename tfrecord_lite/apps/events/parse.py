"""Parse a block of events into the values in them: columns with one row per value.

::

    Event       1 wall_time  double     Value       1 tag       string
                2 step       int64                  2 simple_value  float     ╮
                3..9 one of: 5 Summary              3, 4, 5, 6  old styles    ├ one of
    Summary     1 Value, any number                 8 tensor    TensorProto   ╯
    TensorProto 1 dtype, 2 shape, 4 content, 5 float_val, ...

All events of a block are split into fields in lockstep, then all summaries, all values and all
small tensors. A single float, as a simple value or as a tensor of shape [], becomes a number; other
values remain bytes, which :func:`.series.decode` decodes on demand. The protobuf runtime first parses
and serializes an event that has a field twice, which leaves each field once.

Every value repeats its tag, so tags have numbers: they are looked up many at once, and only new ones
are decoded. The first metadata of a tag counts for all of its values, also for earlier ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.arrays import BoolArray, ByteRanges, Int64Array, lanes
from tfrecord_lite.block import Block
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.extension import parse_message
from tfrecord_lite.wire.fields import Fields, renumbered, tokenise
from tfrecord_lite.wire.keys import KeyTable
from tfrecord_lite.wire.repeated import repeated_len
from tfrecord_lite.wire.scalar import I32, I64, LEN, VARINT, WireError
from tfrecord_lite.wire.varint import read_varints

if TYPE_CHECKING:
    from tfrecord_lite.messages import SummaryMetadata

SIMPLE, IMAGE, HISTO, AUDIO, TENSOR = 2, 4, 5, 6, 8
"""Field numbers in a Value of what is stored: its form."""

_UNUSED_FORM = 3
"""The lowest form; nothing reads it."""
_DT_FLOAT = 1
_SMALL_TENSOR_BYTES = 64
"""A larger tensor is not a single float."""


_FEW = 256
"""How many unknown tags of a block are decoded before the others are looked up at once."""
_MAX_IN_TABLE = 4096
"""How many tags are looked up at once; the table is built again for new ones."""


class Tags:
    """The tags seen so far, and their metadata."""

    def __init__(self) -> None:
        self.names: list[str] = []  # by number, in the order they were first seen
        self.metadata: dict[int, SummaryMetadata] = {}  # by number of the tag
        self._numbers: dict[bytes, int] = {}
        self._table = KeyTable([])  # of the first tags

    def numbers(self, tags: ByteRanges, owner: Int64Array) -> Int64Array:
        """Return the number of each tag, int64, shape (n,); new tags get one.

        Raises WireError for a tag that is not UTF-8, with the number of its message in `owner`.
        """
        known = self._table.find(tags)
        unknown = np.flatnonzero(known < 0)
        if unknown.size and len(self._table.keys) < _MAX_IN_TABLE:
            for i in unknown[:_FEW].tolist():
                self._number(tags, i, owner)
            self._table = KeyTable([*self._numbers][:_MAX_IN_TABLE])
            known = self._table.find(tags)
        for i in np.flatnonzero(known < 0).tolist():
            known[i] = self._number(tags, i, owner)
        return known

    def _number(self, tags: ByteRanges, i: int, owner: Int64Array) -> int:
        tag = _bytes_of(tags, i)
        number = self._numbers.get(tag)
        if number is None:
            try:
                self.names.append(tag.decode())
            except UnicodeDecodeError:
                raise WireError(int(owner[i]), int(tags.starts[i]), "a tag is not UTF-8") from None
            number = self._numbers[tag] = len(self._numbers)
        return number

    def learn(self, numbers: Int64Array, metadata: ByteRanges, owner: Int64Array) -> None:
        """Keep the first metadata of each tag that had none; `numbers` has their tags.

        Raises WireError for malformed metadata, with the number of its message in `owner`.
        """
        from tfrecord_lite.messages import SummaryMetadata  # noqa: PLC0415 - not light

        tags, firsts = np.unique(numbers, return_index=True)
        for tag, i in zip(tags.tolist(), firsts.tolist(), strict=True):
            if tag in self.metadata:
                continue
            try:
                self.metadata[tag] = parse_message(_bytes_of(metadata, i), SummaryMetadata)
            except InvalidArgumentError:
                detail = "the metadata of a value is not a SummaryMetadata"
                raise WireError(int(owner[i]), int(metadata.starts[i]), detail) from None

    def plugin(self, tag: int) -> str:
        """Return the name of the plugin that a tag is for; empty if unknown."""
        return self.metadata[tag].plugin_data.plugin_name if tag in self.metadata else ""


def _bytes_of(ranges: ByteRanges, i: int) -> bytes:
    start = ranges.starts[i]
    return ranges.data[start : start + ranges.lengths[i]].tobytes()


@dataclass(frozen=True, slots=True, eq=False)
class EventValues:
    """The values in many events, in the order of the file; each array has the shape (n,)."""

    tag: Int64Array
    """Number of the tag."""
    step: Int64Array
    wall_time: arrays.Float64Array
    """Seconds since 1970."""
    form: arrays.Int32Array
    """Field number of what is stored."""
    number: arrays.Float64Array
    """The number, if the value is a single float; otherwise NaN."""
    is_number: BoolArray
    stored: arrays.ObjectArray
    """The bytes of the stored message, if it is not a single float; otherwise None."""

    def __len__(self) -> int:
        """Return the number of values."""
        return self.tag.size

    @classmethod
    def concat(cls, parts: list[EventValues]) -> EventValues:
        """Join values, of at least one part, end to end."""
        columns = ([getattr(part, name) for part in parts] for name in cls.__slots__)
        return cls(*map(np.concatenate, columns))


def parse_events(block: Block, tags: Tags) -> EventValues:
    """Parse the records of a block as Events, and add their tags to `tags`.

    The result owns its memory. Raises ``MALFORMED`` about the first malformed event.
    """
    try:
        return _read(block, tags)
    except WireError as error:
        message, detail = error.message, error.detail
    if message > 0:
        parse_events(block[:message], tags)  # raises if an earlier event is malformed too
    wrong = InvalidArgumentError(Reason.MALFORMED, detail=f"not a valid Event: {detail}")
    raise block.place(message).locate(wrong)


def _read(block: Block, tags: Tags, *, is_anew: bool = False) -> EventValues:
    data, n_events = block.data, len(block)
    events = tokenise(data, block.offsets, block.offsets + block.lengths)
    is_len = events.wire_type == LEN
    is_payload = is_len & (events.number >= 3) & (events.number <= 9)
    n_times = np.bincount(events.owner[is_payload], minlength=n_events)  # of each event's payload

    summaries = events.only(is_len & (events.number == 5))
    with renumbered(summaries.owner):
        counts, extents = repeated_len(data, summaries.start, summaries.stop, 1, depth=1)
    owner = np.repeat(summaries.owner, counts)  # the event of each value
    with renumbered(owner):
        fields = tokenise(data, extents.starts, extents.starts + extents.lengths, depth=2)
    number, is_len = fields.number, fields.wire_type == LEN
    is_form = is_len & (number >= _UNUSED_FORM) & (number <= TENSOR) & (number != 7)
    is_form |= (number == SIMPLE) & (fields.wire_type == I32)
    is_metadata = is_len & (number == 9)
    for is_single in (is_form, is_metadata):
        n_times[owner[np.bincount(fields.owner[is_single], minlength=owner.size) > 1]] = 2
    # Protobuf's runtime in Python keeps some fields twice: do not try these a second time.
    if n_times.max(initial=0) > 1 and not is_anew:
        records = block.to_list()
        for i in np.flatnonzero(n_times > 1).tolist():
            records[i] = _written_anew(records[i], i)
        return _read(Block.from_records(records), tags, is_anew=True)

    at = _last(fields, is_len & (number == 1), owner.size)
    # At the end an empty field, which -1 selects: for values without a tag.
    start, stop = (np.append(column, 0) for column in (fields.start, fields.stop))
    tag = tags.numbers(ByteRanges(data, start[at], stop[at] - start[at]), owner)
    metadata = fields.only(is_metadata)
    if metadata.owner.size:
        ranges = ByteRanges(data, metadata.start, metadata.stop - metadata.start)
        tags.learn(tag[metadata.owner], ranges, owner[metadata.owner])

    wall_time, step = np.zeros(n_events, np.float64), np.zeros(n_events, np.int64)
    times = np.flatnonzero((events.number == 1) & (events.wire_type == I64))
    wall_time[events.owner[times]] = lanes(data)[events.start[times]].view("<f8")
    steps = np.flatnonzero((events.number == 2) & (events.wire_type == VARINT))
    step[events.owner[steps]] = read_varints(lanes(data), events.start[steps])[0].view(np.int64)

    form_at = _last(fields, is_form, owner.size)
    kept = np.flatnonzero((form_at >= 0) & (np.append(number, 0)[form_at] != _UNUSED_FORM))
    contents, owner = fields.take(form_at[kept]), owner[kept]
    value, is_number = _numbers(data, contents, owner)
    stored = np.empty(kept.size, object)
    for i in np.flatnonzero(~is_number).tolist():
        stored[i] = data[contents.start[i] : contents.stop[i]].tobytes()
    columns = (tag[kept], step[owner], wall_time[owner], contents.number, value, is_number)
    return EventValues(*columns, stored)


def _last(fields: Fields, is_it: BoolArray, n_messages: int) -> Int64Array:
    """Return the number of the last chosen field of each message, -1 for none; (n_messages,)."""
    places = np.full(n_messages, -1)
    chosen = np.flatnonzero(is_it)
    places[fields.owner[chosen]] = chosen  # the last of several remains
    return places


def _written_anew(event: bytes, number: int) -> bytes:
    from tfrecord_lite.messages import Event  # noqa: PLC0415 - not light

    try:
        return parse_message(event, Event).SerializeToString()  # type: ignore[no-any-return]
    except InvalidArgumentError:
        raise WireError(number, 0, "the protobuf runtime cannot parse it") from None


def _numbers(
    data: arrays.Uint8Array, contents: Fields, owner: Int64Array
) -> tuple[arrays.Float64Array, BoolArray]:
    """Read the contents that are a single float; NaN and False for the others; shapes (n,)."""
    starts = np.where(contents.number == SIMPLE, contents.start, -1)  # of the float's 4 bytes
    is_small = contents.stop - contents.start <= _SMALL_TENSOR_BYTES
    small = np.flatnonzero((contents.number == TENSOR) & is_small)
    if small.size:
        with renumbered(owner[small]):
            starts[small] = _floats_in(data, contents.start[small], contents.stop[small])
    is_number = starts >= 0
    numbers = np.full(starts.size, np.nan)
    bits = (lanes(data)[starts[is_number]] & np.uint64(0xFFFFFFFF)).astype("<u4")
    with np.errstate(invalid="ignore"):  # a NaN of either kind is a NaN
        numbers[is_number] = bits.view("<f4")
    return numbers, is_number


def _floats_in(data: arrays.Uint8Array, starts: Int64Array, stops: Int64Array) -> Int64Array:
    """Return where the 4 bytes of each tensor's float are; -1 if it is not a single float."""
    n_tensors = starts.size
    fields = tokenise(data, starts, stops, depth=3)
    number, is_len = fields.number, fields.wire_type == LEN
    dtype_at = _last(fields, (number == 1) & (fields.wire_type == VARINT), n_tensors)
    dtypes = read_varints(lanes(data), np.append(fields.start, 0)[dtype_at])[0]
    is_float = (dtype_at >= 0) & (dtypes == _DT_FLOAT)
    lengths = fields.stop - fields.start
    is_shape = is_len & (number == 2) & (lengths > 0)
    is_content = (is_len & (number == 4)) | ((number == 5) & (is_len | (fields.wire_type == I32)))
    content_at = _last(fields, is_content, n_tensors)
    is_one = np.bincount(fields.owner[is_content], minlength=n_tensors) == 1
    is_one &= np.bincount(fields.owner[is_shape], minlength=n_tensors) == 0
    is_one &= np.append(lengths, 0)[content_at] == 4
    return np.where(is_float & is_one, np.append(fields.start, 0)[content_at], -1)
