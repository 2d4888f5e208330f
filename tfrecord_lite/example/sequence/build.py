"""Results of feature lists: padded, sparse and ragged (rules L1 to L6).

Each function takes one feature list of all messages, as a column with a row per *step*, and
the specification. With `single` the batch is one message, and the result has no batch
dimension (rule Q1). The first message that does not fit raises a MisfitError.
"""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays import AnyArray, BoolArray, Int64Array, ranges, row_splits
from tfrecord_lite.columns import RaggedTensor, SparseTensor
from tfrecord_lite.columns.bytes import as_array
from tfrecord_lite.errors import Reason
from tfrecord_lite.example.decode import build
from tfrecord_lite.example.decode.first_error import MisfitError

if TYPE_CHECKING:
    from tfrecord_lite.example.decode.build import FeatureColumn
    from tfrecord_lite.example.decode.oneof import FeatureListValues
    from tfrecord_lite.schema import Padded, Ragged


class FeatureListColumn:
    """One feature list in all messages of a batch."""

    def __init__(self, key: str, lists: FeatureListValues, steps: FeatureColumn) -> None:
        self.key = key
        self.is_present: BoolArray = lists.is_present
        """Which messages have the list; shape (n_messages,)."""
        self.n_steps: Int64Array = lists.n_steps
        """Steps in each message; shape (n_messages,)."""
        self.steps = steps
        """The values of all steps, with a row per step."""

    def cut(self, splits: list[int]) -> list[FeatureListColumn]:
        """Return the columns of some messages each, with values of their own; `splits` are theirs."""
        columns = []
        steps = self.steps.cut(row_splits(self.n_steps)[splits].tolist())
        for (a, b), some in zip(pairwise(splits), steps, strict=True):
            column = copy(self)
            column.is_present, column.n_steps = self.is_present[a:b], self.n_steps[a:b].copy()
            column.steps = some
            columns.append(column)
        return columns

    def copy(self) -> FeatureListColumn:
        """Return a column with values of its own."""
        copied = copy(self)
        copied.steps = self.steps.copy()
        return copied


def at_message(misfit: MisfitError, n_steps: Int64Array) -> MisfitError:
    """Turn a MisfitError whose number is that of a step into one about the step's message."""
    ends = np.cumsum(n_steps)
    message = int(np.searchsorted(ends, misfit.message, side="right"))
    step = misfit.message - int(ends[message] - n_steps[message])
    detail = f"in step {step} of the list: {misfit.detail}"
    return MisfitError(message, misfit.reason, misfit.key, detail)


def padded(
    column: FeatureListColumn, feature: Padded, *, single: bool
) -> tuple[AnyArray, Int64Array]:
    r"""Build the result of a FixedLenSequenceFeature, and its lengths (rules L1 to L3, Q4).

    The values have the shape (n_messages, longest, \*shape), single (n_steps, \*shape); the
    lengths (n_messages,), single ().
    """
    flat = _even_steps(column, feature)
    if single:
        return flat.reshape(-1, *feature.shape), column.n_steps.reshape(())
    n_steps = column.n_steps
    n_messages = n_steps.size
    longest = int(n_steps.max(initial=0))
    shape = (n_messages, longest, *feature.shape)
    if (n_steps == longest).all():
        return flat.reshape(shape), n_steps
    out: AnyArray
    with build.room_for(n_steps, feature):
        is_step = np.arange(longest) < n_steps[:, None]
        if flat.dtype == object:
            out = np.full((n_messages, longest, feature.size), feature.padding, object)
        else:  # fresh memory is 0 already
            out = np.zeros(n_messages * longest * feature.size, flat.dtype)
    if flat.dtype == object:
        out[is_step] = flat.reshape(-1, feature.size)
        return out.reshape(shape), n_steps
    # Copy whole steps, as items of one size.
    step = np.dtype((np.void, feature.size * flat.itemsize))
    contents = np.ascontiguousarray(flat).reshape(-1).view(step)
    out.view(step).reshape(is_step.shape)[is_step] = contents
    return out.reshape(shape), n_steps


def unpadded(column: FeatureListColumn, feature: Padded) -> RaggedTensor:
    r"""Build the rows of steps of a FixedLenSequenceFeature; the shape of a step is `shape`."""
    splits = row_splits(column.n_steps)
    return RaggedTensor(_even_steps(column, feature).reshape(splits[-1], *feature.shape), splits)


def _even_steps(column: FeatureListColumn, feature: Padded) -> AnyArray:
    """Return the values of all steps; raise if a list is missing, or a step of another size."""
    missing = ~column.is_present
    if not feature.allow_missing and missing.any():
        detail = "the list is missing; with allow_missing=True it would have no steps"
        raise MisfitError(int(np.flatnonzero(missing)[0]), Reason.MISSING, column.key, detail)
    steps = column.steps
    if steps.count != feature.size:
        try:
            steps.reject_sizes(steps.counts != feature.size, feature)
        except MisfitError as misfit:
            raise at_message(misfit, column.n_steps) from None
    return as_array(steps.flat)


def var_len(column: FeatureListColumn, *, single: bool) -> SparseTensor:
    """Build the result of a VarLenFeature (rule L4)."""
    counts = column.steps.counts
    place = ranges(np.zeros_like(counts), counts)
    step = ranges(np.zeros_like(column.n_steps), column.n_steps)
    coordinates = [np.repeat(step, counts), place]
    dense_shape = [int(column.n_steps.max(initial=0)), int(counts.max(initial=0))]
    if not single:
        message = np.repeat(np.arange(column.n_steps.size), column.n_steps)
        coordinates.insert(0, np.repeat(message, counts))
        dense_shape.insert(0, column.n_steps.size)
    values = as_array(column.steps.flat)
    return SparseTensor(np.stack(coordinates, 1), values, np.array(dense_shape))


def ragged(
    values: FeatureListColumn,
    partitions: dict[str, FeatureListColumn],
    feature: Ragged,
    *,
    single: bool,
) -> RaggedTensor:
    """Build the result of a RaggedFeature (rule L5), with steps in the place of messages."""
    for column in partitions.values():
        wrong = np.flatnonzero(column.n_steps != values.n_steps)
        if wrong.size:
            first = int(wrong[0])
            found, wanted = column.n_steps[first], values.n_steps[first]
            detail = f"found {found} steps, expected {wanted} as the values have"
            raise MisfitError(first, Reason.BAD_PARTITION, column.key, detail)
    steps = {key: column.steps for key, column in partitions.items()}
    try:
        rows: Any = build.ragged(values.steps, steps, feature, single=False)
    except MisfitError as misfit:
        raise at_message(misfit, values.n_steps) from None
    if single:
        return rows  # type: ignore[no-any-return]
    splits = row_splits(values.n_steps).astype(feature.splits_dtype)
    return RaggedTensor(rows, splits)
