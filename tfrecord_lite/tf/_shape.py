"""Shapes of tensors, whose sizes may be unknown."""

from __future__ import annotations

from typing import Any

import numpy as np


class TensorShape(tuple[int | None, ...]):
    """A shape, as ``tf.TensorShape``: a tuple of sizes, None where unknown."""

    __slots__ = ()

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self)

    ndims = rank

    def as_list(self) -> list[int | None]:
        """Return the sizes."""
        return list(self)

    def num_elements(self) -> int | None:
        """Return the number of elements; None if a size is unknown."""
        return None if None in self else int(np.prod(self, dtype=np.int64))  # type: ignore[arg-type]

    def is_fully_defined(self) -> bool:
        """Return whether every size is known."""
        return None not in self

    def __eq__(self, other: object) -> bool:
        """Compare with any tuple or list."""
        return isinstance(other, (tuple, list)) and tuple(self) == tuple(other)

    def __ne__(self, other: object) -> bool:
        """Compare with any tuple or list."""
        return not self == other

    def __hash__(self) -> int:
        """Hash as a tuple."""
        return tuple.__hash__(self)

    def __str__(self) -> str:
        """Format as a tuple."""
        return tuple.__repr__(self)

    def __repr__(self) -> str:
        """Format as TensorFlow does."""
        return f"TensorShape({list(self)})"


def fits(found: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    """Return whether a shape equals the wanted one, in which None is any size."""
    return len(found) == len(wanted) and all(
        want is None or have == want for have, want in zip(found, wanted, strict=True)
    )
