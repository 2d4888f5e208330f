"""The stages Batch and Parse; many batches of records are parsed at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from tfrecord_lite.arrays import objects
from tfrecord_lite.block import Block
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.dataset.chunks import BatchChunk, Chunk, ColumnChunk, ObjectChunk
from tfrecord_lite.dataset.cutting import Demand, Pair, State, further
from tfrecord_lite.dataset.plan import Content, Run, Stage
from tfrecord_lite.errors import InvalidArgumentError, Reason, TFRecordError
from tfrecord_lite.files.names import SIDECAR_SUFFIX, companion
from tfrecord_lite.reader import batches_at_once
from tfrecord_lite.schema import FixedLenFeature, RawFeature

_MOST_CHARS = 60


class Batch(Stage):
    """`n` elements in one."""

    gives: ClassVar[Content | None] = "batches"
    words: ClassVar[Mapping[str, str]] = {"n": "batch_size"}
    n: int
    drop_remainder: bool

    def size(self) -> int | None:
        """Return the number of batches."""
        if (size := self.input.size()) is None:
            return None
        return (size if self.drop_remainder else size + self.n - 1) // self.n

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        demand = Demand()
        with self.feed(run, state, demand) as feed:
            n_batches = 1
            while True:
                before = feed.state()
                chunk: Any = feed.gather(self.n, n_batches, demand=demand)
                if chunk is None:
                    return
                n_whole = len(chunk) // self.n
                n_used = n_whole * self.n
                if n_whole:
                    after = feed.state() if n_used == len(chunk) else further(before, n_used)
                    yield self._cut(chunk[:n_used]), {"feed": after}
                if n_used < len(chunk) and not self.drop_remainder:
                    yield self._cut(chunk[n_used:]), {"feed": feed.state()}
                if isinstance(chunk, Block):
                    n_batches = batches_at_once(self.n, len(chunk), chunk.nbytes)

    def _cut(self, chunk: Any) -> BatchChunk | ObjectChunk:
        if isinstance(chunk, Block):
            return BatchChunk(chunk, np.append(np.arange(0, len(chunk), self.n), len(chunk)))
        return ObjectChunk([stack(chunk.to_list())])


def stack(elements: list[Any], stack_columns: Callable[[list[Any]], Any] | None = None) -> Any:
    """Stack elements to arrays with one more dimension; columns by a function, if given."""
    first = elements[0]
    if isinstance(first, (BytesColumn, RaggedTensor, SparseTensor)):
        if stack_columns:
            return stack_columns(elements)
        detail = f"a {type(first).__name__} cannot be stacked; use batch before parse_example"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    try:
        if isinstance(first, dict):
            keys = list(first)
            rows = [[element.pop(key) for key in keys] for element in map(dict, elements)]
            stacked = (stack(list(column), stack_columns) for column in zip(*rows, strict=True))
            return dict(zip(keys, stacked, strict=True))
        if isinstance(first, (tuple, list)):
            parts = zip(*elements, strict=True)
            return type(first)(stack(list(part), stack_columns) for part in parts)
        if isinstance(first, np.ma.MaskedArray):
            return np.ma.stack(elements)
        return objects(elements) if isinstance(first, (bytes, str)) else np.stack(elements)
    except TFRecordError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        detail = f"elements of one batch must have the same parts and shapes: {error}"
        raise InvalidArgumentError(Reason.WRONG_COUNT, detail=detail) from None


class Parse(Stage):
    """The columns of each batch, or of single records."""

    gives: ClassVar[Content | None] = "objects"
    is_one_to_one = True
    method = "parse_example"
    parser: Any
    """An ExampleParser, or a SequenceExampleParser."""
    label_key: str | None = None
    is_dense: bool
    """Whether columns of several batches can be cut into each batch's."""

    def settings(self) -> dict[str, Any]:
        """Return its settings, with a fingerprint of the features."""
        return {**super().settings(), "features": _fingerprint(self.parser)}

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        with self.feed(run, state) as feed:
            before = feed.state()
            while (chunk := feed.take()) is not None:
                yield from self._parse(chunk, before, feed.state())
                before = feed.state()

    def _parse(self, chunk: Chunk, before: dict[str, Any], after: State) -> Iterator[Pair]:
        if isinstance(chunk, BatchChunk) and len(chunk) > 1:
            try:
                parsed_chunk = self._parse_all(chunk)
            except TFRecordError:
                pass  # parse batch by batch, so that batches before the bad one are returned first
            else:
                yield parsed_chunk, {"feed": after}
                return
        for i in range(len(chunk)):
            element = self._parse_one(chunk[i : i + 1])
            place = after if i + 1 == len(chunk) else further(before, i + 1)
            yield ObjectChunk([element]), {"feed": place}

    def _parse_all(self, chunk: BatchChunk) -> ColumnChunk | ObjectChunk:
        block = chunk.records
        if self.is_dense:
            return ColumnChunk(self.parser(block), chunk.splits, self.label_key)
        batches = self.parser.parse_batches(block, chunk.splits.tolist())
        return ObjectChunk([self._labelled(columns) for columns in batches])

    def _parse_one(self, chunk: Any) -> Any:
        if isinstance(chunk, ObjectChunk):
            element = chunk.items[0]
            is_single = isinstance(element, (bytes, str))
            return self._labelled((self.parser.parse_single if is_single else self.parser)(element))
        records = chunk.records if isinstance(chunk, BatchChunk) else chunk
        try:
            if isinstance(chunk, BatchChunk):
                (columns,) = self.parser.parse_batches(records, [0, len(records)])
                return self._labelled(columns)
            return self._labelled(self.parser.parse_single(records[0]))
        except TFRecordError as error:
            is_single = records is chunk
            raise _with_hint(records.place(0).locate(error) if is_single else error) from None

    def _labelled(self, columns: dict[str, Any]) -> Any:
        return columns if self.label_key is None else (columns, columns.pop(self.label_key))


def _with_hint(error: TFRecordError) -> TFRecordError:
    """Name the sidecar in an error about values of another kind, if there is one."""
    sidecar = companion(str(error.source), SIDECAR_SUFFIX)
    if error.reason is not Reason.WRONG_KIND or not os.path.isfile(sidecar):  # noqa: PTH113
        return error
    detail = f"{error.detail}; {os.path.basename(sidecar)} says how the values are stored: "  # noqa: PTH119
    return error.at(detail=detail + "without a schema of your own they come as they were saved")


def _fingerprint(parser: Any) -> str:
    """Name the features of a parser, with a digest."""
    import hashlib  # noqa: PLC0415 - loads OpenSSL

    groups = parser.features if isinstance(parser.features, tuple) else (parser.features,)
    specs = [sorted((features or {}).items()) for features in groups]
    originals = [sorted(getattr(features, "originals", {}).items()) for features in groups]
    digest = hashlib.sha256(repr((specs, originals, parser.strings)).encode()).hexdigest()
    names = " ".join(name for group in specs for name, _ in group)
    return f"<{names:.{_MOST_CHARS}}: {digest[:16]}>"


def is_dense(features: Any) -> bool:
    """Whether the columns of these features can be cut by rows."""
    originals = getattr(features, "originals", {}).values()
    return all(
        isinstance(feature, FixedLenFeature)
        or (isinstance(feature, RawFeature) and not feature.varies)
        for feature in features.values()
    ) and not any(None in (original.shape or ()) for original in originals)
