"""TFRecordOptions and TFRecordCompressionType, with TensorFlow's names and rules (O1, O2, O8).

No I/O. What the options mean for a compressor is said in :mod:`tfrecord_lite.files.compression`.
"""

from __future__ import annotations

import contextlib
import operator
import zlib
from enum import IntEnum
from typing import TypeAlias, cast

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.files.compression import CODECS, MEM_LEVEL, Settings

__all__ = ["CompressionType", "TFRecordCompressionType", "TFRecordOptions", "whole_number"]


def whole_number(name: str, value: object) -> int:
    """Return an argument as int.

    Raises
    ------
    TypeError
        If it is no whole number, or only a float, text or bool that looks like one.
    """
    try:
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise TypeError(f"{name} must be a whole number, not {type(value).__name__}")


class TFRecordCompressionType(IntEnum):
    """The compressions TensorFlow knows, by its numbers (rule O1)."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


CompressionType: TypeAlias = "TFRecordOptions | TFRecordCompressionType | str | int | None"
"""Every way to name a compression: ``"GZIP"``, 2, an options object, None for none."""


class TFRecordOptions:
    """How a file is, or is to be, compressed.

    Parameters
    ----------
    compression_type : str, int, TFRecordCompressionType, TFRecordOptions or None
        ``""`` or None for none, ``"ZLIB"``, ``"GZIP"``; also ``"ZSTD"`` and
        ``"BZ2"``, which TensorFlow cannot read.
    flush_mode : int, optional
        What a ``flush`` writes: ``zlib.Z_SYNC_FLUSH`` or ``zlib.Z_FULL_FLUSH``
        instead of ``Z_PARTIAL_FLUSH``, which is TensorFlow's and is the default.
    input_buffer_size, output_buffer_size : int, optional
        Kept and not used: sizes of TensorFlow's buffers, which do not change a file.
    window_bits : int, optional
        Passed to zlib as it is, so 31 makes a ZLIB writer write gzip and a
        negative number raw deflate (rule O8).
    compression_level : int, optional
        0 to 9, or -1 for zlib's default; for ZSTD and BZ2 their own levels.
    compression_method, mem_level, compression_strategy : int, optional
        Passed to zlib as they are.

    Attributes
    ----------
    compression_type, flush_mode, ...
        Each parameter, exactly as it was passed.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for an unknown `compression_type` (rule O2).

    Notes
    -----
    Readers use the compression type and nothing else (rule O9).

    Examples
    --------
    >>> options = TFRecordOptions("GZIP", compression_level=9)
    >>> TFRecordOptions.get_compression_type_string(options)
    'GZIP'
    """

    def __init__(
        self,
        compression_type: CompressionType = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: CompressionType) -> str:
        """Return the compression as a string, ``""`` for none (rule O2).

        Parameters
        ----------
        options : str, int, TFRecordCompressionType, TFRecordOptions or None
            Any way to name a compression.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT``, as ValueError in TensorFlow.
        """
        while isinstance(options, TFRecordOptions):
            options = options.compression_type
        if not options:
            return ""
        if isinstance(options, str) and options in CODECS:
            return options
        with contextlib.suppress(ValueError):
            number = cast("int", options)  # of any type that equals one
            return TFRecordCompressionType(number).name
        detail = f"not a valid compression_type: {options!r}; expected '', " + ", ".join(
            map(repr, CODECS)
        )
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)

    def settings(self) -> Settings:
        """Return what a compressor is told."""
        flushes = (zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH)
        return Settings(
            level=self.compression_level,
            method=zlib.DEFLATED if self.compression_method is None else self.compression_method,
            window_bits=self.window_bits,
            mem_level=MEM_LEVEL if self.mem_level is None else self.mem_level,
            strategy=self.compression_strategy or zlib.Z_DEFAULT_STRATEGY,
            flush_mode=self.flush_mode if self.flush_mode in flushes else zlib.Z_PARTIAL_FLUSH,
        )
