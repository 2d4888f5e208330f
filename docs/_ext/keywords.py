"""The words that lead to a guide in the search and the index, though its title lacks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sphinx import addnodes

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

# An exact match comes first among the results, before functions of that name.
KEYWORDS = {
    "tutorial/install": "install, pip",
    "how-to/beam": "Beam, Dataflow, Flink",
    "how-to/big-jobs": "cluster, distributed",
    "how-to/damaged-files": "checksum, corrupt, corruption, CRC, damage, damaged, DataLossError, truncated",
    "how-to/coming-from": "vahidk, tf.data.Dataset, spark-tfrecord",
    "how-to/dask": "Daft, Dask, Modin",
    "how-to/datasets": "batch, checkpoint, epochs, resume, shuffle, workers",
    "how-to/events": "event files, summaries, TensorBoard",
    "how-to/examples": "dense, missing values, parse, ragged, sparse",
    "how-to/faster": "multiprocessing, performance, speed, threads",
    "how-to/images": "image, images, JPEG, PNG, Pillow",
    "how-to/jax-keras-grain": "Flax, Grain, JAX, Keras, model.fit",
    "how-to/loaders": "ArrayRecord, DALI, MosaicML, webdataset",
    "how-to/machines": "rank, ranks, TPU, TPU pod, torchrun, process_index, multi-host",
    "how-to/moving-off-tensorflow": "migration, TensorFlow, tf.data, tf.io, tf.train",
    "how-to/ray": "Ray",
    "how-to/real-data": "Open X-Embodiment, RLDS, YouTube-8M, Waymo, ImageNet, C4, Kaggle, MeshGraphNets, Basenji, DeepVariant, ELWC, seqio, TF-Agents, TF-GNN, TFX Transform, tokens, packing",
    "how-to/records": "append, compression, gzip, random access, shards, zlib, zstd",
    "how-to/remote-files": "fsspec, GCS, Google Cloud Storage, HTTP, S3, URL",
    "how-to/sequences": "feature lists, mask, masks, padding, SequenceExample",
    "how-to/spark": "PySpark, Spark",
    "how-to/statistics": "distribution, drift, histogram, statistics",
    "how-to/tables": "Arrow, CSV, DuckDB, Hugging Face, JSON, JSON lines, pandas, Parquet, Polars, SQL",
    "how-to/tensors": "array, bfloat16, tensor, tensors",
    "how-to/testing": "Hypothesis, pytest",
    "how-to/tfds": "TFDS, tensorflow_datasets, load_tfds",
    "how-to/torch": "DataLoader, DDP, PyTorch, torch",
    "how-to/protobufs": "PredictionLog, NoteSequence, protoc, decode_raw",
    "how-to/unknown-files": "inspect, IPython, Jupyter, notebook, view, viewer",
    "how-to/write-data": "data frame, DataFrame, encode, features.json, schema, schemas, TFX, write",
    "reference/typing": "mypy, pyright, type checker",
}


def _add(app: Sphinx, doctree: nodes.document) -> None:
    words = KEYWORDS.get(app.env.docname, "")
    entries = [
        ("single", word.strip(), "", "main", None) for word in words.split(",") if word
    ]
    doctree.insert(0, addnodes.index(entries=entries))


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the words to each page when it has been read."""
    app.connect("doctree-read", _add)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
