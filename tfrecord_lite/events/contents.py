"""One value that is not a number, from the bytes it is stored as.

A new-style value is a tensor, and what its elements mean the plugin says; an old-style
one is a message of its own. One function a kind takes both.

Sources: TensorBoard's ``summary.proto``, its ``data_compat`` module and the ``metadata``
modules of its plugins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.events.values import AUDIO, HISTO, IMAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    from google.protobuf.message import Message

    from tfrecord_lite.arrays import AnyArray, ObjectArray

    AnyMessage = TypeVar("AnyMessage", bound=Message)

_SIZE_DIGITS = 19
"""A width has no more: of 64 bits, as the widest numbers in these messages."""


@dataclass(frozen=True, slots=True)
class Image:
    """One or more images of one step, as they are encoded."""

    width: int
    height: int
    encoded: tuple[bytes, ...]
    """Usually PNG; :func:`decode_image` makes arrays of them."""


def decode(kind: str, form: int, content: bytes | np.float32) -> Any:
    """Make a value of what is stored.

    Parameters
    ----------
    kind : str
        One of :data:`~.series.KINDS`; what a tensor is to become.
    form : int
        Number of the field that held it.
    content : bytes or float32
        The bytes of a message, or the number that a tensor was found to be.

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED`` for what is not of that kind; as :func:`parse_tensor`.
    """
    from tfrecord_lite.tensors.parse import parse_tensor  # noqa: PLC0415 - seldom needed

    if isinstance(content, bytes) and form in _OLD_STYLES:
        return _OLD_STYLES[form](content)
    array = parse_tensor(content) if isinstance(content, bytes) else np.array(content)
    return _NEW_STYLES[kind](array)


def _tensor(array: AnyArray) -> AnyArray:
    return array


def _scalar(array: AnyArray) -> float:
    if array.size != 1 or not _is_real(array):
        raise _misfit("a scalar is one number", array)
    return float(array.item())


def _histogram(array: AnyArray) -> npt.NDArray[np.float64]:
    if array.ndim != 2 or array.shape[1] != 3 or not _is_real(array):
        raise _misfit("a histogram is numbers of the shape [k, 3]", array)
    return array.astype(np.float64)


def _images(array: AnyArray) -> Image:
    texts = array.tolist() if array.ndim == 1 and array.dtype == object else []
    if len(texts) < 2 or not all(map(_is_size, texts[:2])):
        raise _misfit("images are strings: a width, a height, and one for each image", array)
    return Image(int(texts[0]), int(texts[1]), tuple(texts[2:]))


def _is_real(array: AnyArray) -> bool:
    """Whether these are numbers that a float can stand for."""
    return array.dtype.kind not in "Oc"


def _is_size(text: bytes) -> bool:
    """Whether this is the width or height of an image; Python refuses very long numbers."""
    return text.isdigit() and len(text) <= _SIZE_DIGITS


def _audio(array: AnyArray) -> tuple[bytes, ...]:
    if array.dtype != object or array.ndim not in {1, 2} or array.shape[1:] not in {(), (1,), (2,)}:
        raise _misfit("audio is strings of the shape [k] or [k, 2]: clips, and labels", array)
    return tuple(array if array.ndim == 1 else array[:, 0])


def _text(array: AnyArray) -> str | ObjectArray:
    if array.dtype != object:
        raise _misfit("a text is strings", array)
    texts = np.empty(array.size, object)
    texts[:] = [text.decode("utf-8", "surrogateescape") for text in array.ravel()]
    return str(texts[0]) if array.size == 1 else texts.reshape(array.shape)


def _misfit(expected: str, found: AnyArray) -> InvalidArgumentError:
    dtype = "strings" if found.dtype == object else found.dtype
    detail = f"{expected}; found {dtype} of the shape {list(found.shape)}"
    return InvalidArgumentError(Reason.MALFORMED, detail=detail)


def _old_histogram(stored: bytes) -> npt.NDArray[np.float64]:
    """Return left edge, right edge and count of the buckets, those at the ends not empty."""
    from tfrecord_lite.messages import HistogramProto  # noqa: PLC0415 - not light

    histogram = _parsed(HistogramProto, stored)
    counts, limits = np.array(histogram.bucket), np.array(histogram.bucket_limit)
    if counts.size != limits.size:
        detail = f"a histogram of {counts.size} counts and {limits.size} limits"
        raise InvalidArgumentError(Reason.MALFORMED, detail=detail)
    filled = np.flatnonzero(counts > 0)
    if not filled.size:
        return np.empty((0, 3))
    first, last = int(filled[0]), int(filled[-1])
    inner = limits[first:last]
    lefts, rights = np.append(histogram.min, inner), np.append(inner, histogram.max)
    return np.stack([lefts, rights, counts[first : last + 1]], 1)


def _old_image(stored: bytes) -> Image:
    from tfrecord_lite.messages import Summary  # noqa: PLC0415 - not light

    image = _parsed(Summary.Image, stored)
    return Image(image.width, image.height, (image.encoded_image_string,))


def _old_audio(stored: bytes) -> tuple[bytes, ...]:
    from tfrecord_lite.messages import Summary  # noqa: PLC0415 - not light

    return (_parsed(Summary.Audio, stored).encoded_audio_string,)


def _parsed(message_class: type[AnyMessage], stored: bytes) -> AnyMessage:
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - not light

    try:
        return message_class.FromString(stored)
    except (DecodeError, UnicodeDecodeError):
        detail = f"no {message_class.DESCRIPTOR.full_name}"
        raise InvalidArgumentError(Reason.MALFORMED, detail=detail) from None


_OLD_STYLES: dict[int, Callable[[bytes], Any]] = {
    IMAGE: _old_image,
    HISTO: _old_histogram,
    AUDIO: _old_audio,
}
_NEW_STYLES: dict[str, Callable[[AnyArray], Any]] = {
    "scalars": _scalar,
    "histograms": _histogram,
    "images": _images,
    "audio": _audio,
    "texts": _text,
    "tensors": _tensor,
}
