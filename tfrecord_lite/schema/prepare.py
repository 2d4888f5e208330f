r"""Every check of feature specifications, on their way to what a parser works with.

Each key is read once, as one kind; two features may share a key only if they agree on
how it is read (rule E7). The error classes are TensorFlow's.

Prepared features: checked specifications, in the form a parser works with.

A prepared feature says which keys to read (one for a dense or variable-length feature,
several for sparse and ragged ones), as which kind, and what to build from them:

===========================  ================================  ============================
specification                prepared                          a batch becomes
===========================  ================================  ============================
``FixedLenFeature``          :class:`Dense`                    ndarray (batch, \*shape)
``FixedLenSequenceFeature``  :class:`Padded`                   ndarray (batch, max, \*shape)
``VarLenFeature``            :class:`VarLen`                   SparseTensor, rank 2
``SparseFeature``            :class:`Sparse`                   SparseTensor, rank 1 + sizes
``RaggedFeature``            :class:`Ragged`                   RaggedTensor
===========================  ================================  ============================

Default values: what the user gave, as an array of the feature's dtype (rule X7).

TensorFlow's rules, which are neither NumPy's nor Python's: Python floats are no int64,
but arrays of floats are; numbers are no strings; bools are numbers. Where TensorFlow
cuts a value off to make it fit (1.5 to 1, 2^63 to -2^63), this raises.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema.features import (
    FeatureSpec,
    FixedLenFeature,
    FixedLenSequenceFeature,
    Partition,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from tfrecord_lite.schema.kinds import Kind, kind_of

if TYPE_CHECKING:
    from tfrecord_lite.arrays import AnyArray


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """A feature with the same number of values in every example."""

    key: str
    kind: Kind
    shape: tuple[int, ...]
    """Of one example's values; none of them negative."""
    default: AnyArray | None
    r"""kind.dtype, shape (\*shape,), read-only; None: the feature is required. Also None
    when the shape holds no values, in which case TensorFlow has no defaults (rule X8)."""

    @property
    def size(self) -> int:
        """Values of one example."""
        return math.prod(self.shape)

    def reads(self) -> tuple[tuple[str, Kind], ...]:
        """Return the keys this needs, and as which kind."""
        return ((self.key, self.kind),)


@dataclass(frozen=True, slots=True, eq=False)
class Padded:
    """A feature of any number of blocks of one shape, or a feature list with one a step."""

    key: str
    kind: Kind
    shape: tuple[int, ...]
    """Of one block; all of them positive."""
    padding: AnyArray
    """kind.dtype, shape (), read-only: what fills the shorter rows of a batch."""
    allow_missing: bool = True
    """Whether a feature list may be missing; a feature of an Example always may."""

    @property
    def size(self) -> int:
        """Values of one block, at least 1."""
        return math.prod(self.shape)

    def reads(self) -> tuple[tuple[str, Kind], ...]:
        """Return the keys this needs, and as which kind."""
        return ((self.key, self.kind),)


@dataclass(frozen=True, slots=True)
class VarLen:
    """A feature of any number of values, as a sparse matrix with a row an example."""

    key: str
    kind: Kind

    def reads(self) -> tuple[tuple[str, Kind], ...]:
        """Return the keys this needs, and as which kind."""
        return ((self.key, self.kind),)


@dataclass(frozen=True, slots=True)
class Sparse:
    """Values in one feature, their coordinates in one int64 feature a dimension."""

    name: str
    index_keys: tuple[str, ...]
    """One or more."""
    value_key: str
    kind: Kind
    sizes: tuple[int, ...]
    """As many as `index_keys`; none of them negative."""
    already_sorted: bool

    def reads(self) -> tuple[tuple[str, Kind], ...]:
        """Return the keys this needs, and as which kind."""
        indices = ((key, Kind.INT64) for key in self.index_keys)
        return (*indices, (self.value_key, self.kind))


@dataclass(frozen=True, slots=True)
class Ragged:
    """Values in one feature, and how to divide them, outermost level first."""

    name: str
    key: str
    kind: Kind
    partitions: tuple[Partition, ...]
    """A uniform level's length is an int that is not negative."""
    splits_dtype: np.dtype[Any]
    """int32 or int64."""
    validate: bool

    def reads(self) -> tuple[tuple[str, Kind], ...]:
        """Return the keys this needs, and as which kind."""
        keyed = (p for p in self.partitions if not isinstance(p, RaggedFeature.UniformRowLength))
        return ((self.key, self.kind), *((p.key, Kind.INT64) for p in keyed))


Prepared: TypeAlias = Dense | Padded | VarLen | Sparse | Ragged
"""What a parser is given for one feature."""


