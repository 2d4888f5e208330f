"""Data sets that TensorFlow Datasets itself writes: load_tfds gives what it gives, value for value and dtype for dtype."""

import itertools
import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfrecord_lite import load_tfds, read_batches
from tfrecord_lite.apps.images import decode_image
from tfrecord_lite.apps.tfds import parts_of, tfds_info
from tfrecord_lite.errors import InvalidArgumentError

tfds = pytest.importorskip("tensorflow_datasets")
F = tfds.features

N_ROWS = 4
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMBERS = ["bool", *INTEGERS, "float16", "float32", "float64"]
PLAIN: list[Any] = [(), (3,), (2, 3), (None,), (None, 2), (2, None)]
ENCODED: list[Any] = [(2, 2), (None, 2), (2, None), (None, None), (None, 2, None)]


def array(dtype: str, shape: Any, seed: Any) -> Any:
    """Return an array whose unknown dimensions have some length."""
    random = np.random.default_rng([*map(ord, dtype), *seed])
    dims = [int(random.integers(1, 4)) if dim is None else dim for dim in shape]
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return random.integers(limits.min, limits.max, dims, kind, endpoint=True)
    if kind.kind == "b":
        return random.integers(0, 2, dims).astype(bool)
    if kind.kind == "c":
        return (random.normal(size=dims) + 1j * random.normal(size=dims)).astype(kind)
    # Of float64 a list has the digits of float32 only.
    return np.asarray(random.normal(size=dims).astype("float32")).astype(kind)


def tensors(dtype: str, shape: Any, encoding: str = "none") -> Iterator[Any]:
    """Return the feature, then what each record has of it."""
    yield F.Tensor(shape=shape, dtype=np.dtype(dtype).type, encoding=encoding)
    for row in range(N_ROWS):
        yield array(dtype, shape, [row])


def in_sequences(inner: Callable[[], Iterator[Any]], lengths: Any) -> Iterator[Any]:
    """Return a sequence of a feature, given how many each record has of it; lists of numbers for nested ones."""
    feature, *values = inner()
    pool = itertools.cycle(values)

    def items(count: Any) -> Any:
        return [next(pool) if each is None else items(each) for each in count]

    depth = max(map(_depth, lengths))
    for _ in range(depth):
        feature = F.Sequence(feature)
    yield feature
    yield from map(items, lengths)


def _depth(item: Any) -> int:
    return 1 + max(map(_depth, item), default=0) if isinstance(item, list) else 0


FLAT = [[None] * 2, [], [None], [None] * 3]
NESTED = [[[None], [], [None] * 2], [], [[]], [[None] * 3]]


def of_steps() -> Iterator[Any]:
    """Return episodes as RLDS has them."""
    yield F.Dataset(
        {
            "boxes": F.Sequence(F.BBoxFeature()),
            "image": F.Image(shape=(2, 3, 3)),
            "observation": {"state": F.Tensor(shape=(7,), dtype=np.float64), "ok": np.bool_},
            "language_instruction": F.Text(),
        }
    )
    for row in range(N_ROWS):
        yield [
            {
                "boxes": [F.BBox(0.125, 0.25, 0.5, 1.0)] * ((row + step) % 3),
                "image": array("uint8", (2, 3, 3), [row, step]),
                "observation": {"state": array("float64", (7,), [row, step]), "ok": step % 2 == 0},
                "language_instruction": f"pick {step} ü",
            }
            for step in range(row)
        ]


def images(dtype: str, channels: int, encoding: str | None = None) -> Iterator[Any]:
    shape = (None, None, channels)
    yield F.Image(shape=shape, dtype=np.dtype(dtype).type, encoding_format=encoding)
    for row in range(N_ROWS):
        yield array(dtype, shape, [row])


def optionals(dtype: str, shape: Any) -> Iterator[Any]:
    yield F.Tensor(shape=shape, dtype=np.dtype(dtype).type, optional=True)
    for row in range(N_ROWS):
        yield None if row % 2 else array(dtype, shape, [row])


