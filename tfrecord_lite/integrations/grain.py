"""Parsed Examples for Grain: by number, or from a data set that can be stopped and resumed.

A :class:`TFRecordFile` is itself a data source, of records as ``bytes``.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

from tfrecord_lite.columns import Column
from tfrecord_lite.dataset import Dataset
from tfrecord_lite.errors import argument_error, require_int
from tfrecord_lite.extension import Indices, part_of
from tfrecord_lite.integrations.indexed import IndexedExamples
from tfrecord_lite.options import hinted

try:
    import grain
except ImportError as _error:
    raise ImportError(f"Grain is needed: pip install grain: {_error}") from None


__all__ = ["ExampleSource", "iter_dataset"]


class ExampleSource(IndexedExamples):
    """The Examples of files by number, parsed: a random access data source of Grain.

    Grain's threads may share it, and its processes get a copy with the index, but no open files.

    Parameters
    ----------
    file : TFRecordFile, or path, pattern or list of them
    schema : Schema, dict of specifications, path or ExampleParser, optional
        As for :func:`read_batches`.
    **options
        As for :class:`TFRecordFile`, as are the errors, which cross the processes of Grain as they are.

    Examples
    --------
    >>> import grain
    >>> from tfrecord_lite.integrations.grain import ExampleSource
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> source = ExampleSource("people.tfrecord", {"age": int})
    >>> len(source), source[1]
    (3, {'age': array(41)})
    >>> numbers = grain.MapDataset.range(len(source))  # .shuffle(seed=1)
    >>> for batch in numbers.batch(2).map(source.parse):  # faster than MapDataset.source(source)
    ...     print(batch["age"])
    [36 41]
    [37]
    """

    def __getitem__(self, index: int) -> dict[str, Column]:
        """Return one Example, as ``ExampleParser.parse_single`` does; None for a value that is missing."""
        return self._rows([require_int("index", index)])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Column]]:
        """Return many Examples, each as ``[i]``."""
        return self._rows(indices)

    _getitems = __getitems__  # Grain's name

    def parse(self, indices: Indices) -> dict[str, Column]:
        """Return a batch of Examples as columns, as :meth:`TFRecordFile.parse`.

        Examples
        --------
        >>> from tfrecord_lite.integrations.grain import ExampleSource
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> ExampleSource("people.tfrecord", {"age": int}).parse([2, 0])
        {'age': array([37, 36])}
        """
        return self._columns(indices)


@hinted
def iter_dataset(dataset: Dataset[Any]) -> Any:
    """Make a ``grain.IterDataset`` of the elements of a data set.

    Parameters
    ----------
    dataset : Dataset
        For example ``TFRecordDataset(paths).batch(256).parse_example(features)``. It is copied: iterations over
        one do not move the other's epoch.

    Returns
    -------
    grain.IterDataset
        ``mp_prefetch`` divides the records among its processes, by files if there are enough of them; each process
        batches its own part. Each iteration is the epoch that `dataset` has now (:meth:`Dataset.set_epoch`); for other
        orders use ``repeat`` of the data set. Iterators of this process have a ``report``, as
        :attr:`DatasetIterator.report`.

        ``get_state`` is a dictionary of one text, the position of the next element, fit for JSON and Grain's
        ``CheckpointHandler``.

    Raises
    ------
    TFRecordError, OSError
        On iteration, as the data set does, from other processes too; ``set_state`` raises
        InvalidArgumentError, ``BAD_ARGUMENT``, for the state of another data set.

    Examples
    --------
    >>> from tfrecord_lite.integrations.grain import iter_dataset
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> people = TFRecordDataset("people.tfrecord").batch(2).parse_example({"age": int})
    >>> for batch in iter_dataset(people):  # also after mp_prefetch, in several processes
    ...     print(batch["age"])
    [36 41]
    [37]
    """
    if not isinstance(dataset, Dataset):
        raise TypeError(f"expected a Dataset, as of read_batches, not {type(dataset).__name__}")
    return _RecordIterDataset(copy.copy(dataset))


class _RecordIterator(grain.DatasetIterator):  # type: ignore[misc]
    def __init__(self, dataset: Dataset[Any]) -> None:
        super().__init__()
        self._elements = iter(dataset)

    def __next__(self) -> Any:
        return next(self._elements)

    def get_state(self) -> dict[str, str]:
        # Grain wants states of one structure from the first element to the last.
        return {"position": json.dumps(self._elements.state_dict())}

    def set_state(self, state: dict[str, str]) -> None:
        try:
            position = json.loads(state["position"])
        except (KeyError, TypeError, ValueError):
            position = None  # which the data set's iterator rejects
        self._elements.load_state_dict(position)

    @property
    def report(self) -> Any:
        """What was read and lost so far."""
        return self._elements.report

    def close(self) -> None:
        super().close()
        self._elements.close()


class _RecordIterDataset(grain.IterDataset):  # type: ignore[misc]
    def __init__(self, dataset: Dataset[Any]) -> None:
        super().__init__()
        self._dataset = dataset

    def __iter__(self) -> _RecordIterator:
        return _RecordIterator(copy.copy(self._dataset))

    def set_slice(self, sl: slice, sequential_slice: bool = False) -> None:  # noqa: FBT001, FBT002 - Grain's
        """Keep the part of one process; Grain calls this on copies."""
        number, n_parts = sl.start or 0, 1 if sl.step is None else sl.step
        if sl.stop is not None or n_parts < 1 or not 0 <= number < n_parts:
            raise argument_error(f"expected slice(part, None, number of parts), not {sl}")
        self._dataset = part_of(self._dataset, n_parts, number)

    def __str__(self) -> str:
        return f"RecordIterDataset({self._dataset!r})"
