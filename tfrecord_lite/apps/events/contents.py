"""Decode one stored value: a histogram, images, audio, a text or a tensor.

A new-style value is a tensor, whose meaning (its *category*) depends on its tag's plugin; an
old-style one is a message of its own type.

Sources: TensorBoard's ``summary.proto``, its ``data_compat`` module and the ``metadata``
modules of its plugins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tfrecord_lite.apps.events.parse import AUDIO, HISTO, IMAGE
from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    from google.protobuf.message import Message

    from tfrecord_lite.arrays import AnyArray, ObjectArray

    AnyMessage = TypeVar("AnyMessage", bound=Message)

_MAX_SIZE_DIGITS = 19
"""Digits of the largest width: 64 bits, as the widest numbers in these messages."""


@dataclass(frozen=True, slots=True)
class Image:
    r"""One or more encoded images of one step.

    Examples
    --------
    >>> from tfrecord_lite.messages import Event, Summary
    >>> image = Summary.Image(width=3, height=2, encoded_image_string=b"\x89PNG...")
    >>> value = Summary.Value(tag="sample", image=image)
    >>> with TFRecordWriter("events.out.tfevents.1.example") as writer:
    ...     writer.write(Event(step=7, summary=Summary(value=[value])).SerializeToString())
    >>> image = read_events(".").images("sample").value[0]
    >>> image.width, image.height, len(image.encoded)
    (3, 2, 1)
    """

    width: int
    height: int
    encoded: tuple[bytes, ...]
    """Usually PNG; :func:`decode_image` decodes them to arrays."""


def decode(
    category: str, form: int, content: bytes | np.float32, max_bytes: int | None = None
) -> Any:
    """Decode the message stored in the field `form` of a Value, or the number of a tensor.

    A tensor becomes a value of its category, one of :data:`~.series.CATEGORIES`. Raises
    ``MALFORMED`` if it does not fit that; otherwise as :func:`parse_tensor`, whose `max_bytes` may
    be given.
    """
    from tfrecord_lite.tensors.parse import (  # noqa: PLC0415 - seldom needed
        MAX_FILL_BYTES,
        parse_tensor,
    )

    if isinstance(content, bytes) and form in _OLD_STYLES:
        return _OLD_STYLES[form](content)
    if not isinstance(content, bytes):
        return _NEW_STYLES[category](np.array(content))
    limit = MAX_FILL_BYTES if max_bytes is None else max_bytes
    return _NEW_STYLES[category](parse_tensor(content, max_bytes=limit))


def _tensor(array: AnyArray) -> AnyArray:
    return array


def _scalar(array: AnyArray) -> float:
    if array.size != 1 or not _is_real(array):
        raise _shape_error("a scalar is one number", array)
    return float(array.item())


def _histogram(array: AnyArray) -> npt.NDArray[np.float64]:
    if array.ndim != 2 or array.shape[1] != 3 or not _is_real(array):
        raise _shape_error("a histogram is numbers of shape [k, 3]", array)
    return array.astype(np.float64)


def _images(array: AnyArray) -> Image:
    texts = array.tolist() if array.ndim == 1 and array.dtype == object else []
    if len(texts) < 2 or not all(map(_is_size, texts[:2])):
        raise _shape_error("images are strings: width, height, then one per image", array)
    return Image(int(texts[0]), int(texts[1]), tuple(texts[2:]))


def _is_real(array: AnyArray) -> bool:
    """Whether these are real numbers."""
    return array.dtype.kind not in "Oc"


def _is_size(text: bytes) -> bool:
    """Whether this is the width or height of an image; Python raises for very long numbers."""
    return text.isdigit() and len(text) <= _MAX_SIZE_DIGITS


def _audio(array: AnyArray) -> tuple[bytes, ...]:
    if array.dtype != object or array.ndim not in {1, 2} or array.shape[1:] not in {(), (1,), (2,)}:
        raise _shape_error("audio is strings of shape [k] or [k, 2] (clips, labels)", array)
    return tuple(array if array.ndim == 1 else array[:, 0])


def _text(array: AnyArray) -> str | ObjectArray:
    if array.dtype != object:
        raise _shape_error("a text is strings", array)
    texts = np.empty(array.size, object)
    texts[:] = [text.decode("utf-8", "surrogateescape") for text in array.ravel()]
    return str(texts[0]) if array.size == 1 else texts.reshape(array.shape)


def _shape_error(expected: str, found: AnyArray) -> InvalidArgumentError:
    dtype = "strings" if found.dtype == object else found.dtype
    detail = f"{expected}; found {dtype} of shape {list(found.shape)}"
    return InvalidArgumentError(Reason.MALFORMED, detail=detail)


def _old_histogram(stored: bytes) -> npt.NDArray[np.float64]:
    """Return left edge, right edge and count of the buckets, without empty ones at the ends."""
    from tfrecord_lite.messages import HistogramProto  # noqa: PLC0415 - not light

    histogram = _parsed(HistogramProto, stored)
    counts, limits = np.array(histogram.bucket), np.array(histogram.bucket_limit)
    if counts.size != limits.size:
        detail = f"a histogram has {counts.size} counts, but {limits.size} limits"
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
        detail = f"its bytes are not a {message_class.DESCRIPTOR.full_name}"
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
