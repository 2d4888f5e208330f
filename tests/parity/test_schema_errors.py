"""Feature specifications compared with TensorFlow's: signatures, and errors."""

import inspect
from typing import Any

import numpy as np
import pytest

from tests.parity.answers import Answer, ask, assert_same_error
from tests.parity.rules import deviation, rule
from tfrecord_lite import encode_examples, schema
from tfrecord_lite import tf as our_tf
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.kinds import kind_of
from tfrecord_lite.schema.prepare import prepare

SPECIFICATIONS = [
    "FixedLenFeature", "VarLenFeature", "FixedLenSequenceFeature", "SparseFeature", "RaggedFeature",
]  # fmt: skip
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
    ours, theirs = (parameters(getattr(io, name)) for io in (schema, tf.io))
    assert ours[: len(theirs)] == theirs
    assert [key for key, *_ in ours[len(theirs) :]] in ([], ["value_key"])


@pytest.mark.parametrize("name", PARTITIONS)
def test_partitions_have_the_same_signatures(tf: Any, name: str) -> None:
    ours, theirs = (getattr(io.RaggedFeature, name) for io in (schema, tf.io))
    assert parameters(ours) == parameters(theirs)
    assert ours.__qualname__ == f"RaggedFeature.{name}"


@pytest.mark.parametrize("kind", Kind)
def test_tensorflows_dtypes_are_taken(tf: Any, kind: Kind) -> None:
    theirs = tf.as_dtype(kind.label)
    assert kind_of(theirs) is kind
    assert schema.RaggedFeature(theirs, row_splits_dtype=tf.int64).row_splits_dtype == np.int64
    assert schema.Original(theirs).dtype == kind.label
    for other in (tf.float64, tf.bfloat16, tf.resource, tf.variant, tf.bool, tf.qint8):
        assert isinstance(ask(kind_of, other).error, ValueError | TypeError)


def made(io: Any, expression: str) -> Any:
    """Return what an expression makes of the classes of either side."""
    return eval(expression, {"np": np, "R": io.RaggedFeature, **{n: getattr(io, n) for n in SPECIFICATIONS}})  # noqa: S307 - our own table  # fmt: skip


RAGGED = [
    *(f"R({dtype})" for dtype in ("'float32'", "'int32'", "None", "'junk'", "object", "float")),
    *(f"R('float32', {key})" for key in ("1", "b'v'", "''")),
    *(f"R('int64', row_splits_dtype={d})" for d in ("'int16'", "np.float32", "None", "np.int64")),
    *(f"R('int64', 'v', {parts})" for parts in ("[R.RowSplits('s')]", "()", "'ab'", "None", "[3]")),
    *(f"R('int64', validate={value})" for value in ("1", "np.True_")),
]


@rule("E8")
@pytest.mark.parametrize("expression", RAGGED)
def test_ragged_features_are_rejected_alike_when_made(tf: Any, expression: str) -> None:
    assert_same_error(*(ask(made, io, expression) for io in (tf.io, schema)))


def both(tf: Any, expression: str) -> tuple[Answer, Answer]:
    """Use features on both sides: there on no examples."""

    def theirs() -> Any:
        return tf.io.parse_example(np.array([], object), made(tf.io, expression))

    return ask(theirs), ask(lambda: prepare(made(schema, expression)))