MAX_DIMENSIONS = 62
"""Dimensions of a feature's shape; NumPy has 64, of which a batch of sequences takes two."""


def prepare(features: Mapping[str, FeatureSpec]) -> dict[str, Prepared]:
    """Check the features of an Example, and put them into the form a parser works with.

    Parameters
    ----------
    features : mapping of str to feature specification
        A dict, or a :class:`~tfrecord_lite.schema.Schema`.

    Returns
    -------
    dict of str to Prepared
        In the order given.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` or ``UNSUPPORTED``, with the feature's name in `key`: no features,
        a value that is no specification (E2), two features that read one key in different
        ways (E7), a shape, dtype, default value or size that is missing or cannot be
        (X2, X7, X8, S1, S4, S5, Z5).
    TypeError
        If `features` is no mapping or a name no str, and for dtypes, shapes, sizes and
        default values of the wrong type.

    Examples
    --------
    >>> prepare({"x": FixedLenFeature([2], float)})["x"]
    Dense(key='x', kind=<Kind.FLOAT: 2>, shape=(2,), default=None)
    """
    if features is None or (isinstance(features, Mapping) and not features):
        detail = "no features to parse; give a dict of name to feature specification"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    prepared = _prepare_all(features)
    for name, spec in features.items():
        if isinstance(spec, FixedLenSequenceFeature) and not spec.allow_missing:
            detail = "in an Example a FixedLenSequenceFeature needs allow_missing=True"
            raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)
    return prepared


def _prepare_all(features: Mapping[str, FeatureSpec]) -> dict[str, Prepared]:
    """Check features one by one, and whether they can be read together."""
    if not isinstance(features, Mapping):
        raise TypeError(f"features must be a dict, not {type(features).__name__}")
    prepared = {name: prepare_one(name, spec) for name, spec in features.items()}
    _check_sharing(prepared)
    return prepared


def prepare_sequence(
    context: Mapping[str, FeatureSpec] | None, lists: Mapping[str, FeatureSpec] | None
) -> tuple[dict[str, Prepared], dict[str, Prepared]]:
    """Check the features of a SequenceExample: its context, and its feature lists.

    Parameters
    ----------
    context, lists : mapping of str to feature specification, or None
        One of them may be empty or None.

    Returns
    -------
    context, lists : dict of str to Prepared
        In the orders given.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if there are no features at all (rule Q2), and for a list with a
        default value (rule L1); ``UNSUPPORTED`` for a specification that cannot be there
        (rule Q3); and as :func:`prepare`.
    TypeError
        As :func:`prepare`.

    Examples
    --------
    >>> _, lists = prepare_sequence(None, {"x": FixedLenSequenceFeature([], "int64")})
    >>> lists["x"].allow_missing
    False
    """
    context = {} if context is None else context
    lists = {} if lists is None else lists
    if all(isinstance(features, Mapping) and not features for features in (context, lists)):
        detail = "no features to parse; give context_features, sequence_features or both"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    found = []
    for features, where, allowed in (
        (context, "the context", _IN_CONTEXT),
        (lists, "a feature list", _IN_LISTS),
    ):
        for name, spec in features.items() if isinstance(features, Mapping) else ():
            if type(spec) in _BUILDERS and type(spec) not in allowed:
                kinds = ", ".join(cls.__name__ for cls in allowed)
                detail = f"{type(spec).__name__} cannot be in {where}; there may be {kinds}"
                raise InvalidArgumentError(Reason.UNSUPPORTED, key=str(name), detail=detail)
        found.append(_prepare_all(features))
    for name, spec in lists.items():
        if isinstance(spec, FixedLenSequenceFeature) and spec.default_value is not None:
            detail = "a feature list has no default value: shorter ones are padded with 0 or b''"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=name, detail=detail)
    return found[0], found[1]


_IN_CONTEXT = (FixedLenFeature, VarLenFeature, RaggedFeature)
_IN_LISTS = (FixedLenSequenceFeature, VarLenFeature, RaggedFeature)


def keys_to_read(prepared: Mapping[str, Prepared]) -> dict[str, Kind]:
    """Return every key that has to be read, and as which kind.

    Examples
    --------
    >>> keys_to_read(prepare({"s": SparseFeature("i", "v", float, 10)}))
    {'i': <Kind.INT64: 3>, 'v': <Kind.FLOAT: 2>}
    """
    return {key: kind for feature in prepared.values() for key, kind in feature.reads()}


