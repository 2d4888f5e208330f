"""Batches for Keras 3 from records, by number: shuffled anew each epoch, made by threads.

A pipeline needs no adapter: Keras takes a generator of pairs, ``((c["x"], c["y"]) for c in dataset)``,
with ``shuffle=False``, and ``steps_per_epoch`` if the data set repeats.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfrecord_lite import ExampleParser, TFRecordFile
from tfrecord_lite.arrays import Int64Array
from tfrecord_lite.errors import TFRecordError, argument_error, require_int
from tfrecord_lite.extension import SchemaLike, Sources, parser_of
from tfrecord_lite.integrations.indexed import file_of
from tfrecord_lite.reader import batches_at_once
from tfrecord_lite.texts import nearest

try:
    from keras.utils import PyDataset
except ImportError as _error:
    _detail = f"Keras and a backend are needed, such as pip install keras jax: {_error}"
    if _backends := [name for name in ("jax", "torch") if importlib.util.find_spec(name)]:
        _detail = f"Keras looks for another backend: {_error}; set KERAS_BACKEND={_backends[0]} in the environment"
    raise ImportError(_detail) from None


__all__ = ["keras_dataset"]


def keras_dataset(
    paths: TFRecordFile | Sources,
    schema: SchemaLike | ExampleParser[Any] | None = None,
    label_key: str | Sequence[str] | None = None,
    batch_size: int = 32,
    *,
    transform: Callable[[dict[str, Any]], Any] | None = None,
    shuffle: bool = False,
    seed: int | None = None,
    drop_remainder: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Make a ``keras.utils.PyDataset`` of batches of Examples.

    Parameters
    ----------
    paths : path, pattern or list of them, or TFRecordFile
    schema : Schema, dict of specifications, path or ExampleParser, optional
        As for :func:`read_batches`.
    label_key : str or sequence of str, optional
        The features that are targets; the others are inputs. One input, or one target, is an array;
        several are a dictionary of arrays. Without it, batches are inputs only.
    batch_size : int, default 32
    transform : callable, optional
        Takes the columns of a batch, and returns a dictionary of arrays that `label_key` divides,
        or without `label_key` whatever Keras takes as a batch, such as ``(x, y, sample_weight)``.
    shuffle : bool, default False
        Whether each epoch has the records in another random order.
    seed : int, optional
        For the same orders in another run.
    drop_remainder : bool, default False
        Whether to leave out the last batch if it is smaller.
    storage_options : mapping, optional
        As for :class:`TFRecordReader`.
    **options
        As for ``PyDataset``: `workers`, threads that make batches ahead (from 2 on), `max_queue_size`, and
        `use_multiprocessing`. Threads are faster than processes unless `transform` is slow Python.

    Returns
    -------
    keras.utils.PyDataset

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for a `label_key` that is not a feature.
    OSError, DataLossError, FailedPreconditionError
        As :class:`TFRecordFile`; and ``[i]`` as ``TFRecordFile.parse``.

    Examples
    --------
    >>> import os
    >>> _ = os.environ.setdefault("KERAS_BACKEND", "jax")  # or torch, before keras is imported
    >>> from tfrecord_lite.integrations.keras import keras_dataset
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> data = keras_dataset("people.tfrecord", {"name": bytes, "age": int}, "age", batch_size=2)
    >>> inputs, targets = data[0]  # model.fit(data, epochs=10)
    >>> inputs, targets
    (array([b'Ada', b'Alan'], dtype=object), array([36, 41]))
    """
    file = file_of(paths, {"storage_options": storage_options} if storage_options else {})
    labels = [label_key] if isinstance(label_key, str) else list(label_key or ())
    size = require_int("batch_size", batch_size, 1)
    parser = parser_of(file, schema)
    if transform is None:
        _check(labels, list(parser(file.block([]))))
    order = np.random.default_rng(seed) if shuffle else None
    return _RecordDataset(file, parser, labels, size, transform, order, drop_remainder, options)


class _RecordDataset(PyDataset):  # type: ignore[misc]
    """Inputs and targets by number; several batches are parsed at once if they are asked for in their order."""

    def __init__(
        self,
        file: TFRecordFile,
        parser: ExampleParser[Any],
        labels: list[str],
        size: int,
        transform: Callable[[dict[str, Any]], Any] | None,
        rng: np.random.Generator | None,
        drop_remainder: bool,  # noqa: FBT001 - positional within this file
        settings: dict[str, Any],
    ) -> None:
        super().__init__(**settings)
        self._file, self._parser, self._size = file, parser, size
        self._labels, self._transform, self._rng = labels, transform, rng
        self._order: Int64Array = np.arange(len(file))
        self._n_batches = len(file) // size if drop_remainder else -(-len(file) // size)
        n_bytes = sum(int(index.sizes.sum()) for index in file.indexes)
        self._at_once = batches_at_once(size, len(file), n_bytes)
        self._process = os.getpid()  # each of Keras' processes makes one batch here and one there
        self._lock = threading.Lock()
        self.on_epoch_end()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_ahead": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def __len__(self) -> int:
        return self._n_batches

    def on_epoch_end(self) -> None:
        """Shuffle the records, if asked."""
        with self._lock:
            if self._rng is not None:
                self._order = self._rng.permutation(len(self._order))
            self._ahead: dict[int, Any] = {}  # batches by number
            self._next = 0  # the number of the first batch that was not parsed with others

    def __getitem__(self, index: int) -> Any:
        columns = self._columns(index)
        if self._transform is not None:
            columns = self._transform(columns)
            if not self._labels:
                return columns
            _check(self._labels, list(columns))
        for name, column in columns.items():
            if np.ma.is_masked(column):  # Keras would take what is under the mask
                detail = f"feature {name!r} has missing values; let transform fill them"
                raise argument_error(f"{detail}: column.filled(0)", key=name)
        targets = {name: columns[name] for name in self._labels}
        inputs = {name: column for name, column in columns.items() if name not in targets}
        return (_alone(inputs), _alone(targets)) if targets else (_alone(inputs),)

    def _columns(self, number: int) -> Any:
        size = self._size
        with self._lock:
            order = self._order
            if number in (0, self._next) and self._process == os.getpid():
                records = order[number * size : (number + self._at_once) * size]
                splits = [*range(0, len(records), size), len(records)]
                with contextlib.suppress(TFRecordError):  # one by one, the wrong one has its place
                    columns = self._parser.parse_batches(self._file.block(records), splits)
                    self._ahead = dict(enumerate(columns, number))
                self._next = number + self._at_once
            if number in self._ahead:
                return self._ahead.pop(number)
        return self._file.parse(order[number * size : (number + 1) * size], self._parser)


def _check(labels: list[str], names: list[str]) -> None:
    for name in labels:
        if name not in names:
            raise argument_error(f"label_key {name!r} is not a feature{nearest(name, names)}")


def _alone(columns: dict[str, Any]) -> Any:
    return next(iter(columns.values())) if len(columns) == 1 else columns
