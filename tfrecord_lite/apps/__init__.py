"""What stands on the codec, written nearly as a user would write it.

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

An app imports the public names and the doors of the codec (the contract in pyproject.toml lists
them, and what else is open to whom), and of
the other apps only ``tables``, ``statistics`` and ``markup``. Nothing in the codec imports an app.
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
