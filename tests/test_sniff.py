"""What bytes are: sizes of images and sounds are those that Pillow and wave see; any bytes are fine."""

import io
import struct
import time
import wave

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tfrecord_lite.sniff import recognize, recognize_value
from tfrecord_lite.tensors.dtypes import TYPES, TensorType
from tfrecord_lite.tensors.serialize import serialize_tensor

SIDES = st.integers(1, 700)
WRITTEN = {
    "JPEG": ({"quality": 1}, {"progressive": True}, {"exif": b"Exif\0\0" + bytes(600)}),
    "PNG": ({}, {"optimize": True}), "GIF": ({},),
    "WebP": ({"quality": 1}, {"lossless": True}, {"exif": b"Exif\0\0MM"}), "BMP": ({},),
}  # fmt: skip
"""Formats and the options of Pillow that change their headers."""


def encoded(name: str, size: tuple[int, int], mode: str = "RGB", **options: object) -> bytes:
    image = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    image.new(mode, size, 3).save(out, name, **options)
    return out.getvalue()


@pytest.mark.needs("image")
@pytest.mark.parametrize("name", WRITTEN)
@given(width=SIDES, height=SIDES, data=st.data())
@example(width=1, height=1, data=None)
def test_sizes_are_pillows(name: str, width: int, height: int, data: st.DataObject | None) -> None:
    options = WRITTEN[name][0] if data is None else data.draw(st.sampled_from(WRITTEN[name]))
    written = encoded(name, (width, height), **options)
    found = recognize(written)
    assert found is not None
    assert (found.kind, found.width, found.height) == ("image", width, height)
    assert (found.mime[:6], str(found)) == ("image/", f"{name} {width} x {height}")


@pytest.mark.needs("image")
@pytest.mark.parametrize("name", WRITTEN)
def test_cut_images_have_the_size_of_the_whole_or_none(name: str) -> None:
    whole = encoded(name, (37, 21))
    found = [recognize(whole[:n_bytes]) for n_bytes in range(len(whole))]
    sizes = {(each.width, each.height) for each in found if each is not None}
    assert sizes == {(None, None), (37, 21)}


BEGINNINGS = [
    b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8 ",
    b"RIFF\0\0\0\0WEBPVP8L", b"RIFF\0\0\0\0WEBPVP8X", b"BM" + bytes(12) + b"\x28\0\0\0", b"II*\0",
    b"MM\0*", b"RIFF\0\0\0\0WAVE", b"RIFF\0\0\0\0AVI ", b"fLaC\0", b"OggS\0",
    b"ID3\x04\0\0\0\0\0\0", b"\xff\xfb\x90\x00", b"\0\0\0\x18ftypisom", b"\0\0\0\x08ftypavif",
    b"\0\0\0\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51", b"\x1a\x45\xdf\xa3webm",
]  # fmt: skip


@given(st.sampled_from(BEGINNINGS), st.binary(max_size=80))
def test_any_bytes_are_recognised_without_errors(begin: bytes, rest: bytes) -> None:
    if (found := recognize(begin + rest)) is not None:
        assert str(found).startswith(found.format)
        sides = (found.width, found.height, found.sample_rate)
        assert all(side is None or side > 0 for side in sides)


@given(st.binary(max_size=200))
def test_bytes_of_no_format_are_not_recognised(data: bytes) -> None:
    if not any(data.startswith(begin[:2]) for begin in BEGINNINGS) and b"ftyp" not in data:
        assert recognize(data) is None


@pytest.mark.parametrize("data", [
    b"\xff\xd8" + b"\xff" * 10_000_000, b"\xff\xd8" + b"\xff\xe0\0\x02" * 2_500_000,
    b"RIFF\0\0\0\0WAVE" + b"junk\0\0\0\0" * 1_250_000,
], ids=lambda data: repr(data[:12]))  # fmt: skip
def test_the_work_does_not_grow_with_the_bytes(data: bytes) -> None:
    begin = time.process_time()
    recognize(data)
    assert time.process_time() - begin < 0.2


@given(st.integers(1, 2), st.sampled_from([1, 2, 4]), st.integers(1, 200_000), st.integers(0, 500))
def test_the_rate_and_length_of_a_wav_are_those_that_were_written(
    channels: int, width: int, rate: int, n_frames: int
) -> None:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(bytes(n_frames * channels * width))
    found = recognize(out.getvalue())
    assert found is not None
    assert (found.format, found.sample_rate, found.n_channels) == ("WAV", rate, channels)
    assert (found.seconds or 0) == pytest.approx(n_frames / rate)


MP3_FRAME = (b"\xff\xfb\x90\x00" + bytes(32)).ljust(417, b"\0")
"""128 kbit/s, 44,100 Hz, stereo."""
WAV_HEAD = b"RIFF\xff\xff\xff\xffWAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16_000, 2, 16)
FLAC_BITS = struct.pack(">Q", 44_100 << 44 | 1 << 41 | 15 << 36 | 88_200)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\0\0\0\x20ftypisom", "MP4"),
        (b"abcdftypical sentence of text", "None"),
        (b"   \nftypavif", "None"),
        (b"BMW is a car, and this is a text", "None"),
        *((text, "None") for text in (b"ID3 tags", b"RIFF", b"MMM", b"II*")),
        # A WAV that was streamed is as long as its bytes.
        (WAV_HEAD + b"data\xff\xff\xff\xff" + bytes(32_000), "WAV 8000 Hz, mono, 2.0 s"),
        (b"fLaC\x80\0\0\x22" + bytes(10) + FLAC_BITS + bytes(16), "FLAC 44100 Hz, stereo, 2.0 s"),
        (MP3_FRAME * 2, "MP3"),
        (MP3_FRAME[:200], "None"),
        (MP3_FRAME + b"something else", "None"),
        (b"ID3\x04\0\0\0\0\0\x05title" + MP3_FRAME, "MP3"),
        # BMP as of old, and with rows from the top down.
        (b"BM" + bytes(12) + struct.pack("<IHHHH", 12, 5, 7, 1, 24), "BMP 5 x 7"),
        (b"BM" + bytes(12) + struct.pack("<Iii", 40, 5, -7), "BMP 5 x 7"),
    ],
)  # fmt: skip
def test_what_headers_say(data: bytes, text: str) -> None:
    assert str(recognize(data)) == text


SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple)
DTYPES = [
    pytest.param(kind, id=kind.name, marks=[pytest.mark.needs("dtypes")] * kind.is_extra)
    for kind in TYPES
    if kind.name != "string"
]


@pytest.mark.parametrize("kind", DTYPES)
@given(shape=SHAPES)
def test_tensors_are_known_by_dtype_and_shape(kind: TensorType, shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, kind.dtype)
    found = recognize_value(serialize_tensor(array))
    assert (found.label, found.shape) == (f"{kind.name} tensor", shape)
    assert found.n_bytes == array.nbytes


@given(st.lists(st.binary(max_size=20), max_size=300))
def test_tensors_of_strings_are_known(items: list[bytes]) -> None:
    serialized = serialize_tensor(np.array([*items, None], object)[:-1])
    found = recognize_value(serialized)
    assert (found.label, found.shape) == ("string tensor", (len(items),))
    assert found.n_bytes == len(serialized)


@given(st.sampled_from(["<f4", ">i2", "|u1", "<U5", "|b1", "|S3"]), SHAPES, st.booleans())
def test_arrays_of_numpy_are_known(dtype: str, shape: tuple[int, ...], is_fortran: bool) -> None:
    array = np.zeros(shape, dtype, order="F" if is_fortran else "C")
    out = io.BytesIO()
    np.save(out, array)
    found = recognize_value(out.getvalue())
    assert (found.label, found.shape) == (f"{array.dtype.name} array", shape)
    assert found.n_bytes == array.nbytes


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1))
@example("é" * 40_000)
@example("a" + "\N{GRINNING FACE}" * 40_000)
def test_texts_are_text(text: str) -> None:
    found = recognize_value(text.encode())
    assert found.label == "text" or found.media is not None


@given(st.one_of(st.binary(), st.binary().map(b"\x08\x01\x12".__add__)))
@example(b"\x93NUMPY" + b"('" * 3000)
@example(b"\x93NUMPY\1\0v\0{'descr': '<f4', 'shape': (" + b"9" * 4000)
@example(b"\x93NUMPY\1\0v\0{'descr': '<q99', 'shape': ()")
@example(b"\x93NUMPY\1\0v\0{'descr': '|U9999', 'shape': (" + b"999999999999999999," * 64 + b")")
def test_any_bytes_are_something(data: bytes) -> None:
    found = recognize_value(data)
    assert found.label
    assert str(found).startswith(found.label) or found.label == "bytes"
    assert "\n" not in str(found)


@pytest.mark.parametrize(
    "data",
    [
        b"\x08\x01",  # no shape
        b"\x08\x63\x12\x00",  # no dtype
        b"\x08\x01\x12\x04\x12\x02\x08\x02\x22\x01a",  # two floats in one byte
        b"\x08\x01\x12\x00",  # no element
        b"\x08\x01\x12\x00\x2d",  # cut
        b"\x08\x01\x12\x00\x1a\x00",  # a field that tensors do not have
        b"\x08\x01\x12\x0d\x12\x0b\x08" + b"\xff" * 9 + b"\x01",  # a size of -1
        b"\x08\x01\x12\x04\x1a\x02\x08\x02",  # a dimension of another number
    ],
)
def test_what_is_nearly_a_tensor_is_bytes(data: bytes) -> None:
    assert recognize_value(data).label == "bytes"


@pytest.mark.parametrize(
    ("data", "label"),
    [
        # 2**30 times a value
        (b"\x08\x01\x12\x08\x12\x06\x08\x80\x80\x80\x80\x04\x2a\x04" + bytes(4), "float32 tensor"),
        (b"\x08\x07\x12\x00" + b"\x42\x00" * 5_000_000, "string tensor"),
        (b"\x08\x01\x12\x85\xad\xe2\x04\x12\x80\xad\xe2\x04" + b"\x08\x01" * 5_000_000, "bytes"),
        (b"\x08\x63" + b"\x42\x00" * 5_000_000, "bytes"),
    ],
    ids=lambda data: repr(data[:12]),
)  # fmt: skip
def test_large_tensors_are_neither_built_nor_read(data: bytes, label: str) -> None:
    begin = time.process_time()
    assert recognize_value(data).label == label
    assert time.process_time() - begin < 0.1


@pytest.mark.parametrize(("value", "text"), [
    (b"", "empty"), (b"hello", "text, 5 bytes"), (b"\xff", "1 byte"),
    (b"GIF89a\x80\x02\xe0\x01" + bytes(43_000), "GIF 640 x 480, 42.0 KiB"),
    (serialize_tensor(np.zeros((3, 4), np.float32)), "float32 tensor [3, 4], 48 bytes"),
    (serialize_tensor(np.zeros(0, np.float32)), "float32 tensor [0], 0 bytes"),
    (serialize_tensor(np.zeros((1,) * 9, np.int8)), "int8 tensor [1, 1, 1, 1, 1, 1, 1, 1, ...], 1 byte"),
])  # fmt: skip
def test_lines(value: bytes, text: str) -> None:
    assert str(recognize_value(value)) == text
