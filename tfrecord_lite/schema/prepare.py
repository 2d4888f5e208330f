r"""One pass over feature specifications: every check, then the form that a parser works with.

===========================  ================================  ============================
specification                prepared                          column for a batch
===========================  ================================  ============================
``FixedLenFeature``          :class:`Dense`                    ndarray (batch, \*shape)
``FixedLenSequenceFeature``  :class:`Padded`                   ndarray (batch, max, \*shape)
``VarLenFeature``            :class:`VarLen`                   SparseTensor, rank 2
``SparseFeature``            :class:`Sparse`                   SparseTensor, rank 1 + sizes
``RaggedFeature``            :class:`Ragged`                   RaggedTensor
``RawFeature``               :class:`Dense`, in a list         ndarray (batch, \*shape) of
                             :class:`Padded`, of one string;   its dtype, RaggedTensor if the
                             :class:`Shaped` with a shape_key  shape varies
===========================  ================================  ============================

Default values become arrays of the feature's dtype (rule X7) by TensorFlow's rules: Python floats are not int64, but
arrays of floats are; numbers are not strings; bools are numbers. Where TensorFlow truncates a value to make it fit
(1.5 to 1, 2^63 to -2^63), this raises. The classes of all other errors are TensorFlow's.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tfrecord_lite.arrays import AnyArray, objects
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.schema import features as specs
from tfrecord_lite.schema.features import FeatureLike, FeatureSpec, RaggedFeature, RawFeature
from tfrecord_lite.schema.kinds import Kind, kind_of
from tfrecord_lite.schema.text import FOR_SEQUENCES
from tfrecord_lite.texts import plural


class Dense(NamedTuple):
    """A feature with the same number of values in every example."""

    key: str
    kind: Kind
    shape: tuple[int, ...]
    """The shape of one example's values; not negative."""
    default: AnyArray | None
    r"""kind.dtype, shape (\*shape,), read-only; None if the feature is required, or the shape
    holds no values, which have no default in TensorFlow (rule X8)."""
    raw: RawFeature | None = None
    """What the one byte string is, if it is an array of one shape."""

    def reads(self) -> tuple[tuple[str, Kind], ...]:
        """Return the key to read, with its kind."""
        return ((self.key, self.kind),)

    @property
    def size(self) -> int:
        """Values per example."""
        return math.prod(self.shape)


class Padded(NamedTuple):
    """A feature of any number of blocks of one shape, or a feature list with one per step."""

    key: str
    kind: Kind
    shape: tuple[int, ...]
    """The shape of one block; all positive."""
    padding: AnyArray
    """kind.dtype, shape (), read-only: fills the shorter rows of a batch."""
    allow_missing: bool = True
    """Whether a feature list may be missing; a feature of an Example always may."""
    raw: RawFeature | None = None
    """What the one byte string of each step is, if it is an array."""

    def reads(self) -> tuple[tuple[str, Kind], ...]:
        """Return the key to read, with its kind."""
        return ((self.key, self.kind),)

    @property
    def size(self) -> int:
        """Values per block, at least 1."""
        return math.prod(self.shape)


class VarLen(NamedTuple):
    """A feature of any number of values, as a sparse matrix with one row per example."""

    key: str
    kind: Kind

    def reads(self) -> tuple[tuple[str, Kind], ...]:
        """Return the key to read, with its kind."""
        return ((self.key, self.kind),)


class Sparse(NamedTuple):
    """Values in one feature, their coordinates in one int64 feature per dimension."""

    name: str
    index_keys: tuple[str, ...]
    """One or more."""
    value_key: str
    kind: Kind
    sizes: tuple[int, ...]
    """One per index key; not negative, or -1 where it is not known."""
    already_sorted: bool

    def reads(self) -> tuple[tuple[str, Kind], ...]:
        """Return the keys to read, each with its kind; the values' key last."""
        return (*((key, Kind.INT64) for key in self.index_keys), (self.value_key, self.kind))


