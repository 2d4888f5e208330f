"""How the values of each feature are distributed.

::

    statistics  compute_statistics: records, block by block, to what is known of each feature
    comparison  compare: two data sets, their features beyond thresholds, and their records
"""

from __future__ import annotations

from tfrecord_lite.apps.statistics.comparison import (
    Comparison,
    Finding,
    RecordDifference,
    RecordDifferences,
    compare,
)
from tfrecord_lite.apps.statistics.statistics import (
    Distribution,
    FeatureStatistics,
    Statistics,
    StringStatistics,
    compute_statistics,
)

__all__ = [
    "Comparison", "Distribution", "FeatureStatistics", "Finding", "RecordDifference", "RecordDifferences",
    "Statistics", "StringStatistics", "compare", "compute_statistics",
]  # fmt: skip
