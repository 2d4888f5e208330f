"""Bridges to other libraries, which are imported when a function is called.

::

    beam           pipelines of Apache Beam read files and write shards
    dask           data frames and bags of Dask: read_tfrecord, read_records, to_tfrecord
    duckdb         queries over files in SQL, conditions on batches
    indexed        Examples by number, as torch and Grain have them
    grain          Examples as Grain's sources and iterable data sets
    keras          records as Keras' data sets of batches
    pandas         its frames and columns, for ``convert/arrow``
    polars         the same, and lazy frames: ``scan(...).to_polars(lazy=True)``
    ray            data sets of Ray Data: read_tfrecords, write_tfrecords
    spark          record files as a data source of Spark
    spark_files    folders of files as Spark lays them out
    engines        what Ray, Beam, Spark and Dask share
    torch          data sets and files as torch's data sets of tensors
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

if not _TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load a module of the package when it is first used."""
        place = f"{__name__}.{name}"
        try:
            return _import_module(place)
        except ModuleNotFoundError as error:
            if error.name != place:
                raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
