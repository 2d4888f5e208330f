"""Images in records: from a file's content to pixels and back, with Pillow.

Features have the names that ImageNet's scripts use: ``image/encoded`` is a file's content. Only
formats that Pillow, which is imported on demand, decodes itself are opened (:data:`FORMATS`), none
for which it would start another program.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from tfrecord_lite.arrays import AnyArray, ObjectArray
from tfrecord_lite.errors import InvalidArgumentError, Reason, errors_at, require_int
from tfrecord_lite.options import hinted, num_processors

__all__ = ["FORMATS", "decode_image", "decode_images", "encode_image", "image_row"]

FORMATS = ("bmp", "gif", "jpeg", "png", "webp")
"""The formats that are read, as ``image/format`` names them; all but GIF are also written."""

# For each of Pillow's modes, one with a letter per channel that loses nothing.
_PIXELS = {"1": "L", "L": "L", "LA": "LA", "La": "LA", "RGBA": "RGBA", "RGBa": "RGBA", "PA": "RGBA"}
_MODES = {0: None, 1: "L", 3: "RGB", 4: "RGBA"}
# The numbers of channels that each format can store.
_CHANNELS = {"bmp": (1, 3), "jpeg": (1, 3), "png": (1, 2, 3, 4), "webp": (3, 4)}
_QUALITY = 95


@hinted
def decode_image(
    contents: bytes | ObjectArray, channels: int = 0, *, dtype: npt.DTypeLike = np.uint8
) -> AnyArray:
    """Decode an image, as ``tf.io.decode_image`` with ``expand_animations=False``.

    Parameters
    ----------
    contents : bytes, or object array of bytes, shape ()
        A file's content in one of :data:`FORMATS`.
    channels : int, optional
        1 for grey, 3 for RGB, 4 for RGBA; 0 for the image's own. Palettes become RGB, or RGBA if they have
        transparency.
    dtype : dtype, optional
        uint8, to which 16-bit numbers lose the lower 8 bits; uint16, to which 8 bits are scaled; or float32, for
        PNGs whose four channels are the bytes of one number, as of TensorFlow Datasets' ``Image(dtype=float32)``.

    Returns
    -------
    array of `dtype`, shape (height, width, channels)
        The pixels; of an animation, the first picture. The orientation in EXIF data is not applied.

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED`` if this is not an image, is damaged, or is a PNG without its end;
        ``TENSOR_TOO_LARGE`` for more pixels than Pillow's ``Image.MAX_IMAGE_PIXELS``;
        ``BAD_ARGUMENT`` for other `channels`; ``UNSUPPORTED`` for another `dtype`, or float32 of
        an image without 4 channels.
    TypeError, ImportError
        If `contents` is not bytes, or Pillow is not installed.

    Examples
    --------
    >>> decode_image(encode_image(np.zeros((2, 3, 3), np.uint8))).shape
    (2, 3, 3)
    """
    _check_channels(channels)
    return _pixels(contents, channels, None, _checked_dtype(dtype))


@hinted
def decode_images(
    column: Iterable[bytes],
    size: tuple[int, int] | None = None,
    num_threads: int | None = None,
    *,
    channels: int = 3,
    dtype: npt.DTypeLike = np.uint8,
) -> AnyArray | list[AnyArray]:
    """Decode a column of images, in threads.

    Parameters
    ----------
    column : object array of bytes, BytesColumn, or list of bytes
        A file's content each, as parsers return them.
    size : (int, int), optional
        Height and width to which the images are resized, by averaging.
    num_threads : int, optional
        By default one for each processor.
    channels : int, default 3
        As for :func:`decode_image`; of float32 there is always 1.
    dtype : dtype, optional
        As for :func:`decode_image`.

    Returns
    -------
    array of `dtype`, shape (n, height, width, channels), or list of arrays
        With `size` one array; without, an array per image.

    Raises
    ------
    InvalidArgumentError, TypeError, ImportError
        As :func:`decode_image`; `index` is the number of the image. ``BAD_ARGUMENT`` for a `size` that is not
        positive, and for one with ``channels=0``.

    Examples
    --------
    >>> column = [encode_image(np.zeros((20, 30, 3), np.uint8))] * 4
    >>> decode_images(column, size=(8, 8)).shape
    (4, 8, 8, 3)
    """
    _check_channels(channels, is_sized=size is not None)
    if size is not None:
        height, width = (require_int("size", length, 1) for length in size)
        size = height, width
    if len(getattr(column, "shape", ())) > 1:
        detail = "column must have one dimension: give column[column != b''] of padded frames, without the padding, "
        raise TypeError(f"{detail}or the flat_values of a RaggedTensor, or a row")
    contents, kind = list(column), _checked_dtype(dtype)
    require_pillow()

    def pixels(number: int) -> AnyArray:
        with errors_at(index=number):
            return _pixels(contents[number], channels, size, kind)

    with ThreadPoolExecutor(threads_of(num_threads)) as threads:
        decoded = threads.map(pixels, range(len(contents)))
        if size is None:
            return list(decoded)
        out = np.empty((len(contents), *size, 1 if kind == np.float32 else channels), kind)
        for number, image in enumerate(decoded):
            out[number] = image
        return out


def threads_of(num_threads: int | None) -> int:
    """Check the argument of that name; None is the number of processors."""
    return num_processors() if num_threads is None else require_int("num_threads", num_threads, 1)


def _check_channels(channels: int, *, is_sized: bool = False) -> None:
    expected = [number for number in _MODES if number or not is_sized]
    if require_int("channels", channels) not in expected:
        start = f"channels is {channels!r}, expected one of "
        raise _error(start + ", ".join(map(str, expected)), Reason.BAD_ARGUMENT)


def _checked_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    kind = np.dtype(dtype)
    if kind not in (np.uint8, np.uint16, np.float32):
        detail = f"dtype is {kind}, expected uint8, uint16, or float32 of numbers in 4 channels"
        raise _error(detail, Reason.UNSUPPORTED)
    return kind


def _pixels(contents: Any, channels: int, size: tuple[int, int] | None, dtype: Any) -> AnyArray:
    contents = _content_of(contents)
    picture = _opened(contents)
    with _decoding(picture, contents) as data:
        if dtype != np.uint8:
            pixels = _wide_pixels(picture, contents, data, dtype)
            if dtype == np.uint16:
                pixels = _with_channels(pixels, channels or pixels.shape[2])
            return pixels if size is None else _resized(pixels, size)
        if size is not None:
            picture.draft(None, (2 * size[1], 2 * size[0]))
        picture.load()
        converted = _converted(picture, _MODES[channels])
        if size is not None:
            converted = converted.resize(size[::-1], require_pillow().Resampling.BILINEAR)
        pixels = np.array(converted, np.uint8)
    return pixels.reshape(*pixels.shape[:2], -1)


# Of PNGs with 16 bits, by color type: how Pillow, which has no such images of several channels, reads the
# first and the second byte of each number.
_WIDE = {
    0: ("I;16", "I;16B"),
    2: ("RGB", "RGB;16B", "RGB;16L"),
    4: ("RGBA", "RGBA"),
    6: ("RGBA", "RGBA;16B", "RGBA;16L"),
}


def _wide_pixels(picture: Any, contents: bytes, data: bytes, dtype: np.dtype[Any]) -> AnyArray:
    """Return pixels with 16 bits in as many channels as there are, or with one float32."""
    shape = picture.height, picture.width, -1
    if dtype == np.float32:
        if picture.mode != "RGBA":
            detail = f"float32 takes an image of 4 channels, not one of mode {picture.mode}"
            raise _error(detail, Reason.UNSUPPORTED)
        return np.array(picture, np.uint8).view("<f4").astype(np.float32, copy=False)
    if picture.format != "PNG" or contents[24] != 16:
        pixels = np.array(_converted(picture, None), np.uint16).reshape(shape)
        return pixels * np.uint16(257 if picture.format == "PNG" else 256)
    mode, *forms = _WIDE[contents[25]]
    frombytes, is_interlaced = require_pillow().frombytes, contents[28]
    first, *second = (
        np.asarray(frombytes(mode, picture.size, data, "zip", form, is_interlaced))
        for form in forms
    )
    if second:
        pixels = first.astype(np.uint16) << 8 | second[0]
    else:
        pixels = first if first.dtype == np.uint16 else first.view(">u2")
    return pixels.astype(np.uint16).reshape(shape)


def _with_channels(pixels: AnyArray, channels: int) -> AnyArray:
    """Return 16-bit pixels with another number of channels: grey, grey with alpha, RGB or RGBA."""
    own = pixels.shape[2]
    if own == channels:
        return pixels
    color, alpha = pixels, np.full_like(pixels[:, :, :1], 65535)
    if own in {2, 4}:
        color, alpha = np.split(pixels, [own - 1], axis=2)
    if channels == 1 and own > 2:
        color = np.rint(color @ np.array([[0.299], [0.587], [0.114]])).astype(np.uint16)
    elif channels > 1:
        color = np.broadcast_to(color, (*color.shape[:2], 3))
    return np.concatenate([color, alpha] if channels == 4 else [color], axis=2)


def _resized(pixels: AnyArray, size: tuple[int, int]) -> AnyArray:
    """Average pixels of more than 8 bits, channel by channel."""
    pillow = require_pillow()
    planes = [pillow.fromarray(plane.astype(np.float32)) for plane in np.moveaxis(pixels, 2, 0)]
    small = np.stack([p.resize(size[::-1], pillow.Resampling.BILINEAR) for p in planes], 2)
    return small if pixels.dtype == np.float32 else np.rint(small).astype(pixels.dtype)


@hinted
def encode_image(image: npt.ArrayLike, format: str = "png", quality: int = _QUALITY) -> bytes:  # noqa: A002
    r"""Encode an image.

    Parameters
    ----------
    image : uint8, shape (height, width) or (height, width, channels)
        Grey, grey with alpha, RGB or RGBA, by the number of channels. Grey PNGs may be uint16.
    format : str, optional
        ``"png"``, ``"bmp"``, ``"jpeg"``, ``"jpg"`` or ``"webp"``, in upper or lower case.
        PNG and BMP keep every pixel. BMP and JPEG have 1 or 3 channels, WEBP 3 or 4.
    quality : int, optional
        1 to 100, for JPEG and WEBP.

    Returns
    -------
    bytes
        A file's content.

    Raises
    ------
    InvalidArgumentError
        ``BAD_SHAPE`` for an array of another shape, or without pixels; ``UNSUPPORTED`` for another dtype or
        format, and for channels or a size that the format cannot have; ``BAD_ARGUMENT`` for another `quality`.
    TypeError, ImportError
        If `quality` is not an integer, or `format` not a str; if Pillow is not installed.

    Examples
    --------
    >>> encode_image(np.zeros((2, 3), np.uint8), "jpeg")[:3]
    b'\xff\xd8\xff'
    """
    if not isinstance(format, str):
        raise TypeError(f"format must be a str, not {type(format).__name__}")
    name = "jpeg" if format.lower() == "jpg" else format.lower()
    if name not in _CHANNELS:
        detail = f"format is {format!r}, expected one of {', '.join(_CHANNELS)}"
        raise _error(detail, Reason.UNSUPPORTED)
    quality = require_int("quality", quality)
    if not 1 <= quality <= 100:
        raise _error(f"quality is {quality}, expected 1 to 100", Reason.BAD_ARGUMENT)
    try:
        pixels = np.asarray(image)
    except ValueError:
        raise _error("the rows of an image must have the same length", Reason.BAD_SHAPE) from None
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    is_wide = pixels.dtype == np.uint16 and pixels.ndim == 2 and name == "png"
    if pixels.dtype != np.uint8 and not is_wide:
        detail = f"the pixels are {pixels.dtype}, expected uint8, or uint16 of a grey png"
        raise _error(detail, Reason.UNSUPPORTED)
    n_channels = pixels.shape[2] if pixels.ndim == 3 else 1
    actual = f"the pixels have shape {list(pixels.shape)}"
    if pixels.ndim not in {2, 3} or not pixels.size or n_channels > 4:
        raise _error(f"{actual}, expected (height, width, 1 to 4 channels)", Reason.BAD_SHAPE)
    if n_channels not in _CHANNELS[name]:
        expected = f"expected {' or '.join(map(str, _CHANNELS[name]))} channels for {name}"
        raise _error(f"{actual}, {expected}", Reason.UNSUPPORTED)
    picture = require_pillow().fromarray(np.ascontiguousarray(pixels))
    out = io.BytesIO()
    try:
        picture.save(out, name, quality=quality)
    except (OSError, ValueError, KeyError) as error:  # too large for the format, or not built in
        detail = f"{actual}, which Pillow cannot write as {name}: {error}"
        raise _error(detail, Reason.UNSUPPORTED) from None
    return out.getvalue()


def image_row(
    image: npt.ArrayLike | bytes | bytearray | memoryview,
    label: int | None = None,
    *,
    format: str = "png",  # noqa: A002 - what everybody calls it
    quality: int = _QUALITY,
) -> dict[str, bytes | int]:
    """Return the features of an Example that holds an image, under their usual names.

    Parameters
    ----------
    image : bytes, bytearray, memoryview or uint8 array
        A file's content, kept as it is; or pixels to encode, also a memoryview of two or three dimensions.
    label : int, optional
        The value of ``image/class/label``.
    format, quality
        As for :func:`encode_image`, if `image` is pixels.

    Returns
    -------
    dict
        ``image/encoded`` and ``image/format`` (``b"jpeg"``, ...) are bytes;
        ``image/height``, ``image/width`` and ``image/channels`` ints.

    Raises
    ------
    InvalidArgumentError, TypeError, ImportError
        As :func:`encode_image`; ``MALFORMED`` for bytes, which are not decoded, that do not begin as an image.

    Examples
    --------
    >>> row = image_row(np.zeros((2, 3, 3), np.uint8), label=7)
    >>> {name: value for name, value in row.items() if name != "image/encoded"}
    {'image/format': b'png', 'image/height': 2, 'image/width': 3, 'image/channels': 3, \
'image/class/label': 7}
    """
    labels = {} if label is None else {"image/class/label": require_int("label", label)}
    content = _item_of(image)
    is_encoded = isinstance(content, bytes | bytearray)
    is_encoded |= isinstance(content, memoryview) and content.ndim == 1
    encoded = bytes(content) if is_encoded else encode_image(content, format, quality)
    return image_features(encoded) | labels


def image_features(contents: bytes, *, is_checked: bool = False) -> dict[str, Any]:
    """Return an image and what its header says; with `is_checked`, raise too if it cannot be decoded."""
    picture = _opened(contents)
    row: dict[str, Any] = {"image/encoded": contents, "image/format": _format_of(picture).encode()}
    row |= {"image/height": picture.height, "image/width": picture.width}
    row["image/channels"] = len(_mode_of(picture))
    if is_checked:
        with _decoding(picture, contents):
            # All of a JPEG is read as for its pixels, but only an eighth of the rows is computed.
            picture.draft("L", (1, 1))
            picture.load()
    return row


@contextmanager
def _decoding(picture: Any, contents: bytes) -> Iterator[bytes]:
    """Check the chunks of a PNG, whose data are yielded, and raise MALFORMED about whatever a decoder raises."""
    data = _checked_data(picture, contents) if picture.format == "PNG" else []
    try:
        yield b"".join(data if contents[24:25] == b"\x10" else [])
    except (MemoryError, InvalidArgumentError):
        raise
    except Exception as error:  # noqa: BLE001 - decoders raise anything
        raise _damaged(picture, type(error).__name__) from None


def require_pillow() -> Any:
    """Return Pillow's module of images; raise ImportError if it is not installed."""
    try:
        from PIL import Image  # noqa: PLC0415 - optional
    except ImportError:
        raise ImportError("images need Pillow: pip install pillow") from None
    return Image