class Ragged(NamedTuple):
    """Values in one feature, and the partitions that divide them, outermost first."""

    name: str
    key: str
    kind: Kind
    partitions: tuple[specs.Partition, ...]
    """The length of a uniform one is an int that is not negative."""
    splits_dtype: np.dtype[Any]
    """int32 or int64."""
    validate: bool

    def reads(self) -> tuple[tuple[str, Kind], ...]:
        """Return the keys to read, each with its kind; the values' key first."""
        keyed = (p for p in self.partitions if not isinstance(p, RaggedFeature.UniformRowLength))
        return ((self.key, self.kind), *((p.key, Kind.INT64) for p in keyed))


class Shaped(NamedTuple):
    """A byte string that is an array, and its shape in another feature."""

    key: str
    kind: Kind
    shape_key: str
    raw: RawFeature

    def reads(self) -> tuple[tuple[str, Kind], ...]:
        """Return the keys to read, each with its kind; the bytes' key first."""
        return ((self.key, self.kind), (self.shape_key, Kind.INT64))


Prepared: TypeAlias = Dense | Padded | VarLen | Sparse | Ragged | Shaped
"""A checked feature, as a parser works with it."""

MAX_DIMENSIONS = 62
"""Most dimensions of a feature's shape: NumPy's limit is 64, and batches of sequences add two."""


def prepare(features: specs.Features) -> dict[str, Prepared]:
    """Check the features of an Example and convert them to the form a parser works with.

    Rejects no features, a value that is not a feature (E2), two features that read one key
    in different ways (E7), and a shape, dtype, default value or size that is missing or not valid
    (X2, X7, X8, S1, S4, S5, Z5).

    >>> prepare({"x": FixedLenFeature([2], float)})["x"]
    Dense(key='x', kind=<Kind.FLOAT: 2>, shape=(2,), default=None, raw=None)
    """
    features = getattr(features, "features", features)  # a dict, not a Schema: faster to go through
    if features is None or (isinstance(features, Mapping) and not features):
        raise argument_error("no features to parse; give a dict of names to specifications")
    prepared = _prepare_all(features)
    for name, feature in features.items():
        if isinstance(feature, specs.FixedLenSequenceFeature) and not feature.allow_missing:
            detail = "a FixedLenSequenceFeature of an Example needs allow_missing=True"
            raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)
    return prepared


def prepare_sequence(
    context: specs.Features | None, lists: specs.Features | None
) -> tuple[dict[str, Prepared], dict[str, Prepared]]:
    """Check the features of a SequenceExample: its context, and its feature lists.

    Rejects also no features at all (rule Q2), a list with a default value (rule L1), and a specification that is not
    possible in that place (rule Q3).

    >>> _, lists = prepare_sequence(None, {"x": FixedLenSequenceFeature([], "int64")})
    >>> lists["x"].allow_missing
    False
    """
    context = specifications({} if context is None else context)
    lists = specifications({} if lists is None else lists, is_list=True)
    if all(isinstance(features, Mapping) and not features for features in (context, lists)):
        detail = "no features to parse; give context_features, sequence_features or both"
        raise argument_error(detail)
    _check_classes(context, "the context", _IN_CONTEXT)
    prepared_context = _prepare_all(context)
    _check_classes(lists, "a feature list", _IN_LISTS)
    prepared_lists = _prepare_all(lists)
    for name, spec in lists.items():
        if isinstance(spec, specs.FixedLenSequenceFeature) and spec.default_value is not None:
            detail = "a feature list has no default_value; shorter ones are padded with 0 or b''"
            raise argument_error(detail, key=name)
    padding = _default_array("", b"", Kind.BYTES, ())
    for name, feature in prepared_lists.items():
        if isinstance(feature, Dense):  # a RawFeature: each step is a string
            padded = Padded(feature.key, Kind.BYTES, (), padding, allow_missing=False)
            prepared_lists[name] = padded._replace(raw=feature.raw)
        elif isinstance(feature, Shaped):
            detail = "a shape_key is not possible in a feature list"
            raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)
    return prepared_context, prepared_lists


def _check_classes(features: object, where: str, allowed: tuple[type[FeatureSpec], ...]) -> None:
    for name, spec in features.items() if isinstance(features, Mapping) else ():
        if type(spec) in _BUILDERS and type(spec) not in allowed:
            names = ", ".join(cls.__name__ for cls in allowed)
            detail = f"{type(spec).__name__} is not possible in {where}, only {names}"
            raise InvalidArgumentError(Reason.UNSUPPORTED, key=str(name), detail=detail)


