"""Inputs to begin with: what the tests make, a few dozen of each sort.

Each target's inputs begin with a byte of options where its function says so.
"""

import gzip
import json
import random
import zlib

from tests.apps.events.event_messages import FORMS, TENSORS, VERSION, event, metadata, tensor
from tests.long_run import some_batch
from tests.support import reference
from tests.support.agreement import EXAMPLES, program_in_any_order
from tests.support.agreement import SEQUENCES as SEQUENCES_OF
from tests.support.example_messages import Pattern, look_alike, plain, some_features
from tests.support.reference_example import BYTES, FLOAT, INT64
from tests.tensors import tensor_messages
from tfrecord_lite import FixedLenFeature, RaggedFeature, Schema, VarLenFeature
from tfrecord_lite.messages import Event, HistogramProto, Summary
from tfrecord_lite.records.framing import frame

_PER_SORT = 24

TO_COMPRESS = b"\xff"
"""What an input begins with whose rest is to be compressed: three bytes of options, then content."""


def _rng() -> random.Random:
    return random.Random(20)


def _patterns() -> list[Pattern]:
    return [
        Pattern((b"a",), (INT64,), (1,), (1,)),
        Pattern((b"a", b"b", b"label"), (FLOAT, BYTES, INT64), (2, None, 1), (1, 9, 1)),
        Pattern((b"b", b"longer/name"), (INT64, FLOAT), (None, 33), (3, 1)),
    ]


def _look_alikes() -> list[list[bytes]]:
    """Return messages of a few programs; the engine predicts one from those before it."""
    below = _rng().randrange
    return [[], *[[plain(look_alike(below, p)) for _ in range(20)] for p in _patterns()]]


def _shuffled() -> list[list[bytes]]:
    """Return messages of a few programs that write their features in any order."""
    rng = _rng()
    programs = [program_in_any_order(rng) for _ in range(4)]
    return [[write() for _ in range(20)] for write in programs]


def _sequence_batches() -> list[list[bytes]]:
    rng = _rng()
    found: list[list[bytes]] = [[]]
    while len(found) < 4:
        count: dict[str, int] = {"look-alikes": 0, "damaged": 0}
        batch = some_batch(SEQUENCES_OF, rng, count)  # type: ignore[arg-type]
        if count["look-alikes"] and not count["damaged"]:
            found.append(batch[:20])
    return found


LOOK_ALIKES = _look_alikes()
ANY_ORDER = _shuffled()
SEQUENCES = _sequence_batches()
EVENT = event(1, Summary.Value(tag="loss", simple_value=0.5))


def files() -> list[bytes]:
    rng = _rng()
    records = [[rng.randbytes(rng.choice((0, 1, 5, 40))) for _ in range(n)] for n in range(4)]
    intact = [reference.encode(items) for items in records]
    cut = [stream[: rng.randrange(len(stream) + 1)] for stream in intact]
    long = [intact[1] + reference.encode_header(n) for n in (2**31, 2**63, 2**64 - 1, 17)]
    return [bytes([options]) + stream for options in range(16) for stream in intact + cut + long]


def compressed_files() -> list[bytes]:
    rng = _rng()
    plain_ones = [item[1:] for item in files()[:4]]
    found = []
    for stream in plain_ones:
        for level in (0, 9):
            found += [gzip.compress(stream, level, mtime=0), zlib.compress(stream, level)]
    found.append(gzip.compress(plain_ones[1], mtime=0) + gzip.compress(plain_ones[2], mtime=0))
    found += [item[: rng.randrange(len(item))] for item in found]
    joined = [b"".join(rng.choices(found, k=3)) for _ in range(_PER_SORT)]
    options = [bytes([i, rng.randrange(256), rng.randrange(256)]) for i in range(0, 256, 11)]
    to_compress = [TO_COMPRESS + head + rng.choice(plain_ones) for head in options]
    stored = [gzip.compress(reference.encode([b"", item, b"x"]), 0, mtime=0) for item in found]
    return found + joined + stored + to_compress


