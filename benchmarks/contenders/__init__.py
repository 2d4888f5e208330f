"""A module per library: `OPERATIONS`, `flat` (values to check), and `settings` where there is a choice.

Each operation has the same name and the same arguments in every module that has it. An operation
that a library cannot do for some data raises NotImplementedError.
"""

from __future__ import annotations

from typing import NamedTuple


class Library(NamedTuple):
    """A library, and how to get it."""

    title: str
    install: str
    note: str = ""
    """What has to be known to judge its figures."""
    module: str = ""
    """The module here, if it has another name."""


_NO_CRC = "checks no CRC"

LIBRARIES = {
    "tfrecord_lite": Library("tfrecord_lite", "pip install -e '.[fast]' pyarrow"),
    "before": Library("tfrecord_lite, before", "--before FOLDER", module="tfrecord_lite"),
    "tensorflow": Library("TensorFlow", "pip install 'tensorflow-cpu==2.21.*' pyarrow"),
    "tfx_bsl": Library("tfx-bsl", "pip install tfx-bsl==1.21.0"),
    "tfrecord": Library("tfrecord", "pip install tfrecord", _NO_CRC),
    "tfrecords": Library("tfrecords", "pip install tfrecords"),
    "tfd_utils": Library("tfd-utils", "pip install tfd-utils", _NO_CRC),
    "rustfrecord": Library("rustfrecord", "pip install rustfrecord", _NO_CRC),
    "dareblopy": Library("dareblopy", "pip install dareblopy  # Python 3.8"),
    "grain": Library("Grain", "pip install grain", _NO_CRC),
    "ray": Library("Ray", "pip install 'ray[data]' 'tensorflow-cpu==2.21.*' crc32c isal"),
    "beam": Library("Beam", "pip install apache-beam crc32c isal"),
    "dask": Library("Dask", "pip install 'dask[dataframe,distributed]' crc32c isal"),
    "tensorboard": Library("TensorBoard", "pip install tensorboard"),
    "floor": Library("os.write alone", ""),
}