_IN_CONTEXT = (specs.FixedLenFeature, specs.VarLenFeature, RaggedFeature, RawFeature)
_IN_LISTS = (specs.FixedLenSequenceFeature, specs.VarLenFeature, RaggedFeature, RawFeature)


def no_mapping_error(features: object) -> TypeError:
    """Return the error about features that are not a mapping."""
    detail = "features must be a dict of names to specifications, such as {'x': int}, not "
    detail += f"{type(features).__name__}"
    if hasattr(features, "feature_lists"):
        detail += "; a SequenceSchema has two parts, pass both: parse_sequence_example(records, "
        detail += "*schema), or TFRecordDataset(paths).batch(n).parse_sequence_example(*schema)"
    return TypeError(detail)


def _prepare_all(features: specs.Features) -> dict[str, Prepared]:
    """Check features one by one, then whether they can be read together."""
    if not isinstance(features, Mapping):
        raise no_mapping_error(features)
    prepared = {name: _prepare_one(name, spec) for name, spec in specifications(features).items()}
    _check_sharing(prepared)
    return prepared


def keys_to_read(prepared: Mapping[str, Prepared]) -> dict[str, Kind]:
    """Return every key to read, with its kind.

    >>> keys_to_read(prepare({"s": SparseFeature("i", "v", float, 10)}))
    {'i': <Kind.INT64: 3>, 'v': <Kind.FLOAT: 2>}
    """
    return {key: kind for feature in prepared.values() for key, kind in feature.reads()}


def _prepare_one(name: str, spec: FeatureSpec) -> Prepared:
    check_key(name, name, TypeError)
    if type(spec) not in _BUILDERS:
        raise not_a_specification_error(name, spec)
    return _BUILDERS[type(spec)](name, spec)


_SHORTHANDS = ", or as a shorthand int, 'float32', bytes, or (dtype, shape)"


def not_a_specification_error(name: str, value: object, more: str = "") -> InvalidArgumentError:
    """Return the error about a value that is not a specification (rule E2)."""
    actual = f"the class {value.__name__}" if isinstance(value, type) else f"{value!r:.80}"
    detail = f"{actual} is not a feature specification; give FixedLenFeature(...) or another{more}"
    detail += FOR_SEQUENCES * isinstance(value, Mapping)
    return argument_error(detail, key=str(name))


def specifications(features: specs.Features, *, is_list: bool = False) -> Mapping[str, FeatureSpec]:
    """Return features with a specification for each shorthand; a copy, but a Schema as it is.

    >>> specifications({"x": int, "v": ("float32", [3])})["v"]
    FixedLenFeature(shape=[3], dtype='float32', default_value=None)
    """
    if not isinstance(features, Mapping):
        return features
    if all(issubclass(cls, FeatureSpec) for cls in set(map(type, features.values()))):
        return features if hasattr(features, "to_items") else dict(features)  # type: ignore[return-value, arg-type]
    return {name: specification(name, spec, is_list=is_list) for name, spec in features.items()}


def require_specifications(features: object) -> None:
    """Reject shorthands, as TensorFlow does (rule E2); anything but a mapping is left to others."""
    for name, spec in features.items() if isinstance(features, Mapping) else ():
        if not isinstance(spec, FeatureSpec):
            raise not_a_specification_error(name, spec)


def specification(name: str, feature: FeatureLike, *, is_list: bool = False) -> FeatureSpec:
    """Return one specification, or what a shorthand means."""
    if isinstance(feature, FeatureSpec):
        return feature
    dtype, shape = feature if isinstance(feature, tuple) and len(feature) == 2 else (feature, [])
    is_dtype = isinstance(dtype, str | type | np.dtype) or hasattr(type(dtype), "as_numpy_dtype")
    try:
        kind = kind_of(dtype, name) if is_dtype else None
    except TypeError:
        kind = None
    if kind is None:
        raise not_a_specification_error(name, feature, _SHORTHANDS)
    cls = specs.FixedLenSequenceFeature if is_list else specs.FixedLenFeature
    return cls(list(shape) if isinstance(shape, tuple) else shape, kind.dtype)


