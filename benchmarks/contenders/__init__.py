"""A module per library: `OPERATIONS`, `flat` (values to check), and `settings` where there is a choice.

Each operation has the same name and the same arguments in every module that has it.
"""

from __future__ import annotations

from typing import NamedTuple


class Library(NamedTuple):
    """A library, and how to get it."""

    title: str
    module: str
    """What has to be there to import."""
    install: str


LIBRARIES = {
    "tfrecord_lite": Library("tfrecord_lite", "tfrecord_lite", "pip install -e '.[fast]'"),
    "tensorflow": Library(
        "TensorFlow", "tensorflow", "pip install 'tensorflow-cpu==2.21.*' pyarrow"
    ),
    "floor": Library("os.write alone", "os", ""),
    "before": Library("tfrecord_lite, before", "tfrecord_lite", "--before FOLDER"),
}