DTYPES = ("None", "'float16'", "'int32'", "'bool'", "'uint64'", "'junk'", "1.5", "object")
SHAPES = ("None", "3", "(2,)", "[2, 3]", "[0]", "[2, None]", "[2, -2]", "'2'", "['2']", "[2.0]")
SPARSE = [
    "['i', 'j'], 'v', 'float32', [3, 4]", "('i',), 'v', 'float32', [3]",
    *(f"'i', 'v', 'float32', {n}" for n in ("np.int64(3)", "True", "0", "[3]", "None", "3.0")),
    *(f"['i'], 'v', 'float32', {sizes}" for sizes in ("3", "[3, 4]", "[]")),
    *(f"{key}, 'v', 'float32', 3" for key in ("''", "None", "b'i'")), "[], 'v', 'float32', []",
    "[1], 'v', 'float32', [3]",
    *(f"'i', {key}, 'float32', 3" for key in ("''", "None", "1", "'i'")),
    *(f"'i', 'v', {dtype}, 3" for dtype in ("None", "'int32'")), "'i', 'i', 'int64', 3",
]  # fmt: skip
OF_SPARSE = "'a': SparseFeature('i', 'v', 'float32', 3)"
OF_RAGGED = "'a': R('float32', 'v')"
FEATURES = [
    "None", "{}",
    *(f"{{'a': {spec}}}" for spec in ("'x'", "None", "VarLenFeature")),
    *(f"{{{name}: FixedLenFeature([], 'float32', 1)}}" for name in ("1", "b'a'", "'\\ud800'")),
    "{'': FixedLenFeature([], 'float32')}",
    *(f"{{'a': FixedLenSequenceFeature([], 'float32'{allow})}}" for allow in ("", ", 0", ", 1")),
    *(f"{{'a': FixedLenFeature([], {dtype})}}" for dtype in DTYPES),
    *(f"{{'a': VarLenFeature({dtype})}}" for dtype in DTYPES),
    # The default padding, 0, is not a bool there: another error comes first.
    *(f"{{'a': FixedLenSequenceFeature([], {dtype}, True)}}" for dtype in DTYPES if dtype != "'bool'"),
    *(f"{{'a': FixedLenFeature({shape}, 'float32')}}" for shape in SHAPES),
    *(f"{{'a': FixedLenSequenceFeature({s}, 'float32', True)}}" for s in ("(2,)", "[2, 3]", "[-1]", "['2']", "[2.0]")),
    *(f"{{'a': FixedLenSequenceFeature([], 'float32', True, {p})}}" for p in ("None", "1", "1.0", "[[1]]", "[]", "[1, 2]", "'a'")),
    *(f"{{'a': SparseFeature({arguments})}}" for arguments in SPARSE),
    *(f"{{{other}, {OF_SPARSE}}}" for other in (
        "'v': VarLenFeature('float32')", "'v': VarLenFeature('int64')", "'i': FixedLenFeature([], 'int64')",
        "'b': SparseFeature('i', 'v', 'float32', 3)", "'b': SparseFeature('i', 'w', 'float32', 3)",
    )),
    "{'v': SparseFeature('i', 'v', 'float32', 3)}",
    *(f"{{'v': {other}, {OF_RAGGED}}}" for other in (
        "FixedLenFeature([], 'float32')", "FixedLenSequenceFeature([], 'float32', True)", "VarLenFeature('float32')",
        "R('float32')", "R('int64')", "R('float32', row_splits_dtype='int64')",
    )),
    *(f"{{'n': VarLenFeature('int64'), 'a': R('float32', 'v', [R.{part}])}}" for part in (
        "RowLengths('v')", "RowLengths('n')", "RowLengths(3)", "UniformRowLength(2.0)", "UniformRowLength(2)",
    )),
]  # fmt: skip


@rule("E2", "E7", "E8", "X2", "S1", "S4", "Z5")
@pytest.mark.parametrize("expression", FEATURES)
def test_features_are_taken_or_rejected_alike(tf: Any, expression: str) -> None:
    assert_same_error(*both(tf, expression))


@deviation("Z5")
def test_what_is_taken_on_one_side_only(tf: Any) -> None:
    message = encode_examples({"i": [[3, 0]], "v": [[1.5, 2.5]]})[0]
    shapes = [
        io.parse_example([message], {"a": io.SparseFeature("i", "v", io_float, -1)})[
            "a"
        ].dense_shape
        for io, io_float in ((tf.io, tf.float32), (our_tf.io, our_tf.float32))
    ]
    assert [np.asarray(shape).tolist() for shape in shapes] == [[1, -1], [1, 4]]
    for dtype in ("int", "bytes", "str"):
        theirs, ours = both(tf, f"{{'a': VarLenFeature({dtype})}}")
        assert isinstance(theirs.error, TypeError)
        assert ours.error is None


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
        *((value, [2]) for value in ([1, 2], range(2), np.array([1.0, 2.0]), np.array([1, 0], bool))),
        (np.array([2], np.uint64), [1]), (1.0, []), ("1", []), (2**63, []), ([2**63], [1]),
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
@pytest.mark.parametrize(("value", "cut"), [
    (np.array(1.5), 1), (np.array(2**63, np.uint64), -(2**63)),
], ids=["fraction", "uint64"])  # fmt: skip
def test_a_changing_default_is_cut_there_and_rejected_here(tf: Any, value: Any, cut: int) -> None:
    features = {"a": tf.io.FixedLenFeature([], "int64", value)}
    ours = ask(prepare, {"a": schema.FixedLenFeature([], "int64", value)})
    assert tf.io.parse_single_example(b"", features)["a"].numpy() == cut
    assert isinstance(ours.error, ValueError)
