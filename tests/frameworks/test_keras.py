"""Records in Keras 3, on JAX, and on torch in an interpreter of its own."""

import importlib.util
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.errors import raised

os.environ.setdefault("KERAS_BACKEND", "jax")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
keras: Any = pytest.importorskip("keras")

from tests.support.subprocesses import run_fresh  # noqa: E402 - the backend is chosen first
from tfrecord_lite import FixedLenFeature, TFRecordDataset, TFRecordFile, save  # noqa: E402
from tfrecord_lite.errors import DataLossError, InvalidArgumentError  # noqa: E402
from tfrecord_lite.integrations.keras import keras_dataset  # noqa: E402

FEATURES = {
    "x": FixedLenFeature([3], "float32"),
    "y": FixedLenFeature([], "float32"),
    "n": FixedLenFeature([], "int64"),
}
PAIR = {"x": FEATURES["x"], "y": FEATURES["y"]}
N_RECORDS = 130


@pytest.fixture
def path(tmp_path: Path) -> Path:
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


def test_threads_get_the_batches_of_an_epoch(path: Path) -> None:
    made = keras_dataset(path, FEATURES, ["y", "n"], 4, shuffle=True, seed=7)
    for data in (made, pickle.loads(pickle.dumps(made))):
        for _ in range(2):
            with ThreadPoolExecutor(3) as pool:
                batches = list(pool.map(data.__getitem__, range(len(data))))
            order = data._order.reshape(-1)
            assert np.concatenate([y["n"] for _, y in batches]).tolist() == order.tolist()
            assert [len(x) for x, _ in batches] == [4] * 32 + [2]
            assert (data[7][1]["n"] == order[28:32]).all()
            data.on_epoch_end()


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


def test_missing_values_are_an_error_unless_they_are_filled(tmp_path: Path) -> None:
    path = tmp_path / "x.tfrecord"
    save(path, {"x": np.ma.masked_equal([1.5, 2, 3], 2)})
    with pytest.raises(InvalidArgumentError, match=r"'x' has missing values.*filled") as caught:
        keras_dataset(path, batch_size=3)[0]
    assert caught.value.key == "x"
    filled = keras_dataset(path, batch_size=3, transform=lambda columns: columns["x"].filled(0))
    assert filled[0].tolist() == [1.5, 0, 3]


def test_a_wrong_label_is_named(path: Path) -> None:
    raised(InvalidArgumentError, keras_dataset, path, PAIR, "z", match="'z' is not a feature")
    raised(InvalidArgumentError, keras_dataset, path, PAIR, "y", 0, match="batch_size")


def test_processes_make_batches_of_each_epoch(path: Path) -> None:
    data = keras_dataset(
        path, PAIR, "y", 16, shuffle=True, seed=3, workers=2, use_multiprocessing=True
    )
    assert data.use_multiprocessing
    trained = model()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)  # of a fork beside JAX's threads
        history = trained.fit(data, epochs=2, verbose=0).history["loss"]
    assert history[1] < history[0]


@pytest.mark.parametrize("workers", [1, 3])
def test_damage_and_wrong_kinds_are_located(path: Path, workers: int) -> None:
    wrong = {"x": FEATURES["x"], "y": FixedLenFeature([], "int64")}
    with pytest.raises(InvalidArgumentError, match=r"x\.tfrecord: record \d+.*'y'"):
        model().fit(keras_dataset(path, wrong, "y", 16, workers=workers), verbose=0)
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataLossError, match=r"x\.tfrecord: record 129, byte \d+"):
        model().fit(keras_dataset(path, PAIR, "y", 16, workers=workers), verbose=0)


ON_TORCH = """
import sys
import keras
import torch
from tfrecord_lite import FixedLenFeature, TFRecordDataset
from tfrecord_lite.integrations.keras import keras_dataset
from tfrecord_lite.integrations.torch import IterableTensors

assert keras.backend.backend() == "torch"
path = sys.argv[1]
features = {"x": FixedLenFeature([3], "float32"), "y": FixedLenFeature([], "float32")}


def model():
    keras.utils.set_random_seed(1)
    made = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    made.compile(keras.optimizers.Adam(0.2), "mse")
    return made


for settings in ({}, {"workers": 2, "use_multiprocessing": True}):
    data = keras_dataset(path, features, "y", 16, shuffle=True, seed=3, **settings)
    trained = model()
    before = trained.evaluate(data, verbose=0)
    trained.fit(data, epochs=15, verbose=0)
    assert trained.evaluate(data, verbose=0) < before / 50, settings
batches = TFRecordDataset(path).shuffle(64, seed=1).batch(16).parse_example(features, label_key="y")
pairs = batches.map(lambda x, y: (x["x"], y))
for workers in (0, 2):
    loader = torch.utils.data.DataLoader(IterableTensors(pairs), batch_size=None, num_workers=workers)
    trained = model()
    losses = trained.fit(loader, epochs=15, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 10, workers
print("done", "tensorflow" in sys.modules, "jax" in sys.modules)
"""


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_torch_is_a_backend_too(path: Path) -> None:
    assert run_fresh(ON_TORCH, path, KERAS_BACKEND="torch").startswith("done False")
