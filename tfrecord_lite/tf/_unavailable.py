"""Errors about what TensorFlow has and is not here, with what to use instead."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import NoReturn, TypeAlias

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason

_MISSPELT = 0.85
"""From this ratio on a name is a misspelling: TensorFlow has other names that are almost as close."""

_ARRAY = "on the array that .numpy() returns"
_MODEL = "use TensorFlow itself, torch, jax or scikit-learn for models; see examples/train_torch.py"
_IMAGE = "use Pillow on the array that .numpy() returns; see examples/imagenet_pipeline.py"
_EAGER = "leave it out, as everything here runs eagerly"
_MODELS = ("GradientTape", "Variable", "estimator", "feature_column", "keras", "nn", "saved_model")
_MODES = ("disable_eager_execution", "enable_eager_execution", "enable_v2_behavior")
_GRAPHS = ("Graph", "Session", "autograph", "function")
HINTS = dict.fromkeys(_MODELS, _MODEL) | dict.fromkeys((*_MODES, *_GRAPHS), _EAGER)
HINTS |= {
    "app": "use argparse, or absl",
    "config": "leave it out, as there are no devices here",
    "debugging": "use assert, or numpy.testing, " + _ARRAY,
    "distribute": "use Dataset.shard to give each rank its part",
    "flags": "use argparse, or absl",
    "gfile": "use tf.io.gfile",
    "image": _IMAGE,
    "logging": "use Python's logging",
    "lookup": "use a dict, or np.searchsorted " + _ARRAY,
    "newaxis": "use None, or np.newaxis",
    "print": "use Python's print, as values are here at once",
    "random": "use np.random.default_rng(seed)",
    "sequence_mask": "use np.arange(maxlen) < lengths.numpy()[..., None]",
    "strings": "use the methods of Python's bytes and str on what .numpy() returns",
    "summary": "use tfrecord_lite.apps.events.read_events to read event files",
    "test": "use pytest or unittest",
    "version": "use tf.__version__",
}
"""What to use instead of names at the top level."""


Unavailable: TypeAlias = Callable[[str], NoReturn]
"""What looks a missing name up."""
Hints: TypeAlias = Mapping[str, str]
"""What to use instead of names."""


def unsupported(detail: str) -> InvalidArgumentError:
    """Return the ``UNSUPPORTED`` error, for the caller to raise."""
    return InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)


def shape_error(detail: str) -> InvalidArgumentError:
    """Return the ``BAD_SHAPE`` error, for the caller to raise."""
    return InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)


def unavailable_error(
    path: str, names: Iterable[str], hints: Hints, advice: str, obj: object = None
) -> AttributeError:
    """Return the error about a name that is not here: it says what to use instead.

    That is the name of which it is a misspelling, a hint for this name, or `advice`.
    """
    name = path.rpartition(".")[2]
    close = [] if name in hints else get_close_matches(name, names, 1, _MISSPELT)
    hint = f"did you mean {close[0]!r}?" if close else hints.get(name, advice)
    return AttributeError(f"{path} is not part of tfrecord_lite: {hint}", name=name, obj=obj)


def unavailable(module: str, advice: str = "", hints: Hints | None = None) -> Unavailable:
    """Return the ``__getattr__`` of a module that has only some of TensorFlow's names."""

    def __getattr__(name: str) -> NoReturn:  # noqa: N807 - the module's
        if name.startswith("__"):  # looked up by Python, not by a script
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        path, names = f"{module}.{name}", sys.modules[module].__all__
        raise unavailable_error(
            path.removeprefix("tfrecord_lite."), names, hints or {}, advice or _nearest(name)
        )

    return __getattr__


def _nearest(name: str) -> str:
    """Return what to use instead of a name without a hint: a module here, or NumPy, may have it."""
    for module in ("io", "data", "train", "sparse", "data.experimental"):
        if name in getattr(sys.modules.get(f"tfrecord_lite.tf.{module}"), "__all__", ()):
            return f"did you mean tf.{module}.{name}?"
    if hasattr(np, name):
        return f"use np.{name} {_ARRAY}"
    return f"use NumPy {_ARRAY}, or TensorFlow itself"
