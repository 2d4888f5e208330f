"""Images with Pillow: what comes back, and what is rejected."""

import io
import struct
import sys
import zlib
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.support.errors import raised
from tests.tensors.test_tensors import refusal
from tfrecord_lite import (
    BytesColumn,
    FixedLenFeature,
    RaggedTensor,
    TFRecordError,
    encode_example,
    parse_single_example,
)
from tfrecord_lite.apps.images import decode_image, decode_images, encode_image, image_row
from tfrecord_lite.apps.images.image import FORMATS
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.testing import assert_same

Image = pytest.importorskip("PIL.Image", reason="needs the extra image")

LOSSLESS = [("png", 1), ("png", 2), ("png", 3), ("png", 4), ("bmp", 1), ("bmp", 3)]
LOSSY = [("jpeg", 1), ("jpeg", 3), ("webp", 3), ("webp", 4)]
sides = st.integers(1, 12)


def pixels(height: int, width: int, n_channels: int) -> Any:
    return hnp.arrays(np.uint8, (height, width, n_channels))


def noise(*shape: int) -> Any:
    return np.random.default_rng(shape).integers(0, 256, shape, np.uint8)


def saved(picture: Any, format_name: str, **options: Any) -> bytes:
    out = io.BytesIO()
    picture.save(out, format_name, **options)
    return out.getvalue()


@given(st.data(), st.sampled_from(LOSSLESS), sides, sides)
def test_pixels_come_back(data: Any, sort: tuple[str, int], height: int, width: int) -> None:
    name, n_channels = sort
    image = data.draw(pixels(height, width, n_channels))
    found = decode_image(encode_image(image, name))
    assert found.dtype == np.uint8
    assert found.flags.writeable
    np.testing.assert_array_equal(found, image)