def _item_of(image: Any) -> Any:
    """Return the element of an object array of shape (); anything else as it is."""
    is_item = isinstance(image, np.ndarray) and image.dtype == object and image.ndim == 0
    return image[()] if is_item else image


def _content_of(image: Any) -> bytes:
    image = _item_of(image)
    if not isinstance(image, bytes | bytearray | memoryview):
        advice = ""
        if image is None or image is np.ma.masked:
            advice = "; leave out what is missing, as column.compressed() does"
        elif isinstance(image, np.ndarray | list | tuple):
            advice = "; decode_images takes several"
        raise TypeError(f"an encoded image must be bytes, not {type(image).__name__}{advice}")
    return image  # type: ignore[return-value]


def _opened(contents: bytes) -> Any:
    """Open an image without reading its pixels; raise if it has too many."""
    pillow = require_pillow()
    try:
        picture = pillow.open(io.BytesIO(contents), formats=FORMATS)
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning):
        raise _error(_TOO_LARGE, Reason.TENSOR_TOO_LARGE) from None
    except Exception as error:  # noqa: BLE001 - decoders raise anything
        if not contents:
            raise _error("no bytes; leave out padding, as column[column != b''] does") from None
        detail = f"the {len(contents)} bytes are not an image ({type(error).__name__})"
        raise _error(f"{detail}, expected one of {', '.join(FORMATS)}") from None
    limit = pillow.MAX_IMAGE_PIXELS
    if limit is not None and picture.width * picture.height > limit:
        raise _error(_TOO_LARGE, Reason.TENSOR_TOO_LARGE)
    return picture