def plain_examples() -> list[bytes]:
    below = _rng().randrange
    found = [plain(some_features(below)) for _ in range(_PER_SORT)]
    found += [EXAMPLES.encoding(below, odd) for odd in (3, 20)]
    return found + [messages[0] for messages in LOOK_ALIKES[1:]]


def examples() -> list[bytes]:
    """Return Examples, and which look-alikes go with them."""
    batches = [bytes([i]) + message for i, m in enumerate(LOOK_ALIKES) for message in m[:4]]
    return batches + [b"\0" + message for message in plain_examples()]


def shuffled_examples() -> list[bytes]:
    """Return Examples of plain entries, and which others go with them."""
    options = [bytes([high | i]) for high in (0, 128) for i in range(len(ANY_ORDER))]
    return [head + message for head in options for message in ANY_ORDER[head[0] % 4][:4]]


def sequence_examples() -> list[bytes]:
    """Return SequenceExamples, and which look-alikes go with them."""
    below = _rng().randrange
    batches = [bytes([i]) + message for i, m in enumerate(SEQUENCES) for message in m[:4]]
    odd = [SEQUENCES_OF.encoding(below, 6) for _ in range(_PER_SORT)]
    return batches + [b"\0" + message for message in odd]


def tensors() -> list[bytes]:
    rng = _rng()
    return [tensor_messages.random_proto(rng)[0] for _ in range(8 * _PER_SORT)]


def events() -> list[bytes]:
    values = [
        Summary.Value(tag="n", simple_value=2),
        Summary.Value(tag="i", image=Summary.Image(width=3, encoded_image_string=b"png")),
        Summary.Value(tag="h", histo=HistogramProto(min=-1, bucket=[1], bucket_limit=[2])),
        Summary.Value(tag="s", audio=Summary.Audio(encoded_audio_string=b"wav")),
        Summary.Value(tag="t", tensor=tensor("text"), metadata=metadata("text")),
        *[Summary.Value(tag="t", tensor=item) for item in TENSORS],
    ]
    assert {value.WhichOneof("value") for value in values} == set(FORMS)
    found = [event(step, value) for step, value in enumerate(values)]
    found += [VERSION, Event(graph_def=b"graph").SerializeToString(), event(1, *values[:3])]
    each = [bytes([n]) + message for message in found for n in (1, 30)]
    return [*each, b"\0" + bytes(frame(found[:3])), b"\0" + bytes(frame([VERSION, *found]))]


def schemas() -> list[bytes]:
    """Return a schema file of each format, and of most sorts of features."""
    a = FixedLenFeature([2], "float32", default_value=[0.0, 1.0])
    c = RaggedFeature("string", partitions=[RaggedFeature.RowLengths("n")])
    shape = {"shape": {"dimensions": ["2"]}, "dtype": "float32", "encoding": "none"}
    x = {"pythonClassName": "a.tensor_feature.Tensor", "tensor": shape}
    y = {"pythonClassName": "a.ClassLabel", "classLabel": {"numClasses": "10"}}
    node = {"pythonClassName": "a.FeaturesDict", "featuresDict": {"features": {"x": x, "y": y}}}
    return [
        Schema({"a": a, "b": VarLenFeature("int64"), "c": c}).to_json().encode(),
        json.dumps(node).encode(),
        b"image:\n  dtype: 4\n  shape: [28, 28]\nname:\n  dtype: 7\n  shape: []\n",
        b"x: &a [1, 2]\ny: *a\nz: !!python/tuple [3]\n",
        b'feature { name: "x" type: FLOAT presence { min_fraction: 1.0 } shape { dim { size: 2 } } }',
        b'feature { name: "y" type: BYTES value_count { min: 1 max: 3 } }',
        b'sparse_feature { name: "s" index_feature { name: "i" } value_feature { name: "v" } }',
    ]  # fmt: skip