def canonical(name: str, feature: FeatureLike) -> FeatureSpec:
    """Check one feature, or a shorthand, and return it in canonical form.

    dtypes are NumPy's, shapes and lists are tuples, defaults are Python scalars or nested tuples of them.

    >>> canonical("x", FixedLenFeature([2, 1], float, [1, 2]))
    FixedLenFeature(shape=(2, 1), dtype='float32', default_value=((1.0,), (2.0,)))
    """
    spec = specification(name, feature)
    prepared = _prepare_one(name, spec)
    changes: dict[str, Any] = {}
    match spec, prepared:
        case RawFeature(), _:
            return spec
        case specs.FixedLenFeature(), Dense():
            changes["shape"] = prepared.shape
            if (default := spec.default_value) is not None:
                default = _default_array(name, default, prepared.kind, prepared.shape)
                changes["default_value"] = _tuples(default.tolist())
        case specs.FixedLenSequenceFeature(), Padded():
            changes |= {"shape": prepared.shape, "allow_missing": bool(spec.allow_missing)}
            if spec.default_value is not None:
                changes["default_value"] = prepared.padding.item()
        case specs.SparseFeature(), Sparse():
            single = isinstance(spec.index_key, str)
            changes["index_key"] = prepared.index_keys[0] if single else prepared.index_keys
            changes["size"] = prepared.sizes[0] if single else prepared.sizes
            changes["already_sorted"] = prepared.already_sorted
        case RaggedFeature(), Ragged():
            changes["partitions"] = prepared.partitions
    return replace(spec, dtype=prepared.kind.dtype, **changes)  # type: ignore[type-var]


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


# ----------------------------------------------------------------- one builder per class


def _dense(name: str, spec: specs.FixedLenFeature) -> Dense:
    kind = kind_of(spec.dtype, name)
    shape = _shape(name, spec.shape)
    default = None
    if spec.default_value is not None:
        default = _default_array(name, spec.default_value, kind, shape)
        default = default if default.size else None
    return Dense(_value_key(name, spec.value_key), kind, shape, default)


def _value_key(name: str, key: str | None) -> str:
    """Return the key of the values, by default the name of the specification."""
    if key is None:
        return name
    check_key(name, key, InvalidArgumentError)
    return key


def _padded(name: str, spec: specs.FixedLenSequenceFeature) -> Padded:
    kind = kind_of(spec.dtype, name)
    shape = _shape(name, spec.shape)
    if 0 in shape:
        # TensorFlow divides by the size of a block, and crashes (rule S5).
        detail = f"blocks of shape {shape} hold no values and cannot be counted"
        raise argument_error(detail, key=name)
    filler = b"" if kind is Kind.BYTES else 0
    padding = filler if spec.default_value is None else spec.default_value
    padding = _default_array(name, padding, kind, ())
    return Padded(name, kind, shape, padding, bool(spec.allow_missing))


def _sparse(name: str, spec: specs.SparseFeature) -> Sparse:
    if any(key is None or key in ("", b"", [], ()) for key in (spec.index_key, spec.value_key)):
        raise argument_error("a SparseFeature needs index_key and value_key", key=name)
    kind = kind_of(spec.dtype, name)
    single = not isinstance(spec.index_key, list | tuple)
    keys = (spec.index_key,) if single else tuple(spec.index_key)
    for key in (*keys, spec.value_key):
        check_key(name, key, InvalidArgumentError)
    sizes = (spec.size,) if single else spec.size
    if not isinstance(sizes, list | tuple | np.ndarray):
        detail = f"must be a list with one number per index_key, not {sizes!r}"
        raise TypeError(f"size of feature {name!r} {detail}")
    if len(sizes) != len(keys):
        detail = f"size has {len(sizes)} numbers, expected one for each of {len(keys)} index keys"
        raise argument_error(detail, key=name)
    checked = tuple(-1 if size == -1 else _count(name, "size", size) for size in sizes)
    return Sparse(name, keys, spec.value_key, kind, checked, bool(spec.already_sorted))


def _ragged(name: str, spec: RaggedFeature) -> Ragged:
    key = _value_key(name, spec.value_key)
    partitions = list(spec.partitions)
    for i, partition in enumerate(partitions):
        if isinstance(partition, RaggedFeature.UniformRowLength):
            length = _count(name, "UniformRowLength", partition.length)
            partitions[i] = RaggedFeature.UniformRowLength(length)
        else:
            check_key(name, partition.key, InvalidArgumentError)
    kind = kind_of(spec.dtype, name)
    return Ragged(name, key, kind, tuple(partitions), spec.row_splits_dtype, spec.validate)


