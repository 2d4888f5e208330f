"""How the values of each feature are distributed.

::

    collect       compute_statistics: records, block by block, to
    statistics    Statistics: what is known of each feature
      distribution, strings    of its numbers, and of its byte strings
      shown     their charts and plots
    comparison    compare: two data sets, and what differs as text
      drift       what is different about features, beyond thresholds
      differences records that differ, one by one
    sampling      draw_sample: some records of files of any size
"""

from __future__ import annotations

from tfrecord_lite.apps.statistics.collect import compute_statistics
from tfrecord_lite.apps.statistics.comparison import Comparison, compare
from tfrecord_lite.apps.statistics.differences import RecordDifference, RecordDifferences
from tfrecord_lite.apps.statistics.distribution import Distribution
from tfrecord_lite.apps.statistics.drift import Finding
from tfrecord_lite.apps.statistics.statistics import FeatureStatistics, Statistics
from tfrecord_lite.apps.statistics.strings import StringStatistics

__all__ = [
    "Comparison",
    "Distribution",
    "FeatureStatistics",
    "Finding",
    "RecordDifference",
    "RecordDifferences",
    "Statistics",
    "StringStatistics",
    "compare",
    "compute_statistics",
]
