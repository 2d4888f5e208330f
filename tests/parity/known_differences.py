"""Where the answers to a generated case may differ, and what each difference must be.

A difference counts as deliberate only if a predicate over features and messages demands it;
and where the predicate holds, this library must raise an error. The predicates follow the
rules, for one message at a time, without NumPy. Messages are parsed by protobuf's runtime.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from tests.parity.parsing import Parsing, agree, bits
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.messages import Example
from tfrecord_lite.schema import RaggedFeature, SparseFeature

if TYPE_CHECKING:
    from tests.parity.answers import Answer
    from tests.parity.cases import Case

__all__ = ["judge"]

Lists = dict[str, list[Any]]


def judge(parsing: Parsing, case: Case) -> Counter[str]:
    """Run both on a case, check the answers, and count them by kind.

    Raises
    ------
    AssertionError
        If they differ, and should not.
    """
    theirs, ours = _ask(parsing, case, case.records, case.features)
    misfits = _misfits(case)
    if misfits:  # never silent, whatever TensorFlow says
        assert isinstance(ours.error, InvalidArgumentError), f"{misfits}, but {ours}"
    try:
        agree(theirs, ours)
    except AssertionError:
        return _excuse(parsing, case, misfits, theirs, ours)
    return Counter({"equal results" if theirs.error is None else "same error": 1})


def _ask(
    parsing: Parsing, case: Case, records: list[bytes], features: Any
) -> tuple[Answer, Answer]:
    if case.single:
        return parsing.ask_single(records[0], features)
    return parsing.ask_batch(records, features)


def _excuse(
    parsing: Parsing, case: Case, misfits: dict[str, str], theirs: Answer, ours: Answer
) -> Counter[str]:
    """Find the rule by which the answers may differ."""
    canonical = [_canonical(record) for record in case.records]
    if None in canonical:
        assert isinstance(ours.error, InvalidArgumentError), f"{theirs}; {ours}"
        return Counter({"W: no message to protobuf, an error here": 1})
    plain = [record for record in canonical if record is not None]
    theirs, _ = _ask(parsing, case, plain, case.features)
    try:
        agree(theirs, ours)
    except AssertionError:
        pass
    else:
        return Counter({"W: read as protobuf reads it": 1})
    if misfits:
        assert isinstance(ours.error, InvalidArgumentError)
        assert ours.error.reason in {Reason.BAD_PARTITION, Reason.BAD_INDEX}, f"{theirs}; {ours}"
        found = Counter(misfits.values())
        rest = {name: spec for name, spec in case.features.items() if name not in misfits}
        if rest:  # the others still have to be equal
            _agree_but_for_order(case, *_ask(parsing, case, plain, rest))
        return Counter(dict.fromkeys(found, 1))
    return _agree_but_for_order(case, theirs, ours)


def _canonical(record: bytes) -> bytes | None:
    """Return a message without unknown fields, by the protobuf runtime; None if that rejects it."""
    try:
        found = Example.FromString(record)
    except DecodeError:
        return None
    found.DiscardUnknownFields()
    return found.SerializeToString()


def _agree_but_for_order(case: Case, theirs: Answer, ours: Answer) -> Counter[str]:
    """Check that answers are equal except for rules Z2 and G8, which are not errors here."""
    found: Counter[str] = Counter()
    if theirs.error is not None and case.single and _lacks_splits(case):
        assert re.search("slice index 0|Dimension -1", str(theirs.error)), f"{theirs}; {ours}"
        assert ours.error is None, ours
        return Counter({"G8: no splits, [0] here": 1})
    if theirs.error is not None or ours.error is not None:
        agree(theirs, ours)
        return found
    for name, result in ours.value.items():
        other = theirs.value[name]
        if bits(result) == bits(other):
            continue
        if isinstance(case.features[name], SparseFeature):
            assert _sorted(result) == _sorted(other), f"{other}; {result}"
            found["Z2: order of equal indices"] = 1
        else:
            assert case.single, f"{other}; {result}"
            assert name in _lacks_splits(case), f"{other}; {result}"
            assert result.row_splits.tolist() == [0] * len(result.row_splits)
            found["G8: no splits, [0] here"] = 1
    return found


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


def _misfits(case: Case) -> dict[str, str]:
    """Name the rules that messages break which TensorFlow may let pass, by feature."""
    found: dict[str, str] = {}
    messages = [_lists(record) for record in case.records]
    if None in messages:
        return {}
    for name, spec in case.features.items():
        for lists in messages:
            assert lists is not None
            rule = None
            if isinstance(spec, SparseFeature):
                rule = _sparse_misfit(spec, lists)
            elif isinstance(spec, RaggedFeature):
                rule = _ragged_misfit(spec, name, lists, single=case.single)
            if rule:
                found[name] = rule
    return found


def _lists(record: bytes) -> Lists | None:
    """Return the lists of a message, by key; None if the bytes are not a message."""
    try:
        features = Example.FromString(record).features.feature
    except DecodeError:
        return None
    kinds = {key: feature.WhichOneof("kind") for key, feature in features.items()}
    return {key: list(getattr(features[key], kind).value) for key, kind in kinds.items() if kind}


def _sparse_misfit(spec: SparseFeature, lists: Lists) -> str | None:
    single = isinstance(spec.index_key, str)
    keys = [spec.index_key] if single else spec.index_key
    sizes = [spec.size] if single else spec.size
    indices = [lists.get(key, []) for key in keys]
    n_values = len(lists.get(spec.value_key, []))
    if any(len(index) != n_values for index in indices):
        return "Z4: numbers that differ by message"
    for index, size in zip(indices, sizes, strict=True):
        if any(not isinstance(number, int) or not 0 <= number < size for number in index):
            return "Z3: index out of range"
    return None


def _ragged_misfit(spec: RaggedFeature, name: str, lists: Lists, *, single: bool) -> str | None:
    """Go through the partitions from the innermost outwards, as rules G2 to G5 say."""
    items = len(lists.get(name if spec.value_key is None else spec.value_key, []))
    is_plain, is_empty = True, not items
    for partition in reversed(spec.partitions):
        if isinstance(partition, RaggedFeature.UniformRowLength):
            if partition.length == 0 and (is_empty if is_plain else not items):
                items = int(is_plain)
                continue
            if partition.length == 0 or items % partition.length:
                return "G4: uniform rows that do not come out even"
            items //= partition.length
            continue
        is_plain = False
        numbers = [_wrapped(number, spec) for number in lists.get(partition.key, [])]
        if not numbers and items:
            return "G8: no partition"
        rows = _rows(partition, numbers, items, single=single)
        if rows is None:
            return "G6: partition that does not fit"
        items = rows
    return None


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
        for name, spec in case.features.items()
        if isinstance(spec, RaggedFeature)
        and any(
            isinstance(part, RaggedFeature.RowSplits) and not lists.get(part.key)
            for part in spec.partitions
        )
    }
