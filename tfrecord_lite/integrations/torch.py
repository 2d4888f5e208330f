"""Torch tensors from records, without copying numbers.

A data set or a ``TFRecordFile`` also works in a ``DataLoader`` directly, and then gives arrays.
Here arrays become:

==============================  ====================================================
numbers, bool                   ``torch.from_numpy``: a tensor on the same memory; a
                                copy if the array is read-only or byte-swapped
byte strings, text              ``bytes``, ``str``, or lists of them; a BytesColumn is unchanged
SparseTensor                    a sparse COO tensor on the same values; of strings, unchanged
RaggedTensor                    unchanged; ``jagged(ragged)`` converts one with a single level
masked array of strings         a list, with None for what is missing
masked array of numbers         an error: ``filled(0)`` in a ``map``, or a default_value
==============================  ====================================================
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.columns import RaggedTensor, SparseTensor
from tfrecord_lite.dataset import Dataset, DatasetIterator
from tfrecord_lite.errors import InvalidArgumentError, Reason, optional_int
from tfrecord_lite.extension import current_worker, library, register_with_torch
from tfrecord_lite.integrations.indexed import IndexedExamples
from tfrecord_lite.options import hinted

__all__ = ["IndexedTensors", "IterableTensors", "as_tensors", "jagged"]

_SHARED_BYTES = 512 * 1024
"""From this size on a tensor goes from one process to another in shared memory of its own."""


@hinted
def as_tensors(element: Any) -> Any:
    """Make tensors of arrays, also inside dictionaries, tuples and lists.

    Parameters
    ----------
    element : array, column, or structure of them
        From a parser, a data set or ``TFRecordFile.parse``.

    Returns
    -------
    torch.Tensor or structure of them
        See the table at the top of this module.

    Raises
    ------
    TypeError
        For arrays of a dtype that torch lacks, such as times, and for masked arrays of numbers.

    Examples
    --------
    >>> from tfrecord_lite.integrations.torch import as_tensors
    >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> as_tensors(parse_example(people, {"name": bytes, "age": int}))
    {'name': [b'Ada', b'Alan', b'Grace'], 'age': tensor([36, 41, 37])}
    """
    return _tensors(element, None)


def _tensors(element: Any, key: str | None) -> Any:
    if isinstance(element, dict):
        tensors = {name: _tensors(value, name) for name, value in element.items()}
        return tensors if current_worker() is None else _SentDict(tensors)
    if isinstance(element, tuple):
        items = (_tensors(item, key) for item in element)
        return type(element)(*items) if hasattr(element, "_fields") else tuple(items)
    if isinstance(element, list):
        return [_tensors(item, key) for item in element]
    place = "" if key is None else f"feature {key!r}: "
    if isinstance(element, np.ma.MaskedArray):
        if element.dtype.kind in "OTSU":
            return element.tolist()
        detail = "torch has no missing values, which this masked array may have; give the feature a default_value in "
        detail += "a schema, fill them in a map of the data set, as column.filled(0), or leave the feature out"
        raise TypeError(f"{place}{detail}")
    if isinstance(element, (np.ndarray, np.generic)):
        try:
            return _tensor(np.asarray(element))
        except TypeError:
            detail = f"torch has no dtype for {element.dtype}; leave the feature out, or make "
            raise TypeError(f"{place}{detail}numbers of it in a map of the data set") from None
    return _sparse(element) if isinstance(element, SparseTensor) else element


def jagged(ragged: RaggedTensor) -> Any:
    """Make a nested tensor (layout ``torch.jagged``) of rows of numbers, without copying.

    Parameters
    ----------
    ragged : RaggedTensor
        Numbers, with one ragged level; anything else raises ``UNSUPPORTED``.

    Returns
    -------
    torch.Tensor
        Workers cannot send such tensors: make them from what the loader gives.

    Examples
    --------
    >>> from tfrecord_lite.integrations.torch import jagged
    >>> scores = jagged(RaggedTensor.from_row_lengths([5, 7, 9], [2, 0, 1]))
    >>> scores.is_nested, scores.sum(dim=1)
    (True, tensor([12,  0,  9]))
    """
    values, rank, dtype = ragged.values, ragged.ragged_rank, ragged.dtype
    if rank != 1 or not isinstance(values, np.ndarray) or dtype.kind == "O":
        detail = f"nested tensors hold one ragged level of numbers, not {rank} of {dtype}"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    offsets, lengths = _tensor(ragged.row_splits), ragged.row_lengths()
    bounds = {}
    if lengths.size:  # without them, torch pads to the number of all values
        bounds = {"min_seqlen": int(lengths.min()), "max_seqlen": int(lengths.max())}
    return _torch().nested.nested_tensor_from_jagged(_tensor(values), offsets, **bounds)


class _SentDict(dict[str, Any]):
    """A dictionary in a DataLoader's worker, which arrives as a dict.

    Shared memory for each tensor takes longer than parsing some hundred values: smaller tensors are sent as arrays.
    """

    def __copy__(self) -> Self:  # of what torch converts and collates
        return type(self)(self)

    def __reduce_ex__(self, _: Any) -> tuple[Any, ...]:
        torch, values, names = _torch(), dict(self), []
        for name, value in values.items():
            is_plain = type(value) is torch.Tensor and value.layout == torch.strided
            if is_plain and value.nbytes < _SHARED_BYTES:
                with contextlib.suppress(TypeError, RuntimeError):  # what NumPy cannot hold
                    values[name] = value.numpy()
                    names.append(name)
        return _received, (values, names)


def _received(values: dict[str, Any], names: list[str]) -> dict[str, Any]:
    from_numpy = _torch().from_numpy
    for name in names:
        values[name] = from_numpy(values[name])
    return values


def _tensor(array: AnyArray) -> Any:
    if array.dtype.kind in "OSUT":
        return array.tolist()
    if array.dtype.isbuiltin == 2 and hasattr(_torch(), array.dtype.name):  # of ml_dtypes
        return _tensor(array.view(f"u{array.itemsize}")).view(getattr(_torch(), array.dtype.name))
    # Torch cannot share read-only memory, other byte orders or negative strides.
    if not (array.flags.writeable and array.dtype.isnative and min(array.strides, default=0) >= 0):
        array = array.astype(array.dtype.newbyteorder("="), order="C", copy=True)
    return _torch().from_numpy(array)


def _sparse(column: SparseTensor) -> Any:
    if not isinstance(column.values, np.ndarray) or column.dtype.kind in "OSU":
        return column
    indices, values = _tensor(column.indices).T, _tensor(column.values)
    shape = tuple(column.dense_shape.tolist())
    return _torch().sparse_coo_tensor(indices, values, shape, check_invariants=False)


class _NoLengthError(TypeError, AttributeError):
    """An unknown ``len``; ``hasattr``, which Keras asks, is False then."""


@hinted
class IterableTensors:
    """The elements of a data set as tensors: an ``IterableDataset`` of torch.

    The workers of a ``DataLoader`` return each element of an epoch exactly once, as do several ranks with
    :meth:`tfrecord_lite.Dataset.shard`; ``StatefulDataLoader`` can resume it. Use ``batch_size=None``.

    Parameters
    ----------
    dataset : Dataset
        For example, from :func:`tfrecord_lite.read_batches`.
    length : int, optional
        What ``len`` reports, if it cannot find out the number of elements.

    Examples
    --------
    >>> from torch.utils.data import DataLoader
    >>> from tfrecord_lite.integrations.torch import IterableTensors
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> batches = read_batches("people.tfrecord", {"age": int}, 2)  # with shuffle=True for training
    >>> for batch in DataLoader(IterableTensors(batches), batch_size=None):
    ...     print(batch)
    {'age': tensor([36, 41])}
    {'age': tensor([37])}
    """

    def __init__(self, dataset: Dataset[Any], length: int | None = None) -> None:
        _torch()
        if not isinstance(dataset, Dataset):
            raise TypeError(f"expected a Dataset, as of read_batches, not {type(dataset).__name__}")
        self._length = optional_int("length", length, 0)
        self._made = dataset.map(_made)
        vars(self._made).update({**vars(dataset), "_plan": self._made._plan, "_parts": {}})  # noqa: SLF001 - in its epoch
        register_with_torch(type(self))

    def set_epoch(self, epoch: int) -> Self:
        """Set the number of the next epoch, as :meth:`tfrecord_lite.Dataset.set_epoch`.

        Examples
        --------
        >>> from tfrecord_lite.integrations.torch import IterableTensors
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> batches = read_batches("people.tfrecord", {"age": int}, 3, shuffle=True, seed=1)
        >>> people = IterableTensors(batches)
        >>> first, second = [list(people)[0]["age"].tolist() for epoch in range(2)]
        >>> list(people.set_epoch(1))[0]["age"].tolist() == second
        True
        """
        self._made.set_epoch(epoch)
        return self

    def __iter__(self) -> DatasetIterator[Any]:
        """Start the next epoch."""
        return iter(self._made)

    def __bool__(self) -> bool:
        """Return True."""
        return True

    @property
    def __len__(self) -> Callable[[], int]:
        """Return the number of elements of an epoch, for all workers of the ``DataLoader`` that asks.

        Raises TypeError if the files would have to be read for it, or it depends on what the elements are.

        Examples
        --------
        >>> from torch.utils.data import DataLoader
        >>> from tfrecord_lite.integrations.torch import IterableTensors
        >>> _ = save("people.tfrecord", {"age": [36, 41, 37]})
        >>> batches = read_batches("people.tfrecord", {"age": int}, 2)
        >>> batches.count()  # or an index beside each file
        2
        >>> len(DataLoader(IterableTensors(batches), batch_size=None))
        2
        """
        length = self._length
        if length is None:
            # Each worker batches its own part, so the loader whose __len__ called this has to be asked.
            frame: Any = inspect.currentframe()
            n_workers = getattr(frame.f_back.f_locals.get("self"), "num_workers", 0)
            try:
                length = self._made.count(n_workers, read=False)
            except TypeError as error:
                raise _NoLengthError(f"{error}; or give IterableTensors a length") from None
        return lambda: length

    def __repr__(self) -> str:
        """Name the data set."""
        return f"IterableTensors({self._made!r})"


def _made(*element: Any) -> Any:
    return as_tensors(element if len(element) > 1 else element[0])


class IndexedTensors(IndexedExamples):
    """The Examples of a :class:`tfrecord_lite.TFRecordFile` as tensors: a map-style data set.

    ``[i]`` is one record, ``[[i, j, ...]]`` or ``[i:j]`` a batch of columns. Whole batches are fastest::

        sampler = BatchSampler(RandomSampler(dataset), 256, drop_last=False)
        loader = DataLoader(dataset, batch_size=None, sampler=sampler, num_workers=2)

    ``DataLoader(dataset, batch_size=256, shuffle=True)`` gives the same from single records; a value that is missing is
    None there, which ``DataLoader`` refuses to stack, and an error in a batch.

    Parameters
    ----------
    file : TFRecordFile, or path, pattern or list of them
    schema : Schema, dict of specifications, path or ExampleParser, optional
        As for :func:`tfrecord_lite.read_batches`.
    **options
        As for :class:`tfrecord_lite.TFRecordFile`, as are the errors.

    Examples
    --------
    >>> from tfrecord_lite.integrations.torch import IndexedTensors
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> people = IndexedTensors("people.tfrecord", {"age": int})
    >>> people[1], people[[2, 0]]
    ({'age': tensor(41)}, {'age': tensor([37, 36])})
    """

    def __getitem__(self, index: int | slice | Sequence[int] | AnyArray) -> dict[str, Any]:
        """Return one record as ``parse_single`` does, or many as columns."""
        if isinstance(index, slice):
            index = range(*index.indices(len(self)))
        numbers = np.asarray(index)  # samplers give numbers, lists or tensors
        if numbers.ndim == 0:
            return self.__getitems__(numbers[None])[0]
        return as_tensors(self._columns(numbers))  # type: ignore[no-any-return]

    def __getitems__(self, indices: Sequence[int] | AnyArray) -> list[dict[str, Any]]:
        """Return a list of single records, which ``DataLoader`` stacks."""
        return as_tensors(self._rows(indices))  # type: ignore[no-any-return]


def _torch() -> Any:
    return library("torch")