def prepare_one(name: str, spec: FeatureSpec) -> Prepared:
    """Check one feature by itself; parameters and errors as :func:`prepare` has them."""
    _check_key(name, name, TypeError)
    builder = _BUILDERS.get(type(spec))
    if builder is None:
        detail = f"{type(spec).__name__} is no feature specification; give FixedLenFeature(...)"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=name, detail=detail)
    return builder(name, spec)


def canonical(name: str, spec: FeatureSpec) -> FeatureSpec:
    """Check one feature and return it with dtypes, shapes and defaults in one form.

    dtypes are NumPy's, shapes and lists are tuples, defaults are Python scalars or
    nested tuples of them (byte strings as ``bytes``). Errors as :func:`prepare`.

    Examples
    --------
    >>> canonical("x", FixedLenFeature([2, 1], float, [1, 2]))
    FixedLenFeature(shape=(2, 1), dtype='float32', default_value=((1.0,), (2.0,)))
    """
    made = prepare_one(name, spec)
    match spec, made:
        case FixedLenFeature(), Dense():
            default = spec.default_value
            if default is not None:
                default = _tuples(default_array(name, default, made.kind, made.shape).tolist())
            return FixedLenFeature(made.shape, made.kind.dtype, default)
        case FixedLenSequenceFeature(), Padded():
            padding = None if spec.default_value is None else made.padding.item()
            allowed = bool(spec.allow_missing)
            return FixedLenSequenceFeature(made.shape, made.kind.dtype, allowed, padding)
        case VarLenFeature(), VarLen():
            return VarLenFeature(made.kind.dtype)
        case SparseFeature(), Sparse():
            single = isinstance(spec.index_key, str)
            keys = made.index_keys[0] if single else made.index_keys
            sizes = made.sizes[0] if single else made.sizes
            dtype = made.kind.dtype
            return SparseFeature(keys, made.value_key, dtype, sizes, made.already_sorted)
        case _:
            return replace(spec, partitions=made.partitions)  # type: ignore[type-var, union-attr]


def _tuples(value: Any) -> Any:
    """Return nested lists as nested tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


# ------------------------------------------------------------------- one builder a class


def _dense(name: str, spec: FixedLenFeature) -> Dense:
    kind = kind_of(spec.dtype, name)
    shape = _shape(name, spec.shape)
    default = None
    if spec.default_value is not None:
        default = default_array(name, spec.default_value, kind, shape)
    return Dense(name, kind, shape, default if default is not None and default.size else None)


def _padded(name: str, spec: FixedLenSequenceFeature) -> Padded:
    kind = kind_of(spec.dtype, name)
    shape = _shape(name, spec.shape)
    if 0 in shape:
        # TensorFlow divides by the size of a block, and dies of it (rule S5).
        detail = f"a block of shape {shape} holds no values, so blocks cannot be counted"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=name, detail=detail)
    padding = spec.default_value
    if padding is None:
        padding = b"" if kind is Kind.BYTES else 0
    default = default_array(name, padding, kind, ())
    return Padded(name, kind, shape, default, bool(spec.allow_missing))


def _var_len(name: str, spec: VarLenFeature) -> VarLen:
    return VarLen(name, kind_of(spec.dtype, name))


def _sparse(name: str, spec: SparseFeature) -> Sparse:
    for field in ("index_key", "value_key"):
        value = getattr(spec, field)
        if value is None or (isinstance(value, str | bytes | list | tuple) and not value):
            detail = f"missing {field}; a SparseFeature reads values and their indices"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=name, detail=detail)
    kind = kind_of(spec.dtype, name)
    single = not isinstance(spec.index_key, list | tuple)
    keys = (spec.index_key,) if single else tuple(spec.index_key)
    for key in (*keys, spec.value_key):
        _check_key(name, key, InvalidArgumentError)
    sizes = (spec.size,) if single else spec.size
    if isinstance(sizes, np.ndarray):
        sizes = tuple(sizes)
    if not isinstance(sizes, list | tuple):
        raise TypeError(
            f"size of feature {name!r} must be a list, one for each index_key, not {sizes!r}"
        )
    if len(sizes) != len(keys):
        detail = f"{len(keys)} index keys, but {len(sizes)} sizes"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=name, detail=detail)
    checked = tuple(_count(name, "size", size) for size in sizes)
    return Sparse(name, keys, spec.value_key, kind, checked, bool(spec.already_sorted))


def _ragged(name: str, spec: RaggedFeature) -> Ragged:
    key = name if spec.value_key is None else spec.value_key
    partitions: list[Partition] = []
    for partition in spec.partitions:
        if isinstance(partition, RaggedFeature.UniformRowLength):
            length = _count(name, "UniformRowLength", partition.length)
            partitions.append(RaggedFeature.UniformRowLength(length))
        else:
            _check_key(name, partition.key, InvalidArgumentError)
            partitions.append(partition)
    kind = kind_of(spec.dtype, name)
    _check_key(name, key, InvalidArgumentError)
    return Ragged(name, key, kind, tuple(partitions), spec.row_splits_dtype, spec.validate)


_BUILDERS: dict[type, Callable[[str, Any], Prepared]] = {
    FixedLenFeature: _dense,
    FixedLenSequenceFeature: _padded,
    VarLenFeature: _var_len,
    SparseFeature: _sparse,
    RaggedFeature: _ragged,
}


# ------------------------------------------------------------------- checks of one value


def _check_key(name: object, key: object, error: type[Exception]) -> None:
    """Refuse a key that cannot stand in an Example: no str, or without a UTF-8 form."""
    try:
        if isinstance(key, str):
            key.encode()
            return
        detail = f"a feature's key must be a str, not {key!r}"
    except UnicodeEncodeError:
        detail = f"the key {key!r} has no UTF-8 form"
        error = InvalidArgumentError
    if error is TypeError:
        raise TypeError(detail)
    raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=str(name), detail=detail)


def _shape(name: str, shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple of numbers that are not negative (rule X2)."""
    if shape is None:
        detail = "missing shape; give [] for a single value"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=name, detail=detail)
    single = hasattr(shape, "__index__") and not getattr(shape, "ndim", 0)
    if isinstance(shape, str | bytes) or not (single or hasattr(shape, "__iter__")):
        raise TypeError(f"shape of feature {name!r} must be a list of numbers, not {shape!r}")
    unknown = "a dimension of the shape is unknown"
    try:
        dims = (shape,) if single else tuple(shape)
    except ValueError as error:  # a TensorFlow shape of unknown rank
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=name, detail=unknown) from error
    if None in dims:
        detail = f"{unknown}; use FixedLenSequenceFeature or RaggedFeature for varying lengths"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=name, detail=detail)
    checked = tuple(_dimension(name, dim) for dim in dims)
    # Empty dimensions do not count: NumPy refuses such shapes for their other ones.
    if len(checked) > MAX_DIMENSIONS or math.prod(max(dim, 1) for dim in checked) > 2**60:
        detail = "the shape is larger than any array can be"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=name, detail=detail)
    return checked