OTHERS: dict[str, Callable[[], list[Any]]] = {
    "text": lambda: [F.Text(), "a", "", "ü\0", "\N{GRINNING FACE}"],
    "scalar": lambda: [F.Scalar(dtype=np.int16), 1, -2, 3, -4],
    "label": lambda: [F.ClassLabel(num_classes=5), 0, 4, 1, 2],
    "names": lambda: [F.ClassLabel(names=["cat", "dog"]), "dog", "cat", 1, 0],
    "box": lambda: [F.BBoxFeature(), *[F.BBox(0.1, 0.2, 0.3, x) for x in (0.4, 0.5, 0.75, 1.0)]],
    "dict": lambda: [
        {"a": np.int64, "b": {"c": F.Text(), "d": F.Sequence(np.float32)}},
        *[{"a": x, "b": {"c": str(x), "d": [x] * x}} for x in range(N_ROWS)],
    ],
    "strings": lambda: [F.Tensor(shape=(None,), dtype=np.str_), ["a"], [], ["b", ""], ["c"]],
    "audio": lambda: [F.Audio(), *[array("int64", (None,), [x]) for x in range(N_ROWS)]],
    "video": lambda: [
        F.Video(shape=(None, 2, 3, 3)),
        *[list(array("uint8", (x, 2, 3, 3), [x])) for x in range(N_ROWS)],
    ],
    "translation": lambda: [
        F.Translation(["de", "en"]),
        *[{"de": f"{x} ü", "en": f"{x}"} for x in range(N_ROWS)],
    ],
    "translations": lambda: [
        F.TranslationVariableLanguages(["de", "en", "fr"]),
        *[{"en": ["x"] * x, "de": "y"} for x in range(N_ROWS)],
    ],
    "tracks": lambda: [
        F.Sequence({"boxes": F.Sequence(F.BBoxFeature()), "id": np.int32}),
        *[
            [{"boxes": [F.BBox(0.0, 0.5, 1.0, 1.0)] * n, "id": n} for n in range(x)]
            for x in range(N_ROWS)
        ],
    ],
    "of length": lambda: [
        F.Sequence(F.Tensor(shape=(2,), dtype=np.int8), length=3),
        *[array("int8", (3, 2), [x]) for x in range(N_ROWS)],
    ],
    "steps": lambda: list(of_steps()),
}
CASES: dict[str, Callable[[], Any]] = {
    **{f"{d} {s}": partial(tensors, d, s) for d in NUMBERS for s in PLAIN},
    **{
        f"{d} {s} {e}": partial(tensors, d, s, e)
        for d in [*NUMBERS, "complex64"]
        for e in ("bytes", "zlib")
        for s in ENCODED
        if d != "uint32"  # which TFDS itself does not read
    },
    **{f"sequence of {d}": partial(in_sequences, partial(tensors, d, ()), FLAT) for d in NUMBERS},
    **{
        f"sequence of {d} (2,) {e}": partial(in_sequences, partial(tensors, d, (2,), e), FLAT)
        for d, e in [("int16", "bytes"), ("float32", "zlib"), ("uint8", "none"), ("int64", "none")]
    },
    **{
        f"sequences of {d} {s}": partial(in_sequences, partial(tensors, d, s), NESTED)
        for d in ("int32", "float64", "bool")
        for s in ((), (4,), (2, 3))
    },
    "sequences of text": lambda: in_sequences(lambda: iter(OTHERS["text"]()), NESTED),
    **{
        f"image {d} {n}": partial(images, d, n, "png")
        for d, n in [("float32", 1), *itertools.product(["uint8", "uint16"], [1, 3, 4])]
    },
    **{
        f"optional {d} {s}": partial(optionals, d, s)
        for d in ("int32", "uint8", "bool", "float32")
        for s in ((), (2,))
    },
    **OTHERS,
}
assert len(CASES) >= 216


def written(folder: Path, feature: Any, rows: list[Any], **more: Any) -> Any:
    """Have TFDS write a data set with one feature; return the builder."""

    class Small(tfds.core.GeneratorBasedBuilder):  # type: ignore[misc, name-defined]
        VERSION = tfds.core.Version("1.0.0")

        def _info(self) -> Any:
            features = F.FeaturesDict({"x": feature, "n": np.int64})
            return tfds.core.DatasetInfo(builder=self, features=features, **more)

        def _split_generators(self, dl_manager: Any) -> Any:
            return {"train": ((n, {"x": row, "n": n}) for n, row in enumerate(rows))}

        def _generate_examples(self) -> None: ...

    builder = Small(data_dir=folder)
    builder.download_and_prepare()
    return builder


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.getLogger("absl").setLevel(logging.ERROR)
    tfds.disable_progress_bar()
    with tfds.core.registered.skip_registration():
        yield


def flat(example: Any, name: str = "") -> dict[str, Any]:
    """Return what TFDS gives of a record by name: steps, which are a data set, as lists of each feature."""
    if isinstance(example, dict):
        parts = [
            flat(item, f"{name}/{key}" if name else key).items() for key, item in example.items()
        ]
        return dict(itertools.chain(*parts))
    if hasattr(example, "numpy") or isinstance(example, np.ndarray | np.generic | bytes):
        return {name: example}
    rows = [flat(step, name) for step in example]
    return {key: [row[key] for row in rows] for key in (rows[0] if rows else ())}


