"""Images, sounds, pixels and numbers as pictures; what is broken, too large or too much is said."""

import base64
import io
import re
import time

import numpy as np
import pytest

from tests.apps.viewer.images import (
    FORMATS,
    gif_bomb,
    gif_with_small_canvas,
    image,
    many_scans,
    png_bomb,
    sound,
)
from tests.apps.viewer.shown_records import cells_of, check_cell, plain
from tfrecord_lite import serialize_tensor
from tfrecord_lite.apps.markup.cells import Budget
from tfrecord_lite.apps.viewer.report import Cell
from tfrecord_lite.arrays import AnyArray

pytestmark = pytest.mark.needs("view")


def pictures(cell: Cell) -> list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]:
    from PIL import Image

    return [
        np.asarray(Image.open(io.BytesIO(base64.b64decode(source.split(",", 1)[1]))))
        for source in check_cell(cell).sources
    ]


@pytest.mark.parametrize("format_", FORMATS)
def test_a_thumbnail_and_a_larger_version(format_: str) -> None:
    data = image(600, 300, format_)
    cells = cells_of({"whole": data, **{f"{n}": data[: len(data) * n // 10] for n in (1, 5)}})
    small, large = pictures(cells["whole"])
    assert small.shape[:2] == (64, 128)
    assert large.shape[:2] == (300, 600)
    assert f"{'WebP' if format_ == 'WEBP' else format_} 600 x 300" in plain(cells["whole"].html)
    for name in "1", "5":  # truncated
        assert not pictures(cells[name])
        assert re.search("broken|not decoded", plain(cells[name].html))


def test_tiny_images_lose_nothing_and_of_many_some_are_shown() -> None:
    cells = cells_of({"tiny": image(20, 10), "many": [image(100, 100)] * 30})
    (shown,) = pictures(cells["tiny"])
    assert "v-pixelated" in cells["tiny"].html
    assert shown[:, :, 0].max() == 242
    assert len(pictures(cells["many"])) == 8
    assert "… 30 values" in plain(cells["many"].html)


def test_bombs_are_not_decoded() -> None:
    start = time.perf_counter()
    cells = cells_of({"large": png_bomb(50_000, 50_000), "canvas": gif_bomb()})
    texts = [plain(cell.html) for cell in cells.values()]
    assert time.perf_counter() - start < 5
    assert all("not decoded, as it would take too long" in text for text in texts)


@pytest.mark.slow
def test_pictures_cost_the_pixels_that_are_decoded() -> None:
    budget = Budget(pixels=30_000_000)
    cells = cells_of({f"{i}": gif_with_small_canvas(4000) for i in range(3)}, budget)
    assert [len(pictures(cell)) for cell in cells.values()] == [1, 0, 0]
    assert budget.pixels == 14_000_000


def test_many_scans_take_too_long() -> None:
    start = time.perf_counter()
    cells = cells_of({"many": many_scans(8000, 500), "some": many_scans(800, 40)})
    assert time.perf_counter() - start < 1
    assert "not decoded, as it would take too long" in plain(cells["many"].html)
    assert len(pictures(cells["some"])) == 2


def test_the_budget_bounds_their_bytes_and_pixels() -> None:
    cells = cells_of(
        {f"{i}": image(300, 300, "JPEG") for i in range(20)}, Budget(picture_bytes=9000)
    )
    size = sum(len(source) for cell in cells.values() for source in check_cell(cell).sources)
    assert size < 9000 * 4 / 3 + (1 << 20)
    assert not pictures(cells_of({"x": image(300, 300)}, Budget(pixels=50_000))["x"])


def test_sounds_play_unless_they_are_large() -> None:
    cells = cells_of({"x": sound(2_000_000), "y": sound(), "z": sound()}, Budget(detail_bytes=2000))
    page = check_cell(cells["y"])
    assert "too large" in plain(cells["x"].html)
    assert ["<audio" in cells[name].html for name in "xyz"] == [False, True, False]
    (source,) = [value for tag, name, value in page.attributes if (tag, name) == ("audio", "src")]
    assert base64.b64decode((source or "").split(",")[1]) == sound()
    assert "WAV 8000 Hz" in plain(cells["y"].html)


@pytest.mark.parametrize(
    "names", [("height", "width", "depth"), ("image/height", "image/width", "image/channels")]
)
@pytest.mark.parametrize("n_channels", [1, 3, 4])
def test_pixels_of_the_size_beside_them(names: tuple[str, str, str], n_channels: int) -> None:
    pixels = np.arange(12 * 10 * n_channels, dtype=np.uint8).reshape(12, 10, n_channels)
    sizes = dict(zip(names, pixels.shape, strict=True))
    cells = cells_of({"raw": pixels.tobytes(), "ints": pixels.ravel().astype(int), **sizes})
    for name in "raw", "ints":
        (shown,) = pictures(cells[name])
        if n_channels == 1:
            shown = shown[..., :1] if shown.ndim == 3 else shown[..., None]
        assert (shown == pixels).all()


@pytest.mark.parametrize("sizes", [
    {"height": 10, "width": 11, "depth": 1}, {"height": 2**62, "width": 4},
    {"height": -12, "width": -10}, {"height": [12, 12], "width": 10},
    {"height": b"12", "width": 10.0}, {"height": 0, "width": 0},
    {"height": 12, "width": 10, "depth": 2},
])  # fmt: skip
def test_sizes_that_do_not_fit_are_ignored(sizes: dict[str, int]) -> None:
    cells = cells_of({"raw": bytes(range(120)), "ints": list(range(120)), **sizes})
    assert not pictures(cells["raw"])
    assert not pictures(cells["ints"])


@pytest.mark.parametrize("form", ["raw", "ints", "floats", "tensor"])
def test_masks_are_seen(form: str) -> None:
    mask = np.eye(12, dtype=np.uint8)
    value = {
        "raw": mask.tobytes(),
        "ints": mask.ravel().astype(np.int64),
        "floats": mask.ravel().astype(np.float32),
        "tensor": serialize_tensor(mask),
    }[form]
    cell = cells_of({"x": value, "height": 12, "width": 12})["x"]
    (shown,) = pictures(cell)
    assert set(np.unique(shown[..., 0] if shown.ndim == 3 else shown)) == {0, 255}
    assert "12 x 12 pixels, 1 channel, each 0 or 1" in plain(cell.html)


@pytest.mark.parametrize(("values", "extent"), [
    ([np.nan] * 20, "20 NaN"), ([np.inf, -np.inf] * 10, "20 infinite"), ([7.0] * 513, "all 7"),
    ([1.0, np.nan, np.inf, 2.0] * 5, "1 to 2, 5 NaN, 5 infinite"),
])  # fmt: skip
def test_of_many_numbers_the_extent_is_said(values: list[float], extent: str) -> None:
    cell = cells_of({"x": np.array(values, np.float32)})["x"]
    assert plain(cell.html).endswith(f"… {len(values)} values {extent}")


def test_tensors() -> None:
    cells = cells_of(
        {
            "matrix": serialize_tensor(np.arange(12.0).reshape(3, 4)),
            "vector": serialize_tensor(np.arange(30)),
            "few": serialize_tensor(np.array([1.5, 2.5], np.float32)),
            "image": serialize_tensor(np.zeros((10, 12, 3), np.uint8)),
            "strings": serialize_tensor(np.array([b"<a>", b"b"], object)),
            "empty": serialize_tensor(np.zeros((0, 3))),
            "complex": serialize_tensor(np.array([1 + 2j])),
            "flags": serialize_tensor(np.array([True, False])),
        }
    )
    texts = {name: plain(cell.html) for name, cell in cells.items()}

    assert texts["matrix"] == "float64 tensor [3, 4] 0, 1, 2, 3, 4, 5, 6, 7 … 12 values 0 to 11"
    assert texts["vector"] == "int64 tensor [30] 0, 1, 2, 3, 4, 5, 6, 7 … 30 values 0 to 29"
    assert texts["few"] == "float32 tensor [2] 1.5, 2.5"
    assert texts["image"] == "uint8 tensor [10, 12, 3] 12 x 10 pixels, 3 channels"
    assert texts["strings"] == "string tensor [2] <a> b"
    assert texts["empty"] == "float64 tensor [0, 3] no values"
    assert texts["complex"] == "complex128 tensor [1] (1+2j)"
    assert texts["flags"] == "bool tensor [2] True, False"
    assert [len(pictures(cells[name])) for name in ("matrix", "image")] == [0, 1]


def test_a_tensor_that_repeats_a_value_is_not_filled() -> None:
    bomb = bytes.fromhex("0801 1208 1206 08808080800f 2d 00000000")
    assert "too large" in plain(cells_of({"x": bomb})["x"].html)


def test_numpy_files() -> None:
    out = io.BytesIO()
    np.save(out, np.arange(6.0).reshape(2, 3))
    cells = cells_of({"whole": out.getvalue(), "cut": out.getvalue()[:-9]})
    assert plain(cells["whole"].html) == "float64 array [2, 3] 0, 1, 2, 3, 4, 5"
    assert "cannot be parsed" in plain(cells["cut"].html)


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array(["x"] * 20), f"str32 array [20] {'x ' * 8}… 20 values"),
        (np.array([["ab"] * 2] * 3).T, "str64 array [2, 3] ab ab ab ab ab ab"),
        (np.array([b"yes", b"no"]), "bytes24 array [2] yes no"),
        (np.zeros(2, "V3"), "void24 array [2] 00 00 00 00 00 00"),
    ],
)  # fmt: skip
def test_numpy_files_of_other_dtypes(array: AnyArray, text: str) -> None:
    out = io.BytesIO()
    np.save(out, array)
    assert plain(cells_of({"x": out.getvalue()})["x"].html) == text


@pytest.mark.needs("dtypes")
@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "int4"])
def test_tensors_of_small_dtypes(dtype: str) -> None:
    import ml_dtypes

    array = np.arange(6).astype(getattr(ml_dtypes, dtype))
    tensors = {"few": serialize_tensor(array), "matrix": serialize_tensor(array.reshape(2, 3))}
    texts = {name: plain(cell.html) for name, cell in cells_of(tensors).items()}
    assert texts["few"] == f"{dtype} tensor [6] 0, 1, 2, 3, 4, 5"
    assert texts["matrix"] == f"{dtype} tensor [2, 3] 0, 1, 2, 3, 4, 5"
