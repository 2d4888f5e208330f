"""Apps on top of the codec, written nearly as a user would write them.

::

    tables      lazy Arrow tables; files converted to and from other formats
    statistics  how values are distributed, and how two data sets differ
    rearrange   files merged, split, shuffled, sampled, filtered
    viewer      one page about any file
    images      encoded images to pixels and back; folders of images to files and back
    events      TensorBoard's event files
    tfds        directories of TensorFlow Datasets
    notebook    batches and objects of the codec as tables, an extension for IPython
    markup      HTML and SVG as text, for all of them
    outline     the features or fields of one message in rows
    endings     formats of files, by their names

An app imports public names and those of ``tfrecord_lite.extension``, and of the other apps only
``tables``, ``statistics``, ``markup``, ``outline``
and ``endings``. Nothing in the codec imports an app.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from tfrecord_lite.lazy import modules_of as _modules_of

if not _TYPE_CHECKING:
    __getattr__: _Any = _modules_of(__name__)