def dtype_of(value: Any) -> Any:
    """Return the dtype of a value of TFDS or of ours; None if there is nothing that has one."""
    if isinstance(value, list):
        return next(filter(None, map(dtype_of, value)), None)
    value = getattr(value, "flat_values", value)
    if isinstance(value, bytes):
        return np.dtype(object)
    dtype = getattr(value, "dtype", None)
    return np.dtype(getattr(dtype, "as_numpy_dtype", dtype))


def plain(value: Any) -> Any:
    """Return nested lists of Python's numbers and bytes."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if hasattr(value, "to_list"):
        return value.to_list()
    return value.tolist() if hasattr(value, "tolist") else value


def decoded(stored: Any, like: Any) -> Any:
    """Decode images to what TFDS has of them."""
    if isinstance(stored, list):
        return [decoded(item, other) for item, other in zip(stored, like, strict=True)]
    shape, dtype = np.shape(like), dtype_of(like)
    return plain(decode_image(stored, shape[-1] if dtype != np.float32 else 0, dtype=dtype))


@pytest.mark.parametrize("name", CASES)
def test_a_data_set_is_read_as_tfds_reads_it(name: str, tmp_path: Path) -> None:
    feature, *rows = CASES[name]()
    builder = written(tmp_path, feature, rows)
    theirs = [flat(row) for row in tfds.as_numpy(builder.as_dataset(split="train"))]

    ours: Any = load_tfds(builder.data_path, "train")

    batch = next(iter(read_batches(tfds_info(builder.data_path).files("train"), batch_size=N_ROWS)))
    for key in ours:
        column, missing = (
            ours[key],
            np.ma.getmaskarray(ours[key]).reshape(N_ROWS, -1).any(1)
            if isinstance(ours[key], np.ma.MaskedArray)
            else np.zeros(N_ROWS, bool),
        )
        assert plain(batch[key]) == plain(column)
        for i in np.flatnonzero(~missing):
            there = theirs[i].get(key, [])
            if key != "n" and ("image" in f"{name} {key}" or name == "video"):
                assert decoded(plain(column[i]), there) == plain(there), key
                continue
            assert plain(column[i]) == plain(there), key
            if dtype_of(there) is not None:
                assert dtype_of(column) == dtype_of(there), key
        assert missing.sum() == (sum(row is None for row in rows) if key == "x" else 0)


def test_what_tfds_says_of_features(tmp_path: Path) -> None:
    feature = {
        "box": F.BBoxFeature(bbox_format=tfds.features.bounding_boxes.bb_utils.BBoxFormat.XYXY),
        "label": F.ClassLabel(names=["a", "b"]),
        "text": F.Text(),
    }
    row = {"box": F.BBox(0, 0, 1, 1), "label": "b", "text": "t"}
    keys = ({"b": "x/box", "a": "x/text"}, "x/label")
    builder = written(tmp_path, feature, [row] * N_ROWS, supervised_keys=keys)
    found = tfds_info(builder.data_path)
    assert (found.name, found.version, found.splits) == ("small", "1.0.0", {"train": N_ROWS})
    assert found.num_classes == {"x/label": 2}
    assert found.label_names == {"x/label": builder.info.features["x"]["label"].names}
    assert found.bbox_formats == {"x/box": "XYXY"}
    assert found.supervised_keys == builder.info.supervised_keys
    assert load_tfds(builder.data_path, "train", text=True)["x/text"].tolist() == ["t"] * N_ROWS


PERCENTS = [
    "", "0", "1", "-1", "2.5", "12.5", "33", "50", "66.6", "-7.5", "99.5", "100", "-100", ".9",
    "5.",
]  # fmt: skip
TOTALS = [1, 2, 3, 10, 53, 99, 100, 101, 200, 1000, 4096, 50000]


@pytest.mark.parametrize("total", TOTALS)
def test_percents_are_those_of_tfds(total: int) -> None:
    template = tfds.core.ShardedFileTemplate(
        data_dir="/nowhere", dataset_name="d", split="train", filetype_suffix="tfrecord"
    )
    splits = tfds.core.splits.SplitDict(
        [
            tfds.core.splits.SplitInfo(
                name="train", shard_lengths=[total], num_bytes=0, filename_template=template
            )
        ]
    )
    for start, stop in itertools.product(PERCENTS, PERCENTS):
        text = f"train[{start and start + '%'}:{stop and stop + '%'}]"
        try:
            files = splits[text].file_instructions
            expected = [(f.skip, f.skip + f.take if f.take >= 0 else total) for f in files]
        except ValueError:
            continue
        try:
            found = [part[1:] for part in parts_of(text, {"train": [total]})]
        except InvalidArgumentError as error:
            if "has no records" in str(error):  # TFDS has none, or a negative number of a file
                continue
            raise
        assert found == expected, text
