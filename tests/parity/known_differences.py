"""Where the answers to a generated case may differ, and what each difference must be.

A difference counts as deliberate only if a predicate over features and messages demands it;
and where the predicate holds, this library must raise an error. The predicates follow the
rules, for one message at a time, without NumPy. Messages are parsed by protobuf's runtime.
"""

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tests.parity.answers import Answer
from tests.parity.parsing import Parsing, agree, bits
from tests.support.cases import Case
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.messages import Example, SequenceExample
from tfrecord_lite.schema import RaggedFeature, SparseFeature

__all__ = ["judge"]

Lists = dict[str, list[Any]]


def judge(parsing: Parsing, case: Case) -> None:
    """Run both on a case, and check the answers.

    Raises
    ------
    AssertionError
        If they differ, and should not.
    """
    theirs, ours = _ask(parsing, case)
    misfits = _all_misfits(case)
    if misfits:  # never silent, whatever TensorFlow says
        assert isinstance(ours.error, InvalidArgumentError), f"{misfits}, but {ours}"
    try:
        agree(theirs, ours)
    except AssertionError:
        _excuse(parsing, case, misfits, theirs, ours)


def _ask(parsing: Parsing, case: Case) -> tuple[Answer, Answer]:
    if case.single:
        return parsing.ask_single(case.records[0], *case.parts)
    return parsing.ask_batch(case.records, *case.parts)


def _excuse(
    parsing: Parsing, case: Case, misfits: set[tuple[int, str]], theirs: Answer, ours: Answer
) -> None:
    """Find the rule by which the answers may differ: W, or Q of sequences."""
    message = SequenceExample if case.is_sequence else Example
    plain = []
    for record in case.records:
        try:
            found = message.FromString(record)
        except DecodeError:
            assert isinstance(ours.error, InvalidArgumentError), f"{theirs}; {ours}"
            return
        found.DiscardUnknownFields()
        plain.append(found.SerializeToString())
    case = replace(case, records=plain)
    theirs, _ = _ask(parsing, case)
    try:
        agree(theirs, ours)
    except AssertionError:
        pass
    else:
        return
    if misfits:
        assert isinstance(ours.error, InvalidArgumentError)
        assert ours.error.reason in {Reason.BAD_PARTITION, Reason.BAD_INDEX}, f"{theirs}; {ours}"
        rest = tuple(
            {name: spec for name, spec in part.items() if (number, name) not in misfits}
            for number, part in enumerate(case.parts)
        )
        if any(rest):  # the others still have to be equal
            case = replace(case, parts=rest)
            _agree_but_for_order(case, *_ask(parsing, case))
        return
    _agree_but_for_order(case, theirs, ours)


def _agree_but_for_order(case: Case, theirs: Answer, ours: Answer) -> None:
    """Check that answers are equal except for rules Z2 and G8, which are not errors here."""
    lacking = _lacks_splits(case) if case.single else set()
    if theirs.error is not None and lacking:
        assert re.search("slice index 0|Dimension -1", str(theirs.error)), f"{theirs}; {ours}"
        assert ours.error is None, ours
        return
    if theirs.error is not None or ours.error is not None:
        agree(theirs, ours)
        return
    for key, result in ours.value.items():
        other = theirs.value[key]
        if bits(result) == bits(other):
            continue
        name = key.removeprefix("context ") if case.is_sequence else key
        if isinstance(case.parts[0].get(name), SparseFeature):
            assert _sorted(result) == _sorted(other), f"{other}; {result}"
        else:
            assert name in lacking, f"{other}; {result}"
            assert result.row_splits.tolist() == [0] * len(result.row_splits)


def _sorted(result: Any) -> list[Any]:
    """Return entries in an order of their own, with indices, shape and bits of values."""
    indices = np.asarray(result.indices).tolist()
    values = np.asarray(result.values)
    words = (
        values.tolist() if values.dtype == object else values.view(f"u{values.itemsize}").tolist()
    )
    shape = np.asarray(result.dense_shape).tolist()
    assert indices == sorted(indices)
    return [shape, sorted(zip(indices, words, strict=True))]


# Predicates


def _all_misfits(case: Case) -> set[tuple[int, str]]:
    """Return the features, by part and name, whose messages break rules and TensorFlow may let pass."""
    messages: list[Any] = [_lists(record) for record in case.records]  # of a sequence, its context
    if None in messages:
        return set()
    found = {
        (0, name)
        for name, spec in case.parts[0].items()
        if any(_is_misfit(spec, name, lists, single=case.single) for lists in messages)
    }
    messages = [_steps(record) for record in case.records] if case.is_sequence else []
    if None in messages:
        return set()
    return found | {
        (1, name)
        for name, spec in case.parts[-1].items()
        if isinstance(spec, RaggedFeature) and any(_list_misfit(spec, name, m) for m in messages)
    }


