"""Records in Keras 3, on JAX."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

os.environ.setdefault("KERAS_BACKEND", "jax")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
keras: Any = pytest.importorskip("keras")

from tfrecord_lite import (  # noqa: E402 - the backend is chosen first
    FixedLenFeature,
    InvalidArgumentError,
    TFRecordDataset,
    TFRecordFile,
    save,
)
from tfrecord_lite.integrations.keras import keras_dataset  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

FEATURES = {
    "x": FixedLenFeature([3], "float32"),
    "y": FixedLenFeature([], "float32"),
    "n": FixedLenFeature([], "int64"),
}
PAIR = {"x": FEATURES["x"], "y": FEATURES["y"]}
N_RECORDS = 130


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write records whose y follows from x."""
    x = np.random.default_rng(0).normal(size=(N_RECORDS, 3)).astype(np.float32)
    y = (x @ np.array([1, -2, 0.5]) + 3).astype(np.float32)
    save(tmp_path / "x.tfrecord", {"x": x, "y": y, "n": np.arange(N_RECORDS)})
    return tmp_path / "x.tfrecord"


def model() -> Any:
    keras.utils.set_random_seed(1)
    made = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    made.compile(keras.optimizers.Adam(0.2), "mse")
    return made


@pytest.mark.parametrize("workers", [1, 3])
def test_a_model_is_trained(path: Path, workers: int) -> None:
    trained = model()
    data = keras_dataset(path, PAIR, "y", 16, shuffle=True, seed=3, workers=workers)
    before = trained.evaluate(data, verbose=0)
    trained.fit(data, epochs=15, verbose=0)
    assert trained.evaluate(data, verbose=0) < before / 50
    inputs = keras_dataset(path, {"x": FEATURES["x"]}, batch_size=16)
    assert trained.predict(inputs, verbose=0).shape == (N_RECORDS, 1)


def test_a_pipeline_is_a_generator(path: Path) -> None:
    dataset = TFRecordDataset(path).shuffle(64, seed=1).repeat().batch(16).parse_example(PAIR)
    pairs = ((columns["x"], columns["y"]) for columns in dataset)
    trained = model()
    fitted = trained.fit(pairs, steps_per_epoch=8, epochs=15, shuffle=False, verbose=0)
    history = fitted.history["loss"]
    assert history[-1] < history[0] / 10


def test_each_record_comes_once_per_epoch_in_another_order(path: Path) -> None:
    data = keras_dataset(path, FEATURES, ["y", "n"], 16, shuffle=True, seed=7)
    again = keras_dataset(TFRecordFile(path), FEATURES, ["y", "n"], 16, shuffle=True, seed=7)
    orders = []
    for _ in range(3):
        batches = [data[i] for i in range(len(data))]
        assert [len(x) for x, _ in batches] == [16] * 8 + [2]
        orders.append(np.concatenate([y["n"] for _, y in batches]).tolist())
        assert orders[-1] == np.concatenate([again[i][1]["n"] for i in range(9)]).tolist()
        data.on_epoch_end()
        again.on_epoch_end()
    assert [sorted(order) for order in orders] == [list(range(N_RECORDS))] * 3
    assert orders[0] != orders[1] != orders[2]


def test_batches_are_inputs_targets_or_what_a_function_makes(path: Path) -> None:
    plain = keras_dataset(path, FEATURES, batch_size=100, drop_remainder=True)
    assert len(plain) == plain.num_batches == 1
    (inputs,) = plain[0]
    assert set(inputs) == {"x", "y", "n"}
    x, y = keras_dataset(path, FEATURES, "n", 4)[2]
    assert set(x) == {"x", "y"}
    assert y.tolist() == [8, 9, 10, 11]

    def halved(columns: dict[str, Any]) -> dict[str, Any]:
        return {"image": columns["x"] / 2, "label": columns["n"] % 2}

    x, y = keras_dataset(path, FEATURES, "label", 4, transform=halved)[0]
    assert (x.shape, y.tolist()) == ((4, 3), [0, 1, 0, 1])
    made = keras_dataset(path, FEATURES, batch_size=2, transform=lambda c: (c["x"], c["y"], c["n"]))
    assert [len(part) for part in made[0]] == [2, 2, 2]


def test_a_wrong_label_is_named(path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="'z' is not a feature"):
        keras_dataset(path, PAIR, "z")
    with pytest.raises(InvalidArgumentError, match="batch_size"):
        keras_dataset(path, PAIR, "y", 0)
