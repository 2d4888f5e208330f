"""Adapters to other libraries, which are imported when a function is called.

::

    beam           pipelines of Apache Beam read files and write shards
    dask           data frames and bags of Dask: read_tfrecord, read_records, to_tfrecord
    duckdb         queries over files in SQL, conditions on batches
    grain          Examples as Grain's sources and iterable data sets
    keras          records as Keras' data sets of batches
    pandas         its frames and columns, for convert/arrow
    polars         the same, and lazy frames: scan(...).to_polars(lazy=True)
    ray            data sets of Ray Data: read_tfrecords, write_tfrecords
    spark          record files as a data source of Spark; spark_files: folders as Spark lays them out
    torch          data sets and files as torch's data sets of tensors
    indexed        Examples by number, for torch and Grain
    engines        what Ray, Beam, Spark and Dask share
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from tfrecord_lite.lazy import modules_of as _modules_of

if not _TYPE_CHECKING:
    __getattr__: _Any = _modules_of(__name__)
