"""What is said about names of TensorFlow that are not here: that, and what to use."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["missing"]

_NUMPY = "NumPy does that, on what .numpy() gives"
_MODEL = "models are for TensorFlow itself, torch, jax or scikit-learn; see examples/train_*.py"
_IMAGE = "Pillow does that, on what .numpy() gives; see examples/imagenet_pipeline.py"
_EAGER = "everything here runs at once; leave it out"
HINTS = {
    "app": "use argparse, or absl",
    "autograph": _EAGER,
    "config": "there are no devices here; leave it out",
    "flags": "use argparse, or absl",
    "gfile": "use tf.io.gfile",
    "logging": "use Python's logging",
    "version": "use tf.__version__",
    "GradientTape": _MODEL,
    "Graph": _EAGER,
    "Session": _EAGER,
    "Variable": _MODEL,
    "distribute": "give each rank its part by Dataset.shard",
    "estimator": _MODEL,
    "feature_column": _MODEL,
    "function": _EAGER,
    "image": _IMAGE,
    "keras": _MODEL,
    "nn": _MODEL,
    "random": _NUMPY,
    "saved_model": _MODEL,
    "strings": "Python's bytes and str do that, on what .numpy() gives",
    "summary": "tfrecord_lite.read_events reads event files",
}
"""Of names at the top level; of the others it is NumPy, if nothing else is said."""


def missing(
    module: str, hints: Mapping[str, str] | None = None, otherwise: str = _NUMPY
) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a module whose names are only some of TensorFlow's."""
    where = module.removeprefix("tfrecord_lite.")

    def __getattr__(name: str) -> NoReturn:  # noqa: N807 - it becomes the module's
        if name.startswith("__"):  # asked for by Python, not by a script
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        hint = (hints or {}).get(name, otherwise)
        detail = f"{where}.{name} is not here, as {where} is for records alone: {hint}"
        raise AttributeError(detail, name=name)

    return __getattr__