def _raw(name: str, spec: RawFeature) -> Dense | Shaped:
    _shape(name, [dim for dim in spec.shape if dim is not None])
    key = _value_key(name, spec.value_key)
    if spec.shape_key is not None:
        check_key(name, spec.shape_key, InvalidArgumentError)
        return Shaped(key, Kind.BYTES, spec.shape_key, spec)
    # One that varies is read as a string, which its type as an original is then restored to.
    return Dense(key, Kind.BYTES, (), None, None if spec.varies else spec)


_BUILDERS: dict[type, Callable[[str, Any], Prepared]] = {
    specs.FixedLenFeature: _dense,
    specs.FixedLenSequenceFeature: _padded,
    specs.VarLenFeature: lambda name, spec: VarLen(
        _value_key(name, spec.value_key), kind_of(spec.dtype, name)
    ),
    specs.SparseFeature: _sparse,
    RaggedFeature: _ragged,
    RawFeature: _raw,
}


# ------------------------------------------------------------------- checks of one value


def check_key(name: object, key: object, error: type[Exception]) -> None:
    """Reject a key that an Example cannot have: not a str, or not encodable as UTF-8."""
    try:
        if isinstance(key, str):
            key.encode()
            return
        detail = f"a feature's key must be a str, not {key!r}"
    except UnicodeEncodeError:
        detail = f"the key {key!r} cannot be encoded as UTF-8"
        error = InvalidArgumentError
    if error is TypeError:
        raise TypeError(detail)
    raise argument_error(detail, key=str(name))


def _shape(name: str, shape: Any) -> tuple[int, ...]:
    """Convert a shape to a tuple of numbers that are not negative (rule X2)."""
    if shape is None:
        raise argument_error("missing shape; give [] for a single value", key=name)
    single = hasattr(shape, "__index__") and not getattr(shape, "ndim", 0)
    if isinstance(shape, str | bytes) or not (single or hasattr(shape, "__iter__")):
        raise _shape_error(name, shape)
    unknown = "a dimension of the shape is unknown"
    try:
        dims = (shape,) if single else tuple(shape)
    except ValueError as error:  # a TensorFlow shape of unknown rank
        raise argument_error(unknown, key=name) from error
    if not dims:
        return ()
    if None in dims:
        detail = f"{unknown}; use FixedLenSequenceFeature or RaggedFeature for varying lengths"
        raise argument_error(detail, key=name)
    if any(isinstance(dim, bool | np.bool) or not hasattr(dim, "__index__") for dim in dims):
        raise _shape_error(name, shape)
    checked = tuple(_count(name, "shape", dim) for dim in dims)
    # Empty dimensions count as 1: NumPy rejects such shapes if the other ones are too large.
    if len(checked) > MAX_DIMENSIONS or math.prod(max(dim, 1) for dim in checked) > 2**60:
        raise argument_error("the shape is larger than any array can have", key=name)
    return checked


def _shape_error(name: str, shape: Any) -> TypeError:
    return TypeError(f"shape of feature {name!r} must be a list of integers, not {shape!r}")


