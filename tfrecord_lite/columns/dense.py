"""What to fill the gaps of a dense array with, when a ragged or sparse one becomes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason


def fill_value(default: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """Return what :func:`numpy.full` is to fill an array with.

    Parameters
    ----------
    default : scalar or array-like, optional
        None for zero, or ``b""``.
    dtype : dtype
        Of the array to fill.
    shape : tuple of int
        What `default` must be a scalar for, or broadcast to without more dimensions.

    Returns
    -------
    dtype, shape of `default`; or bytes
        Never a changed value: what does not fit is refused.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for a shape or a number that does not fit.
    TypeError
        For a default of another kind: a float for integers, a number for strings.
    """
    if dtype.kind == "O":
        if not isinstance(default, bytes | str | None):
            raise TypeError(f"default_value must be bytes, not {type(default).__name__}")
        return default.encode() if isinstance(default, str) else default or b""
    given = np.asarray(0 if default is None else default)
    kinds = "biufc"
    if given.dtype.kind not in kinds or kinds.index(given.dtype.kind) > max(
        kinds.index(dtype.kind), kinds.index("u")
    ):
        raise TypeError(f"default_value must be {dtype}, not {given.dtype}")
    try:
        fits = given.ndim <= len(shape) and np.broadcast_shapes(given.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        detail = f"default_value of shape {given.shape} for elements of shape {shape}"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    if dtype.kind in "iu" and given.size:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        if not (low <= int(given.min()) and int(given.max()) <= high):
            detail = f"default_value does not fit into {dtype}"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    with np.errstate(over="ignore"):
        return given.astype(dtype)
