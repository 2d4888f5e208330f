"""Adapters to other libraries, one module for each.

``indexed`` is shared by torch and Grain, ``engines`` by Ray, Beam, Spark and Dask; ``spark_files`` has folders as Spark
lays them out. pandas and polars are adapters of ``convert/arrow``.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from tfrecord_lite.lazy import modules_of as _modules_of

if not _TYPE_CHECKING:
    __getattr__: _Any = _modules_of(__name__)
