"""From the steps of feature lists to results: padded, sparse and ragged (rules L1 to L6).

Every function here takes a list of all messages of a batch, as a column with a row a
*step*, and what was asked for. With `single` the batch is one message, and the result
has no batch dimension (rule Q1).

A message that does not fit raises :class:`~.build.Misfit`, always the first of the batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays import AnyArray, Int64Array, ranges, row_splits
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.errors import Reason
from tfrecord_lite.example.decode import build
from tfrecord_lite.example.decode.first_error import Misfit

if TYPE_CHECKING:
    from tfrecord_lite.example.decode.build import Column
    from tfrecord_lite.example.decode.oneof import StepLists
    from tfrecord_lite.schema import Padded, Ragged


class StepColumn:
    """The values of one feature list in all messages of a batch.

    Parameters
    ----------
    key : str
    lists : StepLists
        What was read.
    steps : Column
        The values, with a row a step.
    """

    def __init__(self, key: str, lists: StepLists, steps: Column) -> None:
        self.key = key
        self.is_present = lists.is_present
        self.n_steps = lists.n_steps
        self.steps = steps

    @property
    def n_messages(self) -> int:
        """How many messages there are."""
        return self.n_steps.size


def of_message(misfit: Misfit, n_steps: Int64Array) -> Misfit:
    """Turn what is said about one of all steps into what is said about a message."""
    ends = np.cumsum(n_steps)
    message = int(np.searchsorted(ends, misfit.message, side="right"))
    step = misfit.message - int(ends[message] - n_steps[message])
    detail = f"in step {step} of the list: {misfit.detail}"
    return Misfit(message, misfit.reason, misfit.key, detail)


def padded(column: StepColumn, feature: Padded, *, single: bool) -> tuple[AnyArray, Int64Array]:
    r"""Build the result of a FixedLenSequenceFeature, and its lengths (rules L1 to L3, Q4).

    Returns
    -------
    values : ndarray, shape (n_messages, longest, \\*shape), or (n_steps, \\*shape)
    lengths : int64, shape (n_messages,), or ()
    """
    missing = ~column.is_present
    if not feature.allow_missing and missing.any():
        detail = "the list is not there; with allow_missing=True it would have no steps"
        raise Misfit(int(np.flatnonzero(missing)[0]), Reason.MISSING, column.key, detail)
    steps = column.steps
    if steps.count != feature.size:
        wrong = steps.counts != feature.size
        detail = f"found {{}} values, expected {feature.size} for shape {list(feature.shape)}"
        try:
            steps.refuse(wrong, Reason.WRONG_COUNT, detail)
        except Misfit as misfit:
            raise of_message(misfit, column.n_steps) from None
    flat = steps.flat.to_numpy() if isinstance(steps.flat, BytesColumn) else steps.flat
    if single:
        return flat.reshape(-1, *feature.shape), column.n_steps.reshape(())
    n_messages, n_steps = column.n_messages, column.n_steps
    longest = int(n_steps.max(initial=0))
    shape = (n_messages, longest, *feature.shape)
    if (n_steps == longest).all():
        return flat.reshape(shape), n_steps
    out: AnyArray
    with build.room_for(n_steps, feature):
        is_step = np.arange(longest) < n_steps[:, None]
        if flat.dtype == object:
            out = np.full((n_messages, longest, feature.size), feature.padding, object)
        else:  # memory that is fresh is 0 already
            out = np.zeros(n_messages * longest * feature.size, flat.dtype)
    if flat.dtype == object:
        out[is_step] = flat.reshape(-1, feature.size)
        return out.reshape(shape), n_steps
    # Steps are copied as wholes.
    step = np.dtype((np.void, feature.size * flat.itemsize))
    contents = np.ascontiguousarray(flat).reshape(-1).view(step)
    out.view(step).reshape(is_step.shape)[is_step] = contents
    return out.reshape(shape), n_steps


def var_len(column: StepColumn, *, single: bool) -> SparseTensor:
    """Build the result of a VarLenFeature (rule L4)."""
    counts = column.steps.counts
    flat = column.steps.flat
    place = ranges(np.zeros_like(counts), counts)
    step = ranges(np.zeros_like(column.n_steps), column.n_steps)
    coordinates = [np.repeat(step, counts), place]
    dense_shape = [int(column.n_steps.max(initial=0)), int(counts.max(initial=0))]
    if not single:
        message = np.repeat(np.arange(column.n_messages), column.n_steps)
        coordinates.insert(0, np.repeat(message, counts))
        dense_shape.insert(0, column.n_messages)
    values = flat.to_numpy() if isinstance(flat, BytesColumn) else flat
    return SparseTensor(np.stack(coordinates, 1), values, np.array(dense_shape))


def ragged(
    values: StepColumn, partitions: dict[str, StepColumn], feature: Ragged, *, single: bool
) -> RaggedTensor:
    """Build the result of a RaggedFeature (rule L5): steps are what messages are elsewhere."""
    for column in partitions.values():
        wrong = np.flatnonzero(column.n_steps != values.n_steps)
        if wrong.size:
            first = int(wrong[0])
            found, wanted = column.n_steps[first], values.n_steps[first]
            detail = f"it has {found} steps, the values have {wanted}"
            raise Misfit(first, Reason.BAD_PARTITION, column.key, detail)
    steps = {key: column.steps for key, column in partitions.items()}
    try:
        rows: Any = build.ragged(values.steps, steps, feature, single=False)
    except Misfit as misfit:
        raise of_message(misfit, values.n_steps) from None
    if single:
        return rows  # type: ignore[no-any-return]
    splits = row_splits(values.n_steps).astype(feature.splits_dtype)
    return RaggedTensor(rows, splits)
