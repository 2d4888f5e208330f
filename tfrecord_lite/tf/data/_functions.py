"""A script's functions of tensors, turned into functions of plain values.

The results can be pickled if the script's functions can.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.tf._ops import TensorSpec, is_tensor
from tfrecord_lite.tf._tensor import fits, plain_array, unwrap, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Calling:
    """A function of tensors, turned into one of plain values."""

    function: Callable[..., Any]

    def __call__(self, *parts: Any) -> Any:
        made = self.function(*map(wrap, parts))
        # In tf.data, a list of tensors is a tuple, and any other list is one tensor.
        is_parts = isinstance(made, list) and any(map(is_tensor, made))
        return unwrap(tuple(made) if is_parts else made)


@dataclass(frozen=True)
class Generating:
    """A generator of anything, turned into one of plain values of the given specs."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    specs: Any

    def __call__(self) -> Iterator[Any]:
        for element in self.function(*self.arguments):
            yield _as_specified(element, self.specs)


def _as_specified(element: Any, specs: Any) -> Any:
    if isinstance(specs, dict):
        return {name: _as_specified(element[name], spec) for name, spec in specs.items()}
    if isinstance(specs, tuple):
        pairs = zip(element, specs, strict=True)
        return tuple(_as_specified(item, spec) for item, spec in pairs)
    array = plain_array(element, specs.dtype)
    if specs.shape is not None and not fits(np.shape(array), specs.shape):
        detail = (
            f"the generator yielded an element of shape {np.shape(array)}, expected {specs.shape}"
        )
        raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)
    return array


@dataclass(frozen=True)
class One:
    """A generator of one element."""

    element: Any

    def __call__(self) -> Iterator[Any]:
        yield self.element


def numbered(number: int, element: Any) -> Any:
    """Pair an element with its number, for ``enumerate``."""
    return np.int64(number), element


def specs_of(types: Any, shapes: Any) -> Any:
    """Return TensorSpecs in the structure of `types`; all shapes are unknown if `shapes` is None."""
    if isinstance(types, dict):
        return {name: specs_of(each, shapes and shapes[name]) for name, each in types.items()}
    if isinstance(types, (tuple, list)):
        parts = [None] * len(types) if shapes is None else shapes
        return tuple(specs_of(each, part) for each, part in zip(types, parts, strict=True))
    return TensorSpec(shapes, types)