def _count(name: str, what: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError as error:
        raise TypeError(f"{what} of feature {name!r} must be an int, not {value!r}") from error
    if not 0 <= number < 2**63:
        raise argument_error(f"{what} must be between 0 and 2**63 - 1, not {number}", key=name)
    return number


# ------------------------------------------------------------- features that share a key


def _check_sharing(prepared: Mapping[str, Prepared]) -> None:
    """Raise an error if two features read one key in different ways (rule E7)."""
    seen: dict[str, tuple[str, tuple[Any, ...]]] = {}
    for name, feature in prepared.items():
        family = _FAMILIES.get(type(feature), "dense")
        for key, kind in feature.reads():
            way = (family, kind.label, getattr(feature, "splits_dtype", None))
            other, its_way = seen.setdefault(key, (name, way))
            if way != its_way:
                ways = [
                    f"{who!r} ({family}, {label}" + (f", {splits} row_splits)" if splits else ")")
                    for who, (family, label, splits) in ((other, its_way), (name, way))
                ]
                detail = f"key {key!r} is read in two ways: {' and '.join(ways)}; read it in one "
                detail += "way and convert the result"
                raise argument_error(detail, key=key)


_FAMILIES = {VarLen: "sparse", Sparse: "sparse", Ragged: "ragged"}


# ------------------------------------------------------------------------ default values

_INT64 = np.iinfo(np.int64)
_TAKEN: dict[Kind, tuple[tuple[type, ...], str, str]] = {
    Kind.BYTES: ((bytes, str), "SUT", "bytes or str"),
    Kind.FLOAT: ((int, float, np.bool, np.integer, np.floating), "biuf", "float32"),
    Kind.INT64: ((int, np.bool, np.integer), "biuf", "int64"),
}
"""The types of values that are taken, the kinds of arrays, and how both are called."""


def _default_array(key: str, value: Any, kind: Kind, shape: tuple[int, ...]) -> AnyArray:
    """Convert a default value, of as many values as `shape`, to a read-only array; nothing is broadcast."""
    if isinstance(value, bytearray | memoryview):
        actual = type(value).__name__
        raise TypeError(f"default_value of feature {key!r} must be bytes, not {actual}")
    # Arrays stay as they are; everything else becomes an array of Python objects.
    is_array, is_ragged = hasattr(value, "__array__"), False
    try:
        default = np.asarray(value) if is_array else np.array(value, object)
    except ValueError:  # nested lists of different lengths that NumPy rejects
        is_ragged = True
    if is_ragged or not (is_array or all(not isinstance(v, list | tuple) for v in default.flat)):
        raise argument_error("the lists in default_value differ in length", key=key)
    flat = default.ravel()
    types, kinds, expected = _TAKEN[kind]
    wrong: list[Any] = [flat.dtype] if flat.dtype.kind not in kinds + "O" else []
    if flat.dtype == object:
        wrong = [item for item in flat if not isinstance(item, types)]
    if wrong:
        actual = wrong[0].name if isinstance(wrong[0], np.dtype) else type(wrong[0]).__name__
        if isinstance(wrong[0], np.dtype | str | bytes | int | float | complex | np.generic):
            raise TypeError(f"default_value of feature {key!r} must be {expected}, not {actual}")
        raise argument_error(f"default_value must be {expected}, not {actual}", key=key)
    try:
        flat = _CONVERTERS[kind](flat)
    except (OverflowError, ValueError) as error:
        detail = str(error)
        if isinstance(error, OverflowError):
            detail = f"does not fit into {kind.label}"
        elif isinstance(error, UnicodeEncodeError):
            detail = "is a str that cannot be encoded as UTF-8"
        raise argument_error(f"default_value {detail}", key=key) from error
    if flat.size != math.prod(shape):
        count = plural(flat.size, "value")
        detail = f"default_value has {count}, expected {math.prod(shape):,} for shape {shape}"
        raise argument_error(detail, key=key)
    # A copy, so that later changes of the caller's array do not change the default.
    array = np.array(flat, kind.dtype).reshape(shape)
    array.flags.writeable = False
    return array


def _floats(flat: AnyArray) -> AnyArray:
    """Convert to float32; values too large for it become infinite."""
    if flat.dtype == object:
        flat = np.array([float(item) for item in flat], np.float64)
    with np.errstate(over="ignore"):
        return flat.astype(np.float32)


def _integers(flat: AnyArray) -> AnyArray:
    if flat.dtype.kind in "uf" and flat.size:
        # The largest int64 is not a float, 2^63 is: hence "less than".
        fits = (flat >= _INT64.min) & (flat < np.float64(2.0**63))
        if flat.dtype.kind == "u":
            fits = flat <= np.uint64(_INT64.max)
        if not fits.all():
            raise OverflowError
        if (flat != np.trunc(flat)).any():
            raise ValueError("must be int64, but has a fraction")
    return flat.astype(np.int64)


def _strings(flat: AnyArray) -> AnyArray:
    return objects([x.encode() if isinstance(x, str) else bytes(x) for x in flat.tolist()])


_CONVERTERS = {Kind.BYTES: _strings, Kind.FLOAT: _floats, Kind.INT64: _integers}
