"""Feature specifications compared with TensorFlow's: signatures, and errors.

TensorFlow checks specifications when it parses, this library when it prepares them. So
each set of features goes through TensorFlow's parser, with no examples or an empty one,
and through ``prepare`` here; both must accept it, or reject it with the same class of
error (rules E2, E7, E8, X2, X7, X8, S1, S4, Z5, G). Deviations hold both answers.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.parity.answers import Answer, ask, assert_same_error
from tests.parity.rules import deviation, rule
from tfrecord_lite import schema
from tfrecord_lite.schema import Kind, prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[[Any], Any]

SPECIFICATIONS = [
    "FixedLenFeature",
    "VarLenFeature",
    "FixedLenSequenceFeature",
    "SparseFeature",
    "RaggedFeature",
]
PARTITIONS = [
    "RowSplits", "RowLengths", "RowStarts", "RowLimits", "ValueRowIds", "UniformRowLength",
]  # fmt: skip


def parameters(cls: Any) -> list[tuple[str, Any, Any]]:
    """Return name, kind and default of every parameter."""
    return [
        (p.name, p.kind, getattr(p.default, "as_numpy_dtype", p.default))
        for p in inspect.signature(cls).parameters.values()
    ]


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_specifications_have_the_same_signatures(tf: Any, name: str) -> None:
    assert parameters(getattr(schema, name)) == parameters(getattr(tf.io, name))


@pytest.mark.parametrize("name", PARTITIONS)
def test_partitions_have_the_same_signatures(tf: Any, name: str) -> None:
    ours, theirs = (getattr(io.RaggedFeature, name) for io in (schema, tf.io))

    assert parameters(ours) == parameters(theirs)
    assert ours.__qualname__ == f"RaggedFeature.{name}"


@pytest.mark.parametrize("kind", Kind)
def test_tensorflows_dtypes_are_taken(tf: Any, kind: Kind) -> None:
    theirs = tf.as_dtype(kind.label)

    assert schema.kind_of(theirs) is kind
    assert schema.RaggedFeature(theirs, row_splits_dtype=tf.int64).row_splits_dtype == np.int64
    assert schema.Original(theirs).dtype == kind.label
    for other in (tf.float64, tf.bfloat16, tf.resource, tf.variant, tf.bool, tf.qint8):
        assert isinstance(ask(schema.kind_of, other).error, ValueError | TypeError)


# ------------------------------------------------------------------- RaggedFeature, at once

RAGGED: dict[str, Callable[[Any], Any]] = {
    "no value_key": lambda io: io.RaggedFeature("float32"),
    "value_key int": lambda io: io.RaggedFeature("float32", 1),
    "value_key bytes": lambda io: io.RaggedFeature("float32", b"v"),
    "value_key empty": lambda io: io.RaggedFeature("float32", ""),
    "dtype int32": lambda io: io.RaggedFeature("int32"),
    "dtype float64": lambda io: io.RaggedFeature(np.float64),
    "dtype None": lambda io: io.RaggedFeature(None),
    "dtype junk": lambda io: io.RaggedFeature("junk"),
    "dtype list": lambda io: io.RaggedFeature([]),
    "dtype object": lambda io: io.RaggedFeature(object),
    "dtype float": lambda io: io.RaggedFeature(float),
    "splits int16": lambda io: io.RaggedFeature("int64", row_splits_dtype="int16"),
    "splits float": lambda io: io.RaggedFeature("int64", row_splits_dtype=np.float32),
    "splits None": lambda io: io.RaggedFeature("int64", row_splits_dtype=None),
    "splits junk": lambda io: io.RaggedFeature("int64", row_splits_dtype="junk"),
    "splits int64": lambda io: io.RaggedFeature("int64", row_splits_dtype=np.int64),
    "partitions": lambda io: io.RaggedFeature("int64", "v", [io.RaggedFeature.RowSplits("s")]),
    "partitions tuple": lambda io: io.RaggedFeature("int64", "v", ()),
    "one partition": lambda io: io.RaggedFeature("int64", "v", io.RaggedFeature.RowSplits("s")),
    "partitions text": lambda io: io.RaggedFeature("int64", "v", "ab"),
    "partitions None": lambda io: io.RaggedFeature("int64", "v", None),
    "partitions ints": lambda io: io.RaggedFeature("int64", "v", [3]),
    "validate int": lambda io: io.RaggedFeature("int64", validate=1),
    "validate numpy": lambda io: io.RaggedFeature("int64", validate=np.True_),
}


@rule("E8")
@pytest.mark.parametrize("make", RAGGED.values(), ids=RAGGED.keys())
def test_ragged_features_are_rejected_alike_when_made(tf: Any, make: Callable[[Any], Any]) -> None:
    theirs, ours = ask(make, tf.io), ask(make, schema)

    assert_same_error(theirs, ours)


# --------------------------------------------------------------------- all others, when used


def both(tf: Any, make: Make) -> tuple[Answer, Answer]:
    """Use features on both sides: there on no examples."""

    def theirs() -> Any:
        return tf.io.parse_example(np.array([], object), make(tf.io))

    return ask(theirs), ask(lambda: prepare(make(schema)))


FEATURES: dict[str, Make] = {
    "none": lambda _: None,
    "empty": lambda _: {},
    "text": lambda _: {"a": "x"},
    "no specification": lambda _: {"a": None},
    "a class": lambda io: {"a": io.VarLenFeature},
    "name int": lambda io: {1: io.FixedLenFeature([], "float32", 1)},
    "name bytes": lambda io: {b"a": io.FixedLenFeature([], "float32", 1)},
    "name empty": lambda io: {"": io.FixedLenFeature([], "float32")},
    "name surrogate": lambda io: {"\ud800": io.FixedLenFeature([], "float32", 1)},
    "allow_missing False": lambda io: {"a": io.FixedLenSequenceFeature([], "float32")},
    "allow_missing 0": lambda io: {"a": io.FixedLenSequenceFeature([], "float32", 0)},
    "allow_missing 1": lambda io: {"a": io.FixedLenSequenceFeature([], "float32", 1)},
}
for _name in SPECIFICATIONS[:3]:
    for _dtype in (None, "float16", "int32", "float64", "bool", "uint64", "junk", 1.5, object):
        _arguments: tuple[Any, ...] = () if _name == "VarLenFeature" else ([],)
        _more = (True,) if _name == "FixedLenSequenceFeature" else ()
        if _more and _dtype == "bool":
            continue  # the default padding, 0, is not a bool there: another error comes first
        FEATURES[f"{_name} {_dtype}"] = lambda io, n=_name, b=_arguments, d=_dtype, m=_more: {  # type: ignore[misc]
            "a": getattr(io, n)(*b, d, *m)
        }
for _shape in (None, 3, 0, (2,), [2, 3], [0], [None], [2, None], [-1], [2, -2], "2", ["2"], [2.0]):
    FEATURES[f"shape {_shape}"] = lambda io, s=_shape: {"a": io.FixedLenFeature(s, "float32")}  # type: ignore[misc]
for _shape in ((2,), [2, 3], [-1], ["2"], [2.0]):
    FEATURES[f"sequence of {_shape}"] = lambda io, s=_shape: {  # type: ignore[misc]
        "a": io.FixedLenSequenceFeature(s, "float32", allow_missing=True)
    }
for _padding in (None, 1, 1.0, [[1]], [], [1, 2], "a"):
    FEATURES[f"padding {_padding}"] = lambda io, p=_padding: {  # type: ignore[misc]
        "a": io.FixedLenSequenceFeature([], "float32", allow_missing=True, default_value=p)
    }
SPARSE: dict[str, tuple[Any, ...]] = {
    "one key": ("i", "v", "float32", 3),
    "keys": (["i", "j"], "v", "float32", [3, 4]),
    "keys tuple": (("i",), "v", "float32", [3]),
    "size numpy": ("i", "v", "float32", np.int64(3)),
    "size bool": ("i", "v", "float32", True),
    "size 0": ("i", "v", "float32", 0),
    "no index_key": ("", "v", "float32", 3),
    "no index_keys": ([], "v", "float32", []),
    "index_key None": (None, "v", "float32", 3),
    "index_key int": ([1], "v", "float32", [3]),
    "index_key bytes": (b"i", "v", "float32", 3),
    "no value_key": ("i", "", "float32", 3),
    "value_key None": ("i", None, "float32", 3),
    "value_key int": ("i", 1, "float32", 3),
    "dtype None": ("i", "v", None, 3),
    "dtype int32": ("i", "v", "int32", 3),
    "size for keys": (["i"], "v", "float32", 3),
    "sizes for a key": ("i", "v", "float32", [3]),
    "sizes tuple for a key": ("i", "v", "float32", (3,)),
    "sizes too many": (["i"], "v", "float32", [3, 4]),
    "sizes too few": (["i"], "v", "float32", []),
    "size None": ("i", "v", "float32", None),
    "size float": ("i", "v", "float32", 3.0),
    "size text": ("i", "v", "float32", "3"),
    "size 2^63": ("i", "v", "float32", 2**63),
    "index as value": ("i", "i", "int64", 3),
    "index as float value": ("i", "i", "float32", 3),
}
for _name, _parts in SPARSE.items():
    FEATURES[f"sparse, {_name}"] = lambda io, p=_parts: {"a": io.SparseFeature(*p)}  # type: ignore[misc]


def sparse(io: Any, value: str = "v") -> Any:
    return io.SparseFeature("i", value, "float32", 3)


FEATURES |= {
    "variable and sparse": lambda io: {"v": io.VarLenFeature("float32"), "a": sparse(io)},
    "and another dtype": lambda io: {"v": io.VarLenFeature("int64"), "a": sparse(io)},
    "variable and index": lambda io: {"i": io.VarLenFeature("int64"), "a": sparse(io)},
    "variable and index of float": lambda io: {"i": io.VarLenFeature("float32"), "a": sparse(io)},
    "dense and sparse": lambda io: {"v": io.FixedLenFeature([], "float32"), "a": sparse(io)},
    "dense and index": lambda io: {"i": io.FixedLenFeature([], "int64"), "a": sparse(io)},
    "sparse and its values": lambda io: {"v": sparse(io)},
    "two sparse": lambda io: {"a": sparse(io), "b": sparse(io)},
    "two sparse of two": lambda io: {"a": sparse(io), "b": sparse(io, "w")},
    "dense and ragged": lambda io: {
        "v": io.FixedLenFeature([], "float32"),
        "a": io.RaggedFeature("float32", "v"),
    },
    "padded and ragged": lambda io: {
        "v": io.FixedLenSequenceFeature([], "float32", allow_missing=True),
        "a": io.RaggedFeature("float32", "v"),
    },
    "variable and ragged": lambda io: {
        "v": io.VarLenFeature("float32"),
        "a": io.RaggedFeature("float32", "v"),
    },
    "two ragged": lambda io: {
        "v": io.RaggedFeature("float32"),
        "a": io.RaggedFeature("float32", "v"),
    },
    "two ragged dtypes": lambda io: {
        "v": io.RaggedFeature("float32"),
        "a": io.RaggedFeature("int64", "v"),
    },
    "two ragged splits": lambda io: {
        "v": io.RaggedFeature("float32"),
        "a": io.RaggedFeature("float32", "v", row_splits_dtype="int64"),
    },
    "partition of float": lambda io: {
        "a": io.RaggedFeature("float32", "v", [io.RaggedFeature.RowLengths("v")])
    },
    "partition and variable": lambda io: {
        "n": io.VarLenFeature("int64"),
        "a": io.RaggedFeature("float32", "v", [io.RaggedFeature.RowLengths("n")]),
    },
    "partition key int": lambda io: {
        "a": io.RaggedFeature("float32", "v", [io.RaggedFeature.RowLengths(3)])
    },
    "uniform float": lambda io: {
        "a": io.RaggedFeature("float32", "v", [io.RaggedFeature.UniformRowLength(2.0)])
    },
    "uniform": lambda io: {
        "a": io.RaggedFeature("float32", "v", [io.RaggedFeature.UniformRowLength(2)])
    },
}


@rule("E2", "E7", "E8", "X2", "S1", "S4", "Z5")
@pytest.mark.parametrize("make", FEATURES.values(), ids=FEATURES.keys())
def test_features_are_taken_or_rejected_alike(tf: Any, make: Make) -> None:
    assert_same_error(*both(tf, make))


DEFAULTS: dict[str, list[tuple[Any, Any]]] = {
    "float32": [
        *((value, []) for value in (True, np.True_, 1, 2**70, 1e40, np.float64(1.5), np.int64(3))),
        *((value, [2]) for value in ([1, 2], (1.0, 2.0), np.array([1, 2]), [np.int8(1), True])),
        ([1.0, 2.0], [2, 1]), (1.0, [1]), ([1.0], []), (1.0, [2]), ([], [1]), ("1", []), (1j, []),
        ([None], [1]), ([[1.0], [1.0, 2.0]], [3]), ({1.0}, [1]),
        (np.array([1.0, 2.0], object), [2]),
    ],
    "int64": [
        *((value, []) for value in (True, np.True_, -(2**63), np.float32(1), np.int8(-3))),
        *(
            (value, [2])
            for value in ([1, 2], range(2), np.array([1.0, 2.0]), np.array([1, 0], bool))
        ),
        (np.array([2], np.uint64), [1]),
        (1.0, []),
        ("1", []),
        (2**63, []),
        ([2**63], [1]),
        ([1.5], [1]),
        (np.array([1], object), [1]),
    ],
    "string": [
        *((value, []) for value in ("é", b"\xff", b"a\0", np.str_("a"), np.bytes_(b"a"))),
        *((value, [2]) for value in ([b"a", "b"], np.array(["a", "é"]), np.array([b"a", b"b"]))),
        (np.array([b"a"], object), [1]), (1, []), (1.5, []), ([None], [1]), (bytearray(b"a"), []),
        ("\ud800", []),
    ],
}  # fmt: skip
CASES = [(dtype, value, shape) for dtype, cases in DEFAULTS.items() for value, shape in cases]


@rule("X7")
@pytest.mark.parametrize(
    ("dtype", "value", "shape"), CASES, ids=[f"{d} {v!r:.30} {s}" for d, v, s in CASES]
)
def test_defaults_become_the_same_arrays(tf: Any, dtype: str, value: Any, shape: Any) -> None:
    def theirs() -> Any:
        features = {"a": tf.io.FixedLenFeature(shape, dtype, value)}
        return tf.io.parse_single_example(b"", features)["a"].numpy()

    def ours() -> Any:
        prepared: Any = prepare({"a": schema.FixedLenFeature(shape, dtype, value)})["a"]
        return prepared.default

    one, other = ask(theirs), ask(ours)
    assert_same_error(one, other)
    if one.error is None:
        array = np.array(one.value, object if dtype == "string" else None)
        assert (other.value.dtype, other.value.shape) == (array.dtype, array.shape)
        assert other.value.tolist() == array.tolist()


@deviation("X7")
@pytest.mark.parametrize(
    ("value", "cut"),
    [(np.array(1.5), 1), (np.array(2**63, np.uint64), -(2**63))],
    ids=["fraction", "uint64"],
)
def test_a_default_that_would_change_is_cut_there_and_rejected_here(
    tf: Any, value: Any, cut: int
) -> None:
    features = {"a": tf.io.FixedLenFeature([], "int64", value)}
    ours = ask(prepare, {"a": schema.FixedLenFeature([], "int64", value)})

    assert tf.io.parse_single_example(b"", features)["a"].numpy() == cut
    assert isinstance(ours.error, ValueError)


STRICTER: dict[str, Make] = {
    "a sparse size below 0": lambda io: {"a": io.SparseFeature("i", "v", "float32", -1)},
}
MILDER: dict[str, Make] = {
    "int for int64": lambda io: {"a": io.VarLenFeature(int)},
    "bytes for string": lambda io: {"a": io.VarLenFeature(bytes)},
    "str for string": lambda io: {"a": io.VarLenFeature(str)},
}


@deviation("Z5")
@pytest.mark.parametrize("make", STRICTER.values(), ids=STRICTER.keys())
def test_these_are_taken_there_and_rejected_here(tf: Any, make: Make) -> None:
    theirs, ours = both(tf, make)

    assert theirs.error is None
    assert isinstance(ours.error, ValueError)


@pytest.mark.parametrize("make", MILDER.values(), ids=MILDER.keys())
def test_these_are_rejected_there_and_taken_here(tf: Any, make: Make) -> None:
    theirs, ours = both(tf, make)

    assert isinstance(theirs.error, TypeError)
    assert ours.error is None