def _dimension(name: str, dim: Any) -> int:
    if isinstance(dim, bool | np.bool):
        raise TypeError(f"shape of feature {name!r} must be numbers, not {dim!r}")
    return _count(name, "shape", dim)


def _count(name: str, what: str, value: Any) -> int:
    """Return a number that is not negative and fits into int64."""
    try:
        number = operator.index(value)
    except TypeError as error:
        raise TypeError(f"{what} of feature {name!r} must be an int, not {value!r}") from error
    if not 0 <= number < 2**63:
        detail = f"{what} must be between 0 and 2**63 - 1, not {number}"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=name, detail=detail)
    return number


# ------------------------------------------------------------- features that share a key


def _check_sharing(prepared: Mapping[str, Prepared]) -> None:
    """Refuse two features that read one key in different ways (rule E7)."""
    seen: dict[str, tuple[str, str, tuple[Any, ...]]] = {}
    for name, feature in prepared.items():
        family = _FAMILIES[type(feature)]
        for key, kind in feature.reads():
            way: tuple[Any, ...] = (family, kind)
            if isinstance(feature, Ragged):
                way = (*way, feature.splits_dtype)
            other, its_family, its_way = seen.setdefault(key, (name, family, way))
            # No two dense features share a key: theirs are the names themselves.
            if way != its_way:
                how = _difference(way, its_way)
                detail = (
                    f"features {other!r} ({its_family}) and {name!r} ({family}) both read the "
                    f"key {key!r}, {how}; read it in one way, and convert the result"
                )
                raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=detail)


_FAMILIES: dict[type, str] = {
    Dense: "dense",
    Padded: "dense",
    VarLen: "sparse",
    Sparse: "sparse",
    Ragged: "ragged",
}


def _difference(way: tuple[Any, ...], other: tuple[Any, ...]) -> str:
    """Say in what two ways of reading differ."""
    if way[0] != other[0]:
        return "and these cannot share one"
    if way[1] != other[1]:
        return f"as {other[1].label} and as {way[1].label}"
    return f"with row_splits of {other[2]} and of {way[2]}"


_INT64 = np.iinfo(np.int64)