_TOO_LARGE = "the image has more pixels than PIL.Image.MAX_IMAGE_PIXELS, which you can set"


def _checked_data(picture: Any, contents: bytes) -> list[memoryview]:
    """Return the compressed pixels of a PNG; raise if it has no end, or a wrong checksum in a critical chunk.

    Pillow stops after the last pixel and does not check the pixels' chunks; TensorFlow does both.
    """
    view, at, data = memoryview(contents).cast("B"), 8, []
    while at + 12 <= len(view):
        length, name = struct.unpack_from(">I4s", view, at)
        stop = at + 8 + length
        if stop + 4 > len(view):
            break
        is_critical = not name[0] & 0x20  # by a capital letter
        if is_critical and zlib.crc32(view[at + 4 : stop]) != int.from_bytes(view[stop : stop + 4]):
            raise _damaged(picture, f"checksum of {name.decode('latin-1')!r}")
        if name == b"IDAT":
            data.append(view[at + 8 : stop])
        if name == b"IEND":
            return data
        at = stop + 4
    raise _damaged(picture, "cut off before its end")


def _error(detail: str, reason: Reason = Reason.MALFORMED) -> InvalidArgumentError:
    return InvalidArgumentError(reason, detail=detail)


def _damaged(picture: Any, what: str) -> InvalidArgumentError:
    return _error(f"the {_format_of(picture)} image is damaged ({what})")


def _format_of(picture: Any) -> str:
    return str(picture.format).lower()


def _mode_of(picture: Any) -> str:
    """Return a mode with one letter per channel that loses nothing of the image."""
    if picture.mode == "P":
        return "RGBA" if "transparency" in picture.info else "RGB"
    # 16-bit grey is of several modes.
    return "L" if picture.mode.startswith("I") else _PIXELS.get(picture.mode, "RGB")


def _converted(picture: Any, mode: str | None) -> Any:
    own_mode = _mode_of(picture)
    if picture.mode.startswith("I"):  # Pillow would clip to 255 instead of dividing
        wide = np.asarray(picture).astype(np.int64) >> 8
        picture = require_pillow().fromarray(wide.clip(0, 255).astype(np.uint8))
    elif picture.mode != own_mode:  # before `mode`, as palettes may have transparency
        picture = picture.convert(own_mode)
    return picture if mode in {None, own_mode} else picture.convert(mode)