@pytest.mark.parametrize(("name", "n_channels"), LOSSY)
def test_lossy_formats_come_back_nearly(name: str, n_channels: int) -> None:
    smooth = np.linspace(0, 255, 32).astype(np.uint8)
    image = np.repeat(np.add.outer(smooth // 2, smooth // 2)[:, :, None], n_channels, axis=2)
    good, poor = encode_image(image, name, 100), encode_image(image, name.upper(), 5)
    found = decode_image(good)
    assert found.shape == image.shape
    assert np.abs(found.astype(int) - image).mean() < 3
    assert len(poor) < len(good)


def test_two_dimensions_are_one_channel() -> None:
    image = noise(3, 4)
    assert (decode_image(encode_image(image))[:, :, 0] == image).all()
    assert encode_image(image[::-1].T, "jpg")[:2] == b"\xff\xd8"


@pytest.mark.parametrize(("mode", "name", "n_channels"), [
    ("1", "png", 1), ("L", "jpeg", 1), ("LA", "png", 2), ("P", "png", 3), ("P", "gif", 3),
    ("RGB", "bmp", 3), ("RGBA", "png", 4), ("CMYK", "jpeg", 3), ("RGB", "webp", 3),
])  # fmt: skip
def test_images_of_every_mode(mode: str, name: str, n_channels: int) -> None:
    source = Image.fromarray(noise(5, 7, 4 if mode.endswith("A") else 3)).convert(mode)
    data = saved(source, name, **({"lossless": True} if name == "webp" else {}))
    found = decode_image(data)
    assert found.shape == (5, 7, n_channels)
    back = Image.open(io.BytesIO(data))
    letters = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
    wanted = np.asarray(back.convert(letters[n_channels])).reshape(5, 7, -1)
    np.testing.assert_array_equal(found, wanted)
    assert image_row(data)["image/channels"] == n_channels
    for channels in (1, 3, 4):
        assert decode_image(data, channels).shape == (5, 7, channels)


def test_a_palette_with_transparency_has_four_channels() -> None:
    image = Image.fromarray(noise(5, 7, 3)).convert("P")
    corner = image.getpixel((0, 0))
    assert isinstance(corner, int)
    for transparency in (corner, bytes(255 * (i != corner) for i in range(256))):
        data = saved(image, "png", transparency=transparency)
        assert decode_image(data).shape == (5, 7, 4)
        assert decode_image(data, 1).shape == (5, 7, 1)
        assert decode_image(data)[0, 0, 3] == 0
        assert decode_image(data)[:, :, 3].max() == 255


@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_images_of_more_than_8_bits(dtype: str) -> None:
    depth = np.add.outer(np.arange(16) * 4000, np.arange(8)).astype(dtype)
    png = encode_image(depth if dtype == "uint16" else depth.view(np.uint8).reshape(16, 8, 4))
    assert decode_image(png, dtype=dtype).tobytes() == depth.tobytes()
    whole: Any = decode_images([png, png], channels=1, dtype=dtype)
    assert [each.tobytes() for each in whole] == [depth.tobytes()] * 2
    small: Any = decode_images([png], (4, 2), channels=1, dtype=dtype)
    assert (small.dtype, small.shape) == (dtype, (1, 4, 2, 1))
    mean = depth.astype(np.float64).reshape(4, 4, 2, 4).mean((1, 3))
    assert np.abs(small[0, 1:3, :, 0] - mean[1:3]).max() < 1  # borders have fewer neighbours
    with pytest.raises(InvalidArgumentError, match="float32 takes an image of 4 channels"):
        decode_image(encode_image(np.zeros((2, 2), np.uint8)), dtype=np.float32)
    with pytest.raises(InvalidArgumentError, match="dtype is int64, expected uint8, uint16"):
        decode_image(png, dtype=int)


@pytest.mark.parametrize("n_channels", [1, 2, 3, 4])
def test_16_bits_of_several_channels(n_channels: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 65536, (3, 5, n_channels), np.uint16)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", 5, 3, 16, (0, 4, 2, 6)[n_channels - 1], 0, 0, 0)
    chunks = {b"IHDR": header, b"IDAT": zlib.compress(rows), b"IEND": b""}
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks.items()
    )
    assert (decode_image(png, dtype=np.uint16) == pixels).all()


def test_of_16_bits_the_upper_8_are_kept() -> None:
    wide = np.array([[0, 255, 256], [0x7F80, 0xFF00, 0xFFFF]], np.uint16)
    data = saved(Image.fromarray(wide), "png")
    assert decode_image(data)[:, :, 0].tolist() == [[0, 0, 1], [0x7F, 0xFF, 0xFF]]
    assert decode_image(data, 3).shape == (2, 3, 3)
    assert image_row(data)["image/channels"] == 1


def test_of_an_animation_the_first_frame() -> None:
    frames = [Image.new("RGB", (4, 3), color) for color in ("red", "blue")]
    data = saved(frames[0], "gif", save_all=True, append_images=frames[1:])
    assert decode_image(data)[0, 0].tolist() == [255, 0, 0]


@given(st.sampled_from([*LOSSLESS, *LOSSY]), st.integers(0, 2**32))
def test_damaged_images_decode_or_are_an_error_of_ours(sort: tuple[str, int], seed: int) -> None:
    name, n_channels = sort
    random = Random(seed)
    data = bytearray(encode_image(noise(6, 5, n_channels), name))
    for _ in range(random.choice([1, 3])):
        data[random.randrange(len(data))] = random.randrange(256)
    if random.random() < 0.3:
        del data[random.randrange(len(data)) :]
    for use in (decode_image, image_row):
        try:
            use(bytes(data))
        except TFRecordError as error:
            assert error.reason in {Reason.MALFORMED, Reason.TENSOR_TOO_LARGE}  # noqa: PT017


@pytest.mark.parametrize("name", ["jpeg", "bmp", "png"])
def test_a_cut_image_is_an_error(name: str) -> None:
    data = encode_image(noise(30, 20, 3), name)
    for n_bytes in range(len(data)) if name == "png" else (0, 1, 10, len(data) - 40):
        assert refusal(decode_image, data[:n_bytes]).reason is Reason.MALFORMED
    for at in (-1, -13) * (name == "png"):  # of the checksums of the end, and of the last pixels
        damaged = bytearray(data)
        damaged[at] ^= 1
        assert refusal(decode_image, bytes(damaged)).reason is Reason.MALFORMED
    assert decode_image(data + b"more").shape == (30, 20, 3)
    assert decode_image(memoryview(data)).shape == (30, 20, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["ppm", "tiff", "tga", "eps"])
def test_other_formats_are_not_opened(name: str) -> None:
    data = saved(Image.new("RGB", (4, 3)), name)
    assert refusal(decode_image, data).reason is Reason.MALFORMED
    assert name not in FORMATS


def test_large_images_are_rejected_before_their_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encode_image(noise(10, 10, 3))
    for limit in (99, 40):
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        assert refusal(decode_image, data).reason is Reason.TENSOR_TOO_LARGE
        assert refusal(image_row, data).reason is Reason.TENSOR_TOO_LARGE
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert decode_image(data).shape == (10, 10, 3)


@pytest.mark.parametrize(("arguments", "reason"), [
    ((np.zeros((2, 2, 3), np.float32),), Reason.UNSUPPORTED),
    ((np.zeros((2, 2, 5), np.uint8),), Reason.BAD_SHAPE),
    ((np.zeros((2, 0, 3), np.uint8),), Reason.BAD_SHAPE),
    ((np.zeros(4, np.uint8),), Reason.BAD_SHAPE),
    ((np.zeros((2, 2, 4), np.uint8), "jpeg"), Reason.UNSUPPORTED),
    ((np.zeros((2, 2, 4), np.uint8), "bmp"), Reason.UNSUPPORTED),
    ((np.zeros((2, 2, 3), np.uint8), "gif"), Reason.UNSUPPORTED),
    ((np.zeros((2, 2, 3), np.uint8), "junk"), Reason.UNSUPPORTED),
    ((np.zeros((2, 70_000), np.uint8), "jpeg"), Reason.UNSUPPORTED),
    ((np.zeros((2, 2), np.uint8), "jpeg", 0), Reason.BAD_ARGUMENT),
    ((np.zeros((2, 2), np.uint8), "jpeg", 101), Reason.BAD_ARGUMENT),
    (([[1], [2, 3]],), Reason.BAD_SHAPE),
])  # fmt: skip
def test_what_is_not_encoded(arguments: tuple[Any, ...], reason: Reason) -> None:
    assert refusal(encode_image, *arguments).reason is reason


@pytest.mark.parametrize("form", [bytearray, memoryview])
def test_an_encoded_image_in_any_bytes(form: Any) -> None:
    data = encode_image(noise(3, 5, 3))
    row = image_row(form(data))
    assert row == image_row(data)
    assert type(row["image/encoded"]) is bytes
    assert image_row(noise(3, 5).data) == image_row(noise(3, 5))


def test_an_image_as_a_parsed_record_has_it() -> None:
    pixels = noise(3, 5, 3)
    record = encode_example(image_row(pixels))
    found = parse_single_example(record, {"image/encoded": FixedLenFeature([], "string")})
    contents: Any = found["image/encoded"]
    assert contents.shape == ()
    assert_same(decode_image(contents), pixels)
    assert image_row(contents) == image_row(pixels)


@pytest.mark.parametrize("form", [list, BytesColumn.from_list, lambda c: np.array(c, object)])
def test_a_column_is_decoded_as_its_images(form: Any) -> None:
    images = [noise(4, 5, 3), noise(6, 2, 1), noise(40, 30, 4)]
    column = form([encode_image(image) for image in images])
    for n in (None, 1, 3):
        for channels in (0, 1, 3, 4):
            found = decode_images(column, None, n, channels=channels)
            assert isinstance(found, list)
            for one, content in zip(found, column, strict=True):
                assert_same(one, decode_image(content, channels))
        small = decode_images(column, (8, 9), n)
        assert isinstance(small, np.ndarray)
        assert small.shape == (3, 8, 9, 3)
    assert decode_images(form([]), (8, 9)).shape == (0, 8, 9, 3)  # type: ignore[union-attr]


def test_images_are_resized_by_averaging() -> None:
    smooth = np.add.outer(np.arange(128), np.arange(128)).astype(np.uint8)
    image = np.repeat(smooth[:, :, None], 3, axis=2)
    mean = image.reshape(16, 8, 16, 8, 3).mean((1, 3))
    for name in ("png", "jpeg"):
        small: Any = decode_images([encode_image(image, name)], (16, 16))
        assert np.abs(small[0] - mean).max() < 8
    exact: Any = decode_images([encode_image(image)], image.shape[:2])
    assert_same(exact[0], image)


def test_the_image_of_a_column_that_is_damaged_is_numbered() -> None:
    column = [encode_image(noise(3, 3, 3))] * 3 + [b"no image", b"nor this"]
    error = raised(TFRecordError, decode_images, column)
    assert (error.reason, error.index) == (Reason.MALFORMED, 3)
    wrong: list[Any] = [
        {"size": (0, 3)}, {"size": (3, 3), "channels": 0}, {"channels": 2}, {"num_threads": 0}
    ]  # fmt: skip
    for arguments in wrong:
        error = raised(TFRecordError, decode_images, column, **arguments)
        assert (error.reason, error.index) == (Reason.BAD_ARGUMENT, None)
    raised(TypeError, decode_image, column, match="decode_images takes several")
    for nested in (
        np.array([column], object),
        RaggedTensor.from_row_splits(column, [0, 2, len(column)]),
    ):
        with pytest.raises(TypeError, match="the flat_values of a RaggedTensor, or a row"):
            decode_images(nested)


def test_wrong_arguments_of_decode_image() -> None:
    assert refusal(decode_image, encode_image(noise(2, 2)), 2).reason is Reason.BAD_ARGUMENT
    data = encode_image(noise(2, 2))
    for wrong in ("text", None, 5, [data], np.array([data], object), np.array(data)):
        raised(TypeError, decode_image, wrong)


def test_the_features_of_an_image() -> None:
    image = noise(3, 5, 3)
    row = image_row(image, 7, format="JPG", quality=80)
    assert row["image/encoded"] == encode_image(image, "jpeg", 80)
    del row["image/encoded"]
    assert row == {
        "image/format": b"jpeg",
        "image/height": 3,
        "image/width": 5,
        "image/channels": 3,
        "image/class/label": 7,
    }


def test_without_pillow_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encode_image(noise(2, 2))
    monkeypatch.setitem(sys.modules, "PIL", None)
    raised(ImportError, decode_image, data, match=r"pip install pillow")