def default_array(key: str, value: Any, kind: Kind, shape: tuple[int, ...]) -> AnyArray:
    """Convert a default value to an array of the feature's dtype and shape.

    Parameters
    ----------
    key : str
        The feature, for error texts.
    value : array-like
        A scalar, nested lists or tuples, an array. str is encoded as UTF-8.
    kind : Kind
        What to convert to.
    shape : tuple of int
        What to reshape to; nothing is broadcast.

    Returns
    -------
    kind.dtype, shape (*shape,)
        Owns its memory; read-only.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for another number of values than `shape` has, nested lists of
        unequal lengths, and numbers outside of int64.
    TypeError
        For values of another kind.
    """
    given = _as_array(key, value)
    flat = _CONVERTERS[kind](key, given.ravel())
    if flat.size != math.prod(shape):
        detail = f"default_value has {flat.size} values, but shape {shape} holds {math.prod(shape)}"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=detail)
    # A copy, or what the caller does to his array later would change the default.
    array = np.array(flat, kind.dtype).reshape(shape)
    array.flags.writeable = False
    return array


def _as_array(key: str, value: Any) -> AnyArray:
    """Return arrays as they are, and everything else as an array of Python objects."""
    if hasattr(value, "__array__"):
        return np.asarray(value)
    if isinstance(value, bytearray | memoryview):
        raise TypeError(f"default_value of feature {key!r}: give bytes, not {type(value).__name__}")
    try:
        array = np.array(value, object)
    except ValueError:  # nested lists whose lengths differ in a place NumPy does not allow
        array = np.array([[]], object)
        ragged = True
    else:
        ragged = any(isinstance(item, list | tuple) for item in array.flat)
    if ragged:
        detail = "the lists in default_value differ in length"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=detail)
    return array


def _wrong_kind(key: str, found: Any, wanted: str) -> Exception:
    """Return the error for a value of another kind; for no value at all, another class."""
    name = found.name if isinstance(found, np.dtype) else type(found).__name__
    if isinstance(found, np.dtype | str | bytes | int | float | complex | np.generic):
        return TypeError(f"default_value of feature {key!r} must be {wanted}, not {name}")
    detail = f"default_value must be {wanted}, not {name}"
    return InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=detail)


def _floats(key: str, flat: AnyArray) -> AnyArray:
    """Convert to float32; what is too large becomes infinite."""
    if flat.dtype == object:
        for item in flat:
            if not isinstance(item, int | float | np.bool | np.integer | np.floating):
                raise _wrong_kind(key, item, "float32")
        try:
            flat = np.array([float(item) for item in flat], np.float64)
        except OverflowError as error:
            raise _out_of_range(key, "float32") from error
    if flat.dtype.kind not in "biuf":
        raise _wrong_kind(key, flat.dtype, "float32")
    with np.errstate(over="ignore"):
        return flat.astype(np.float32)


def _integers(key: str, flat: AnyArray) -> AnyArray:
    """Convert to int64 without changing a value."""
    if flat.dtype == object:
        for item in flat:
            if not isinstance(item, int | np.bool | np.integer):
                raise _wrong_kind(key, item, "int64")
            if not _INT64.min <= int(item) <= _INT64.max:
                raise _out_of_range(key, "int64")
        return flat.astype(np.int64)
    if flat.dtype.kind not in "biuf":
        raise _wrong_kind(key, flat.dtype, "int64")
    if flat.dtype.kind in "uf" and flat.size:
        # 2^63 is a float, the largest int64 is not: so below it, not up to that.
        fits = (flat >= _INT64.min) & (flat < np.float64(2.0**63))
        if flat.dtype.kind == "u":
            fits = flat <= np.uint64(_INT64.max)
        if not fits.all():
            raise _out_of_range(key, "int64")
        if (flat != np.trunc(flat)).any():
            detail = "default_value must be int64, but has a fraction"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=detail)
    return flat.astype(np.int64)


def _strings(key: str, flat: AnyArray) -> AnyArray:
    """Convert to an object array of bytes."""
    if flat.dtype.kind not in "OSUT":
        raise _wrong_kind(key, flat.dtype, "bytes or str")
    array = np.empty(flat.size, object)
    for i, item in enumerate(flat.tolist()):
        if not isinstance(item, bytes | str):
            raise _wrong_kind(key, item, "bytes or str")
        try:
            array[i] = item.encode() if isinstance(item, str) else bytes(item)
        except UnicodeEncodeError as error:
            detail = "default_value is a str that has no UTF-8 form"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=detail) from error
    return array


def _out_of_range(key: str, name: str) -> InvalidArgumentError:
    detail = f"default_value does not fit into {name}"
    return InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=detail)


_CONVERTERS = {Kind.BYTES: _strings, Kind.FLOAT: _floats, Kind.INT64: _integers}
