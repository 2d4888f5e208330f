"""The recipes of the guide 'Training libraries', in two processes: each record once in each epoch."""

import functools
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks import training_ranks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

N_RECORDS = 1003
N_BATCHES = 16
"""Of a rank in an epoch, if its last one may be short."""
EPOCHS = {
    "torch": {"DDP": 2, "accelerate": 6, "Fabric": 4, "Trainer": 2, "Lightning": 2},
    "jax": {"JAX": 2, "Keras": 2, "Grain": 4},
    "ray": {"Ray Train": 2},
}
"""How many epochs each recipe goes through, by the libraries that share processes."""


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a function that runs the recipes of a family once, and reads the ids of each rank's batches."""

    @functools.cache
    def run(family: str) -> Path:
        folder = tmp_path_factory.mktemp(family)
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = str(server.getsockname()[1])
        n_ranks = 1 if family == "ray" else 2
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
            "CUDA_VISIBLE_DEVICES": "",
            "ACCELERATE_USE_CPU": "true",
            "OMP_NUM_THREADS": "1",
            "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
            "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo",
            "KERAS_BACKEND": "jax",
        }
        processes = []
        for rank in map(str, range(n_ranks)):
            ranks = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
            command = [sys.executable, training_ranks.__file__, family]
            variables = {**environment, **(ranks if n_ranks > 1 else {})}
            with (folder / f"log-{rank}").open("w") as log:
                process = subprocess.Popen(
                    command, cwd=folder, env=variables, stdout=log, stderr=log
                )
            processes.append(process)
        while None in (codes := [process.poll() for process in processes]):
            time.sleep(0.1)
            if any(codes):  # the others would wait
                for process in processes:
                    process.kill()
        assert not any(codes), "\n".join(log.read_text()[-2000:] for log in folder.glob("log-*"))
        return folder

    def read(family: str, recipe: str) -> list[list[list[int]]]:
        files = [run(family) / f"{recipe}-{rank}" for rank in range(2)]
        return [list(map(json.loads, file.read_text().splitlines())) for file in files]

    return read


@pytest.mark.parametrize(
    ("family", "recipe"), [(family, recipe) for family in EPOCHS for recipe in EPOCHS[family]]
)
def test_each_record_is_read_once_in_an_epoch(batches: Any, family: str, recipe: str) -> None:
    ranks = batches(family, recipe)
    is_full = recipe in ("JAX", "Keras")
    n_batches = N_BATCHES - is_full
    assert [len(rank) for rank in ranks] == [EPOCHS[family][recipe] * n_batches] * 2
    orders = []
    for first in range(0, len(ranks[0]), n_batches):
        epoch = [batch for rank in ranks for batch in rank[first : first + n_batches]]
        ids = [i for batch in epoch for i in batch]
        if is_full:
            assert {len(batch) for batch in epoch} == {32}
            assert len(set(ids)) >= len(ids) - 1
        else:
            assert set(ids) == set(range(N_RECORDS))
            assert len(ids) <= 2 * 32 * N_BATCHES  # where the last batches are made full
        orders.append(tuple(ids))
    assert len(set(orders)) == len(orders)


@pytest.mark.parametrize("recipe", ["Trainer", "Lightning"])
@pytest.mark.parametrize("n_steps", [16, 24])
def test_a_run_goes_on_where_it_was_stopped(batches: Any, recipe: str, n_steps: int) -> None:
    whole, rest = batches("torch", recipe), batches("torch", f"{recipe} after {n_steps}")
    assert rest == [rank[n_steps:] for rank in whole]
