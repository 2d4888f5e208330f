"""The switch for the compiled kernels, which are off unless somebody asks for them.

``enable_jit()``, or ``TFRECORD_LITE_JIT=1`` in the environment, loads numba (the extra ``jit``), and
with it :mod:`tfrecord_lite.kernels`: a handful of loops that take the place of the NumPy code where
that needs several passes. Results and errors are the same; only the time differs.

The code that has a kernel asks each time::

    if jit.kernels is not None: ...
"""

from __future__ import annotations

import os
from types import ModuleType

VARIABLE = "TFRECORD_LITE_JIT"
_OFF = ("", "0", "false", "no", "off")

kernels: ModuleType | None = None
""":mod:`tfrecord_lite.kernels` once it is enabled; None before."""


def enable_jit() -> None:
    """Use compiled kernels from now on, in this process.

    They save a third to a half of the processor time where numbers in lists, short steps of sequences
    or features in any order are read, and the loop over frames. The first use of each compiles it,
    which takes a second or so; numba keeps the result in a cache beside the package, or in
    ``NUMBA_CACHE_DIR``, for later processes, which take half a second to load numba and what they
    use. Processes that this one starts are to enable them for themselves: set
    ``TFRECORD_LITE_JIT=1`` in the environment instead.

    Raises
    ------
    ImportError
        Numba is not installed: ``pip install "tfrecord-numpy[jit]"``. Or it is older than the NumPy
        that is.
    RuntimeError
        Neither the package's folder nor the user's cache can be written: set ``NUMBA_CACHE_DIR``.

    Examples
    --------
    >>> enable_jit()  # the results are the same, the first use of a kernel takes a second
    >>> parse_example(encode_examples({"age": [36, 41, 37]}), {"age": int})
    {'age': array([36, 41, 37])}
    """
    global kernels  # noqa: PLW0603 - a switch of the process
    try:
        from tfrecord_lite import kernels as compiled  # noqa: PLC0415 - loads numba
    except ImportError as error:
        detail = f"the compiled kernels need numba ({error})"
        raise ImportError(f'{detail}: pip install "tfrecord-numpy[jit]"') from error
    except RuntimeError as error:  # there is no place for a cache
        raise RuntimeError(
            f"{error}; set NUMBA_CACHE_DIR to a folder that can be written"
        ) from error
    kernels = compiled


if os.environ.get(VARIABLE, "").strip().lower() not in _OFF:
    enable_jit()
