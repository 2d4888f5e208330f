"""Errors for the names of TensorFlow that are not here, with what to use instead."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from importlib.machinery import ModuleSpec

_PACKAGE = __name__.rpartition(".")[0]
_LIBRARY = str(Path(__file__).parents[1])
_IS_NOT_HERE = "is not part of tfrecord_lite"

_MISSPELT = 0.85
"""From this ratio on a name is a misspelling: TensorFlow has other names that are almost as close."""

_NUMPY = "use NumPy on the array that .numpy() returns"
_MODEL = "use TensorFlow itself, torch, jax or scikit-learn for models; see examples/train_*.py"
_IMAGE = "use Pillow on the array that .numpy() returns; see examples/imagenet_pipeline.py"
_EAGER = "leave it out, as everything here runs eagerly"
HINTS = {
    "app": "use argparse, or absl",
    "autograph": _EAGER,
    "config": "leave it out, as there are no devices here",
    "flags": "use argparse, or absl",
    "gfile": "use tf.io.gfile",
    "logging": "use Python's logging",
    "version": "use tf.__version__",
    "GradientTape": _MODEL,
    "Graph": _EAGER,
    "Session": _EAGER,
    "Variable": _MODEL,
    "distribute": "use Dataset.shard to give each rank its part",
    "estimator": _MODEL,
    "feature_column": _MODEL,
    "function": _EAGER,
    "image": _IMAGE,
    "keras": _MODEL,
    "nn": _MODEL,
    "random": _NUMPY,
    "saved_model": _MODEL,
    "sequence_mask": "use np.arange(maxlen) < lengths.numpy()[..., None]",
    "strings": "use the methods of Python's bytes and str on what .numpy() returns",
    "summary": "use tfrecord_lite.read_events to read event files",
}
"""What to use instead of names at the top level; NumPy for any other."""


Unavailable: TypeAlias = "Callable[[str], NoReturn]"
"""What looks a missing name up."""


def unavailable_error(path: str, hint: str, obj: object = None) -> AttributeError:
    """Return the error about a name that is not here, for the caller to raise."""
    name = path.rpartition(".")[2]
    return AttributeError(f"{path} {_IS_NOT_HERE}: {hint}", name=name, obj=obj)


def hint_for(name: str, names: Iterable[str], hints: Mapping[str, str], otherwise: str) -> str:
    """Return what to use instead of a name: of `hints`, or the name it is a misspelling of."""
    close = [] if name in hints else get_close_matches(name, names, 1, _MISSPELT)
    return f"did you mean {close[0]!r}?" if close else hints.get(name, otherwise)


def is_unavailable(error: AttributeError) -> bool:
    """Return whether an error is about a name that is not here."""
    return _IS_NOT_HERE in str(error)


def shortened(error: AttributeError) -> AttributeError:
    """Leave the user's frames alone in the traceback of an error."""
    frames = []
    frame = error.__traceback__
    while frame is not None:
        if not frame.tb_frame.f_code.co_filename.startswith(_LIBRARY):
            frames.append(frame)
        frame = frame.tb_next
    kept: TracebackType | None = None
    for frame in reversed(frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return error.with_traceback(kept)


class _HintingFinder(MetaPathFinder):
    """Raises an ImportError with a hint where a name that is not here is imported."""

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        """Reject modules of this package that no other finder has found."""
        parent, _, name = fullname.rpartition(".")
        if not f"{parent}.".startswith(f"{_PACKAGE}.") or name.startswith("_"):
            return None
        module = sys.modules.get(parent)
        try:
            getattr(module, name)
        except AttributeError as error:
            if is_unavailable(error):
                raise ImportError(str(error), name=fullname) from None
        return None


def unavailable(
    module: str, hints: Mapping[str, str] | None = None, otherwise: str = _NUMPY
) -> Unavailable:
    """Return the ``__getattr__`` of a module that has only some of TensorFlow's names."""
    where = module.removeprefix("tfrecord_lite.")

    def __getattr__(name: str) -> NoReturn:  # noqa: N807 - the module's
        if name.startswith("__"):  # looked up by Python, not by a script
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        hint = hint_for(name, sys.modules[module].__all__, hints or {}, otherwise)
        raise unavailable_error(f"{where}.{name}", hint)

    return __getattr__


sys.meta_path.append(_HintingFinder())
