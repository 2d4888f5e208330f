"""Play recipes of the guide 'Training libraries', as one process of two; note the ids of each batch.

Run as a program, with a family of libraries as its argument. The page's code is executed as it stands: each
recipe after what all have in common.
"""

import contextlib
import functools
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "training-libraries.md"
HEAD, *SECTIONS = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
FOLDER = Path.cwd()


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


RECIPES = {text.partition("\n")[0]: blocks(text) for text in SECTIONS}


def run(code: str, names: dict[str, Any]) -> None:
    exec(code, names)  # noqa: S102 - our own


@functools.cache
def common() -> dict[str, Any]:
    """Return the names of the files, which this process writes once."""
    names: dict[str, Any] = {"__name__": "__main__"}
    folder = FOLDER / f"data-{os.getpid()}"
    folder.mkdir()
    with contextlib.chdir(folder):
        run(blocks(HEAD)[0], names)
    return names


def play(title: str, *before: str) -> dict[str, Any]:
    """Run a recipe, after code of others that it needs; return its names.

    Notes are the ids that the model, or `step`, is given, or that Keras draws.
    """
    names = {**common(), "title": title}

    def note(rank: int, ids: Any) -> None:
        with (FOLDER / f"{names['title']}-{rank}").open("a") as file:
            print(json.dumps(ids.tolist()), file=file)

    if title in ("JAX", "Keras", "Grain"):
        _listen_to_step(names, note)
    else:
        _listen_to_model(names, note)
    for code in (*before, *RECIPES[title]):
        run(code, names)
    return names


def _listen_to_model(names: dict[str, Any], note: Any) -> None:
    import torch

    run(blocks(HEAD)[1], names)
    forward = names["Model"].forward

    def noted(self: Any, **batch: Any) -> Any:
        note(torch.distributed.get_rank(), batch["id"])
        return forward(self, **batch)

    names["Model"].forward = noted


def _listen_to_step(names: dict[str, Any], note: Any) -> None:
    import jax
    import numpy as np

    def step(batch: Any) -> Any:
        ids = batch["id"]
        if isinstance(ids, jax.Array):
            ids = np.concatenate([shard.data for shard in ids.addressable_shards])
        note(jax.process_index(), ids)
        return batch

    batches_of = names["batches_of"]
    names.update(jax=jax, step=step)
    if names["title"] == "Keras":
        names["batches_of"] = lambda *ranks, **settings: batches_of(*ranks, **settings).map(step)


def play_torch() -> None:
    """Play all that share a process group of torch."""
    import torch

    torch.distributed.init_process_group("gloo")
    play("DDP")
    play("accelerate")
    play("Fabric", RECIPES["Lightning"][-1])
    for name, run, checkpoint in (
        ("Trainer", "train", "out/checkpoint-{}"),
        ("Lightning", "fit", "checkpoints/step={}.ckpt"),
    ):
        names = play(name)
        for n_steps in (16, 24):
            names["title"] = f"{name} after {n_steps}"
            names[run](checkpoint.format(n_steps))


def play_jax() -> None:
    """Play all on four devices of each process."""
    import jax

    place = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    jax.distributed.initialize(place, int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"]))
    for name in ("JAX", "Keras", "Grain"):
        play(name)


def play_ray() -> None:
    """Start the processes by Ray."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    play("Ray Train")
    ray.shutdown()


if __name__ == "__main__":
    {"torch": play_torch, "jax": play_jax, "ray": play_ray}[sys.argv[1]]()
