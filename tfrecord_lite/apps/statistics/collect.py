"""compute_statistics: records, block by block, to statistics of each feature.

::

    blocks ── Survey ─┬─> Summary                               kinds, ranges
                      └─> values of each feature, gathered ──> Distribution, StringStatistics
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.apps.statistics.distribution import Distribution
from tfrecord_lite.apps.statistics.statistics import FeatureStatistics, Statistics
from tfrecord_lite.apps.statistics.strings import StringStatistics
from tfrecord_lite.arrays import ByteRanges
from tfrecord_lite.errors import InvalidArgumentError, require_int
from tfrecord_lite.example.survey import Survey
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.progress import check_progress
from tfrecord_lite.schema import SequenceSummary
from tfrecord_lite.storage.infer import blocks_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tfrecord_lite.arrays import AnyArray, Int64Array
    from tfrecord_lite.block import Block
    from tfrecord_lite.example.survey import KindLists
    from tfrecord_lite.options import ReadOptions
    from tfrecord_lite.progress import Progress
    from tfrecord_lite.storage.infer import Source

_MANY = 8192
"""Numbers are counted when so many of a feature have been gathered: each time has a cost of its own."""
_MAX_MALFORMED = 1000


def compute_statistics(
    data: Source | Any,
    *,
    num_records: int | None = None,
    progress: Progress = None,
    **options: Unpack[ReadOptions],
) -> Statistics:
    """Compute the statistics of each feature: presence, lengths, distributions, the most frequent strings.

    Parameters
    ----------
    data : path, TFRecordReader, Block, or list of bytes
        Files as :class:`TFRecordReader` takes them, read one after the other and never held in memory; or
        a reader; or serialised Examples or SequenceExamples.
    num_records : int, optional
        Examine only this many records from the start; later ones are not read.
    progress : bool or callable, optional
        As for :func:`load`; the unit is records.
    **options
        How files are read, see :class:`ReadOptions`.

    Returns
    -------
    Statistics

    Raises
    ------
    DataLossError
        If a file is damaged, unless `on_error` says otherwise.
    InvalidArgumentError
        ``MALFORMED`` for a record that is neither an Example nor a SequenceExample;
        ``UNSUPPORTED`` for lists of Examples;
        ``BAD_ARGUMENT`` if `num_records` is not positive.
    TypeError
        For data of another type.

    Notes
    -----
    Takes up to some times as long as parsing all features. Memory does not grow with the data: up to 100 KB per
    feature of numbers, and up to 2 MB per feature of byte strings that have many different values.

    If some records have feature lists, all are SequenceExamples: those without lists have an Example's bytes.

    Examples
    --------
    >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> statistics = compute_statistics(people)
    >>> print(statistics)
    3 records
    name  kind    present  length  mean  std       min  median  max
    ----  ------  -------  ------  ----  --------  ---  ------  ---
    age   int64   100 %    1       38    2.16      36   37      41
    name  string  100 %    1       4 B   0.8165 B  3 B  4 B     5 B
    >>> statistics["age"].numbers.mean
    38.0
    """
    num_records = None if num_records is None else require_int("num_records", num_records, 1)
    check_progress(progress)
    settings = ReadSettings(**options)
    collector = Collector()
    # Otherwise the file would stay open for as long as an error's traceback is referenced.
    with closing(blocks_of(data, settings, num_records, progress)) as blocks:
        for block in blocks:
            collector.add(block)
    return collector.statistics()


class Collector:
    """Collect the statistics of records, block after block; not thread-safe.

    With `skip_malformed`, records that cannot be examined are left out and counted, up to 1,000.
    """

    def __init__(self, *, skip_malformed: bool = False) -> None:
        self._survey = Survey(self, accept_mixed=True)
        self._skip_malformed = skip_malformed
        self._gathered: dict[tuple[bytes, bool], _Gathered] = {}
        self.malformed: list[InvalidArgumentError] = []
        """The errors about the records that were left out."""

    def add(self, block: Block) -> None:
        """Examine the records of a block, which is not kept."""
        self._add(block, 0)

    def _add(self, block: Block, first: int) -> None:
        """Examine the records of a part of a block, of which the first has the number `first` there."""
        try:
            self._survey.add(block)
        except InvalidArgumentError as error:
            if not self._skip_malformed or len(self.malformed) >= _MAX_MALFORMED:
                raise
            if len(block) == 1:
                index = first if error.source is None else error.index
                self.malformed.append(error.at(index=index))
                return
            middle = len(block) // 2
            self._add(block[:middle], first)
            self._add(block[middle:], first + middle)

    def add_lists(self, lists: KindLists) -> None:
        """Take the lists of one kind of one feature, from the survey."""
        self._of(lists.key, is_list=lists.is_step).add(lists)

    def add_steps(self, key: bytes, n_steps: Int64Array) -> None:
        """Take the numbers of steps of one feature list, from the survey."""
        self._of(key, is_list=True).steps.add(n_steps)

    def _of(self, key: bytes, *, is_list: bool) -> _Gathered:
        place = key, is_list
        if place not in self._gathered:
            self._gathered[place] = _Gathered()
        return self._gathered[place]

    def statistics(self) -> Statistics:
        """Return the statistics so far."""
        summary = self._survey.summary()
        if not isinstance(summary, SequenceSummary):
            features = {name: self._feature(name, found) for name, found in summary.items()}
            return Statistics(summary.n_records, features)
        context = {name: self._feature(name, found) for name, found in summary.context.items()}
        lists = {
            name: self._feature(name, found, is_list=True)
            for name, found in summary.feature_lists.items()
        }
        return Statistics(summary.n_records, context, lists, is_sequence=True)

    def _feature(self, name: str, summary: Any, *, is_list: bool = False) -> FeatureStatistics:
        found = self._gathered.get((name.encode(), is_list)) or _Gathered()
        numbers = found.numbers.distribution()
        steps = found.steps.distribution() if is_list else None
        lengths = found.lengths.distribution()
        return FeatureStatistics(
            summary, lengths, numbers if numbers.count else None, found.strings, steps
        )


class _Numbers:
    """Numbers that are gathered, and counted when they are many."""

    def __init__(self) -> None:
        self._distribution = Distribution()
        self._waiting: list[AnyArray] = []
        self._n_waiting = 0

    def add(self, numbers: AnyArray) -> None:
        if numbers.size >= _MANY:
            self._distribution = self._distribution.plus(numbers)
            return
        # A copy, since the array shares the memory of its block, and may be changed by the next one.
        self._waiting.append(numbers.copy())
        self._n_waiting += numbers.size
        if self._n_waiting >= _MANY:
            self._count()

    def _count(self) -> None:
        by_dtype: dict[np.dtype[Any], list[AnyArray]] = {}
        for numbers in self._waiting:
            by_dtype.setdefault(numbers.dtype, []).append(numbers)
        for parts in by_dtype.values():
            self._distribution = self._distribution.plus(np.concatenate(parts))
        self._waiting, self._n_waiting = [], 0

    def add_repeated(self, number: int, times: int) -> None:
        self._distribution += Distribution.repeated(number, times)

    def distribution(self) -> Distribution:
        self._count()
        return self._distribution


class _Gathered:
    """What was gathered of one feature."""

    def __init__(self) -> None:
        self.lengths, self.steps, self.numbers = _Numbers(), _Numbers(), _Numbers()
        self.strings: StringStatistics | None = None

    def add(self, lists: KindLists) -> None:
        flat: Any = lists.flat
        if isinstance(lists.counts, int):
            self.lengths.add_repeated(lists.counts, lists.n_lists)
        else:
            self.lengths.add(lists.counts)
        if isinstance(flat, ByteRanges) or flat.dtype == object:
            if len(flat):
                before = self.strings
                self.strings = StringStatistics.of(flat) if before is None else before.plus(flat)
        elif flat.size:
            self.numbers.add(flat)