def _is_misfit(spec: Any, name: str, lists: Lists, *, single: bool) -> bool:
    if isinstance(spec, SparseFeature):
        return _sparse_misfit(spec, lists)
    return isinstance(spec, RaggedFeature) and _ragged_misfit(spec, name, lists, single=single)


def _lists(record: bytes) -> Lists | None:
    """Return the lists of a message, by key; None if the bytes are not a message."""
    try:
        features = Example.FromString(record).features.feature
    except DecodeError:
        return None
    kinds = {key: feature.WhichOneof("kind") for key, feature in features.items()}
    return {key: list(getattr(features[key], kind).value) for key, kind in kinds.items() if kind}


def _sparse_misfit(spec: SparseFeature, lists: Lists) -> bool:
    """Look for other numbers of indices than of values (Z4), and for those out of range (Z3)."""
    single = isinstance(spec.index_key, str)
    keys = [spec.index_key] if single else spec.index_key
    sizes = [spec.size] if single else spec.size
    indices = [lists.get(key, []) for key in keys]
    n_values = len(lists.get(spec.value_key, []))
    if any(len(index) != n_values for index in indices):
        return True
    return any(
        not isinstance(number, int) or not 0 <= number < size
        for index, size in zip(indices, sizes, strict=True)
        for number in index
    )


def _ragged_misfit(spec: RaggedFeature, name: str, lists: Lists, *, single: bool) -> bool:
    """Go through the partitions from the innermost outwards, as rules G2 to G8 say."""
    items = len(lists.get(name if spec.value_key is None else spec.value_key, []))
    is_plain, is_empty = True, not items
    for partition in reversed(spec.partitions):
        if isinstance(partition, RaggedFeature.UniformRowLength):
            if partition.length == 0 and (is_empty if is_plain else not items):
                items = int(is_plain)
                continue
            if partition.length == 0 or items % partition.length:
                return True
            items //= partition.length
            continue
        is_plain = False
        numbers = [_wrapped(number, spec) for number in lists.get(partition.key, [])]
        if not numbers and items:
            return True
        rows = _rows(partition, numbers, items, single=single)
        if rows is None:
            return True
        items = rows
    return False


def _wrapped(number: Any, spec: RaggedFeature) -> int:
    n_bits = 8 * np.dtype(spec.row_splits_dtype).itemsize
    number = int(number) if isinstance(number, int) else -1
    wrapped: int = (number + 2 ** (n_bits - 1)) % 2**n_bits - 2 ** (n_bits - 1)
    return wrapped


def _rows(partition: Any, numbers: list[int], items: int, *, single: bool) -> int | None:
    """Return how many rows a partition makes of items; None if it does not fit."""
    rises = all(a <= b for a, b in pairwise(numbers))
    first, last = (numbers[0], numbers[-1]) if numbers else (0, 0)
    match partition:
        case RaggedFeature.RowLengths():
            good, rows = min(numbers, default=0) >= 0 and sum(numbers) == items, len(numbers)
        case RaggedFeature.RowLimits():
            good, rows = rises and first >= 0 and last == items, len(numbers)
        case RaggedFeature.RowStarts():
            good, rows = rises and first == 0 and last <= items, len(numbers)
        case RaggedFeature.RowSplits():
            limits = numbers[1:]
            good = not single or first == 0
            good = good and all(a <= b for a, b in pairwise([0, *limits]))
            good, rows = good and (limits[-1] if limits else 0) == items, len(limits)
        case _:
            good, rows = rises and first >= 0 and len(numbers) == items, last + bool(numbers)
    return rows if good else None


def _lacks_splits(case: Case) -> set[str]:
    """Name the ragged features whose row splits a single message has not."""
    lists = _lists(case.records[0]) or {}
    return {
        name
        for name, spec in case.parts[0].items()
        for part in getattr(spec, "partitions", ())
        if isinstance(part, RaggedFeature.RowSplits) and not lists.get(part.key)
    }


def _steps(record: bytes) -> dict[str, list[list[Any]]] | None:
    """Return the values of all steps of a message's lists; None if it is not a message."""
    try:
        lists = SequenceExample.FromString(record).feature_lists.feature_list
    except DecodeError:
        return None
    return {
        key: [
            list(getattr(step, kind).value) if (kind := step.WhichOneof("kind")) else []
            for step in feature_list.feature
        ]
        for key, feature_list in lists.items()
    }


def _list_misfit(spec: RaggedFeature, name: str, steps: dict[str, list[list[Any]]]) -> bool:
    values = name if spec.value_key is None else spec.value_key
    keys = [values, *(p.key for p in spec.partitions if hasattr(p, "key"))]
    found = [steps.get(key, []) for key in keys]
    return any(len(some) != len(found[0]) for some in found) or any(
        _ragged_misfit(spec, name, dict(zip(keys, row, strict=True)), single=False)
        for row in zip(*found, strict=True)
    )
