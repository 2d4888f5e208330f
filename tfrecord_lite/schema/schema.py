"""Schema: feature specifications with their original types, to print, compare and store."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.schema import features as specs
from tfrecord_lite.schema import text
from tfrecord_lite.schema.features import Features, FeatureSpec, FixedLenFeature, RawFeature
from tfrecord_lite.schema.kinds import EXTRA_DTYPES, Kind, numpy_dtype
from tfrecord_lite.schema.prepare import canonical, check_key, no_mapping_error, specifications
from tfrecord_lite.texts import nearest, plural, repr_html

SHOWN_ROWS = 40
"""Most features that ``repr`` shows; of more it leaves out the middle."""

# Known by name, since NumPy has none of them.
_OTHER_DTYPES = EXTRA_DTYPES | {"string"}
_TEXT = r"[SU][0-9]{1,9}|T|str"


@dataclass(frozen=True, slots=True, repr=False)
class Original:
    """The type of a feature before it was stored as bytes, float32 or int64.

    Parameters
    ----------
    dtype : dtype
        Of NumPy's numbers, bools or times, of ml_dtypes such as ``"bfloat16"``, or ``"string"``. Stored as its name,
        without byte order.
    shape : sequence of int or None, optional
        Shape of one example's value, with None for a dimension that varies; None if it is not known.
    text : str, optional
        The type of strings: ``"S5"``, ``"U5"``, ``"T"`` for StringDType, ``"str"`` for Python's; None for ``bytes``.
    missing : bool, default False
        Whether an example may lack the feature, so that a batch is a masked array.
    zone : str, optional
        The time zone of datetime64 values, which are stored in UTC: ``"Europe/Berlin"``. For data frames.
    categories : sequence of str, bytes, int, float or bool, optional
        The values of a column of categories, in their order, each once. For data frames.
    ordered : bool, default False
        Whether the categories have an order.
    compression : "zlib", optional
        How the bytes of an array are compressed, which is one byte string.

    Raises
    ------
    InvalidArgumentError
        ``UNSUPPORTED`` for another dtype, ``BAD_ARGUMENT`` for a value that an argument cannot have, or that does not go
        with the dtype.
    TypeError
        If an argument is of the wrong type.

    Examples
    --------
    >>> from tfrecord_lite.schema import Original
    >>> Original("uint8", [28, 28])
    Original(dtype='uint8', shape=(28, 28))
    """

    dtype: Any
    shape: Any = None
    text: str | None = None
    missing: bool = False
    zone: str | None = None
    categories: Any = None
    ordered: bool = False
    compression: str | None = None

    def __post_init__(self) -> None:
        """Check the fields, and normalize dtype and shape."""
        object.__setattr__(self, "dtype", _dtype_name(self.dtype))
        if self.shape is not None:
            object.__setattr__(self, "shape", tuple(map(_dimension, self.shape)))
        for name, type_ in (("missing", bool), ("ordered", bool), ("text", str), ("zone", str)):
            value = getattr(self, name)
            if not isinstance(value, type_) and (value is not None or type_ is bool):
                raise TypeError(f"{name} must be a {type_.__name__}, not {value!r}")
        if self.text is not None and (self.dtype != "string" or not re.fullmatch(_TEXT, self.text)):
            detail = "text must be str, T, or a width such as S5 or U5, with dtype string; "
            raise argument_error(f"{detail}not {self.text!r} with dtype {self.dtype}")
        if self.zone is not None and not (self.zone and self.dtype.startswith("datetime64")):
            raise argument_error(f"only datetime64 has a zone, not {self.dtype}: {self.zone!r}")
        if self.compression not in (None, "zlib") or (self.compression and self.dtype == "string"):
            raise argument_error(f"compression must be 'zlib', of numbers: {self.compression!r}")
        if self.ordered and self.categories is None:
            raise argument_error("ordered is for categories, but there are none")
        if self.categories is not None:
            listed = _categories(self.categories, self.dtype, self.text)
            object.__setattr__(self, "categories", listed)

    def __repr__(self) -> str:
        """Return the call that creates an equal one."""
        shown = ", ".join(f"{name}={value!r}" for name, value in self._members().items())
        return f"Original({shown})"

    def _members(self) -> dict[str, Any]:
        return {
            field.name: value
            for field in fields(self)
            if (value := getattr(self, field.name)) != field.default or field.name == "shape"
        }


def _dtype_name(dtype: Any) -> str:
    # Dtypes of NumPy, ml_dtypes and TensorFlow have names; scalar types do not.
    name = getattr(dtype, "name", dtype)
    if isinstance(name, str) and name in _OTHER_DTYPES:
        return name
    known = numpy_dtype(dtype)
    if known.kind in "OSUT":
        return "string"
    if known.kind not in "biufcMm" and known.name not in _OTHER_DTYPES:
        detail = f"dtype must be of numbers, bools, times or strings, not {known.name}"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    return str(known.name)


def _categories(categories: Any, dtype: str, text: str | None) -> tuple[Any, ...]:
    if isinstance(categories, str | bytes):
        raise TypeError(f"categories must be a sequence of values, not {categories!r}")
    listed = tuple(categories)
    words = {"bool": bool, "int": int, "uint": int, "float": float}
    word = dtype.rstrip("0123456789")
    item_type = words.get(word) if dtype != "string" else bytes if text is None else str
    if item_type is None:
        raise argument_error(f"categories must be texts, bytes, numbers or bools, not {dtype}")
    for value in listed:
        if type(value) is not item_type:
            actual = f"{item_type.__name__}, not {value!r}"
            raise argument_error(f"the categories of {text or dtype} must be {actual}")
    if len(set(listed)) < len(listed) or any(value != value for value in listed):  # noqa: PLR0124
        raise argument_error("the categories must be different from each other, and not NaN")
    return listed


def _dimension(dim: Any) -> int | None:
    if dim is None:
        return None
    number = operator.index(dim)
    if not 0 <= number < 2**63:
        raise argument_error(f"a dimension must be between 0 and 2**63 - 1, not {number}")
    return number


class SchemaItem(NamedTuple):
    """A feature of a schema: its specification, and its original type if that is known."""

    spec: FeatureSpec
    original: Original | None

    @property
    def kind(self) -> Kind:
        """The kind of the list that is stored."""
        return self.spec.kind

    @property
    def is_raw(self) -> bool:
        """Whether values are stored as their bytes: numbers in a feature of strings."""
        original = self.original
        return original is not None and self.kind is Kind.BYTES and original.dtype != "string"

    @property
    def is_narrowed(self) -> bool:
        """Whether float64 is stored as float32."""
        dtype = None if self.original is None else self.original.dtype
        return dtype == "float64" and self.kind is Kind.FLOAT

    def __str__(self) -> str:
        """Return dtype and shape, for error texts."""
        if self.original is None:
            return type(self.spec).__name__
        word = "missing" if self.original.missing else self.original.text or self.original.dtype
        shape = ", ".join("?" if dim is None else str(dim) for dim in self.original.shape or ())
        return f"{word} [{shape}]"


class _CheckedItem(SchemaItem):
    """An item of a schema, which need not be checked again; what ``_replace`` returns must be."""

    __slots__ = ()
    _make = SchemaItem._make  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(SchemaItem(*self))

    def __reduce__(self) -> tuple[Any, ...]:
        return SchemaItem, tuple(self)


def checked_item(
    name: str, spec: Any, original: Original | None, dense: type[specs.DenseSpec] = FixedLenFeature
) -> SchemaItem:
    """Return a canonical specification with its original; BAD_ARGUMENT if its values cannot come from that.

    Those of the class `dense` have values of one shape: in records, or in steps.
    """
    item = _CheckedItem(spec, original)
    if original is None:
        return item
    fits = True
    if isinstance(spec, RawFeature):
        own = Original(spec.dtype, spec.shape)
        fits = (original.dtype, original.shape) == (own.dtype, own.shape)
    elif isinstance(spec, dense | specs.RaggedFeature):
        shape = original.shape or ()
        rank = shape.count(None)
        # Dimensions that vary are the first ones, but for the last of them.
        fits = shape[: max(rank - 1, 0)] == (None,) * (rank - 1)
        fits &= not (rank and (0 in shape or original.missing))
        fits &= original.compression is None or item.is_raw
        if isinstance(spec, dense) and original.shape is not None:
            is_whole = not rank and math.prod(shape) == math.prod(spec.shape)
            is_one = rank <= 1 and spec.shape == ()
            fits &= is_one if item.is_raw else is_whole
    if not fits:
        raise argument_error(f"{original!r} does not go with {spec!r}", key=name)
    return item


def known_items(features: Features) -> dict[str, SchemaItem]:
    """Return all items of a Schema; of other features those whose original types are known."""
    if isinstance(features, Schema):
        return features.to_items()
    raw = {name: spec for name, spec in features.items() if isinstance(spec, RawFeature)}
    return Schema(raw).to_items()


def check_steps(feature_lists: Schema) -> None:
    """Raise about an original that the steps of a feature list cannot have."""
    for name, (spec, original) in feature_lists.to_items().items():
        checked_item(name, spec, original, specs.FixedLenSequenceFeature)
        if original is not None and original.missing:
            detail = "a step is never missing, so its original has no missing=True; "
            detail += "a list may be, with allow_missing=True"
            raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)


class Schema(Mapping[str, FeatureSpec]):
    """An immutable mapping of names to feature specifications, with their original types.

    It is accepted wherever a dict of features is, can be shared between threads and pickled. Each specification is
    checked and normalized (dtypes are NumPy's, shapes tuples); only a parser checks whether all of them can be parsed
    together.

    Parameters
    ----------
    features : mapping of str to feature specification
        A dtype, or a tuple of dtype and shape, stands for a FixedLenFeature.
    originals : mapping of str to Original, optional
        For some of the features, or all.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` or ``UNSUPPORTED`` for a specification that is not valid, with the
        feature's name in `key`; ``BAD_ARGUMENT`` for an original without a feature.
    TypeError
        If an argument, a name, an original or an argument of a specification is of the wrong type.

    Examples
    --------
    >>> from tfrecord_lite.schema import Original
    >>> features = {"image": FixedLenFeature([], bytes), "tags": VarLenFeature("int64")}
    >>> Schema(features, {"image": Original("uint8", [28, 28])})
    Schema of 2 features
    name   specification    dtype   shape  original
    -----  ---------------  ------  -----  --------------
    image  FixedLenFeature  string  []     uint8 [28, 28]
    tags   VarLenFeature    int64
    """

    __slots__ = ("_items", "plan")

    _items: dict[str, SchemaItem]
    plan: Any
    """What the encoder prepared; None before. Internal."""

    def __init__(self, features: Features, originals: Mapping[str, Original] | None = None) -> None:
        self.plan = None
        if isinstance(features, Schema) and originals is None:
            self._items = features._items  # noqa: SLF001 - of this class
            return
        if not isinstance(features, Mapping):
            raise no_mapping_error(features)
        checked = {name: canonical(name, spec) for name, spec in features.items()}
        originals = {} if originals is None else originals
        for name, entry in originals.items():
            if name not in checked:
                detail = f"no such feature for this original{nearest(name, checked)}"
                raise argument_error(detail, key=str(name))
            if not isinstance(entry, Original):
                raise TypeError(f"original of feature {name!r} must be an Original")
        self._items = {}
        for name, spec in checked.items():
            original = originals.get(name)
            if isinstance(spec, RawFeature):
                original = original or Original(spec.dtype, spec.shape)
            self._items[name] = checked_item(name, spec, original)

    @classmethod
    def of_items(cls, items: Mapping[str, SchemaItem]) -> Self:
        """Create a schema from specifications with their originals.

        Examples
        --------
        >>> schema = Schema({"age": int})
        >>> Schema.of_items(schema.to_items()) == schema
        True
        """
        for name in items:
            check_key(name, name, TypeError)
        new_items = {n: item for n, item in items.items() if not isinstance(item, _CheckedItem)}
        new = cls._with(new_items)
        checked = cls(new.features, new.originals).to_items()
        return cls._with({name: checked.get(name, item) for name, item in items.items()})

    @classmethod
    def _with(cls, items: dict[str, SchemaItem]) -> Self:
        schema = cls.__new__(cls)
        schema._items, schema.plan = items, None  # noqa: SLF001 - of this class
        return schema

    def to_items(self) -> dict[str, SchemaItem]:
        """Return specifications and originals by name, as a new dict.

        Examples
        --------
        >>> infer_schema({"pixels": np.zeros((2, 3), np.uint8)}).to_items()["pixels"].original
        Original(dtype='uint8', shape=(3,))
        """
        return dict(self._items)

    @property
    def features(self) -> dict[str, FeatureSpec]:
        """The specifications, as a new dict."""
        return {name: item.spec for name, item in self._items.items()}

    @property
    def originals(self) -> dict[str, Original]:
        """The original types of the features that have one, as a new dict."""
        items = self._items.items()
        return {name: item.original for name, item in items if item.original is not None}

    def __getitem__(self, name: str) -> FeatureSpec:
        """Return one specification."""
        if name not in self._items:
            self.select([name])  # raises
        return self._items[name].spec

    def __iter__(self) -> Iterator[str]:
        """Yield the names, in order."""
        return iter(self._items)

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self._items)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a feature with this name."""
        return name in self._items

    def __eq__(self, other: object) -> bool:
        """Compare specifications and originals in any order."""
        if not isinstance(other, Schema):
            return NotImplemented
        return self._items == other._items

    def __hash__(self) -> int:
        """Return a hash that agrees with ``==``."""
        return hash(frozenset(self._items.items()))

    def __or__(self, other: Schema) -> Self:
        """Merge two schemas, as dicts."""
        if not isinstance(other, Schema):
            return NotImplemented
        return self._with(self._items | other._items)

    def select(self, names: Iterable[str]) -> Self:
        """Return a schema of some features, in the order of `names`; KeyError for an unknown one.

        Examples
        --------
        >>> Schema({"name": bytes, "age": int}).select(["age"])
        Schema of 1 feature
        name  specification    dtype  shape
        ----  ---------------  -----  -----
        age   FixedLenFeature  int64  []
        """
        try:
            return self._with({name: self._items[name] for name in names})
        except KeyError as error:
            name = error.args[0]
            raise KeyError(f"no feature {name!r}{nearest(name, self)}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the call that creates an equal one."""
        return (type(self), (self.features, self.originals))

    def __str__(self) -> str:
        """Return a table with one line per feature."""
        return text.table(self.features, self.originals)

    def __repr__(self) -> str:
        """Return the table, without the middle of a long one."""
        return text.table(self.features, self.originals, SHOWN_ROWS)

    _repr_html_ = repr_html

    def to_json(self, indent: int | None = 2) -> str:
        """Return the schema as JSON, for people and for :meth:`from_json`; with `indent` None on a single line.

        ASCII. Byte strings that are UTF-8 are strings, others ``{"base64": ...}``; infinities and NaN are strings.

        Examples
        --------
        >>> print(Schema({"age": FixedLenFeature([], int, -1)}).to_json())
        {
          "format": "tfrecord_lite.Schema",
          "version": 1,
          "features": {
            "age": {
              "specification": "FixedLenFeature",
              "shape": [],
              "dtype": "int64",
              "default_value": -1
            }
          }
        }
        """
        return text.write_document(text.FORMAT, {"features": self._described()}, indent)

    def _described(self) -> dict[str, Any]:
        described = {name: text.describe(item.spec) for name, item in self._items.items()}
        for name, (spec, original) in self._items.items():
            if original is None or (isinstance(spec, RawFeature) and text.is_told(spec, original)):
                continue
            members = original._members()  # noqa: SLF001 - of the same module
            described[name]["original"] = {k: text.json_value(v) for k, v in members.items()}
        return described

    @classmethod
    def from_json(cls, document: str | bytes) -> Self:
        """Create a schema from the JSON that :meth:`to_json` returned.

        Nothing in the text is executed or imported, and no memory is allocated for sizes in it.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if the text is not JSON, not a schema, or not valid as one;
            ``UNSUPPORTED`` for a later version of the format.

        Examples
        --------
        >>> Schema.from_json(Schema({"age": VarLenFeature(int)}).to_json())
        Schema of 1 feature
        name  specification  dtype
        ----  -------------  -----
        age   VarLenFeature  int64
        """
        return cls._from_described("features", text.read_document(document, text.FORMAT))

    @classmethod
    def _from_described(cls, member: str, document: Mapping[str, Any]) -> Self:
        """Create a schema from one member of what was read of JSON."""
        features, described = text.read_features(member, document)
        try:
            return cls(features, {name: Original(**members) for name, members in described.items()})
        except TypeError as error:
            raise argument_error(f"schema JSON: {error}") from error


class _Parts(NamedTuple):
    context: Schema
    feature_lists: Schema


class SequenceSchema(_Parts):
    """The schemas of a SequenceExample's context and of its feature lists, as a named tuple.

    ``parse_sequence_example(records, *schema)`` takes it apart; :func:`~tfrecord_lite.load` takes it whole.

    Parameters
    ----------
    context : mapping of str to feature specification, or Schema, optional
        FixedLenFeature, VarLenFeature and RaggedFeature, possibly with original types.
    feature_lists : mapping of str to feature specification, or Schema, optional
        FixedLenSequenceFeature, VarLenFeature, RaggedFeature and RawFeature, possibly with the
        original types of their steps.

    Raises
    ------
    InvalidArgumentError, TypeError
        As :class:`Schema`; ``UNSUPPORTED`` for an original of a feature list with `missing`.

    Examples
    --------
    >>> SequenceSchema({"label": int}, {"rgb": ("float32", [1024])})
    SequenceSchema of 1 context feature and 1 feature list
    <BLANKLINE>
    context
    name   specification    dtype  shape
    -----  ---------------  -----  -----
    label  FixedLenFeature  int64  []
    <BLANKLINE>
    feature lists
    name  specification            dtype    shape
    ----  -----------------------  -------  ------
    rgb   FixedLenSequenceFeature  float32  [1024]
    """

    __slots__ = ()

    def __new__(
        cls, context: Features | None = None, feature_lists: Features | None = None
    ) -> Self:
        """Make schemas of both parts."""
        if feature_lists is not None:
            feature_lists = specifications(feature_lists, is_list=True)
        parts = [Schema({} if part is None else part) for part in (context, feature_lists)]
        check_steps(parts[1])
        return super().__new__(cls, *parts)

    def __str__(self) -> str:
        """Return two tables with one line per feature."""
        return self._tables(None)

    def __repr__(self) -> str:
        """Return both tables, without the middle of a long one."""
        return self._tables(SHOWN_ROWS)

    _repr_html_ = repr_html

    def _tables(self, shown: int | None) -> str:
        n_features, n_lists = map(len, self)
        title = f"SequenceSchema of {plural(n_features, 'context feature')}"
        title += f" and {plural(n_lists, 'feature list')}"
        tables = [
            text.table(part.features, part.originals, shown, heading)
            for heading, part in (("context", self.context), ("feature lists", self.feature_lists))
            if part
        ]
        return "\n\n".join([title, *tables])

    def to_json(self, indent: int | None = 2) -> str:
        """Return the schema as JSON, as :meth:`Schema.to_json`, with the members ``context`` and ``feature_lists``.

        Examples
        --------
        >>> import json
        >>> schema = SequenceSchema({}, {"words": VarLenFeature(bytes)})
        >>> json.loads(schema.to_json())["feature_lists"]
        {'words': {'specification': 'VarLenFeature', 'dtype': 'string'}}
        """
        members = {name: part._described() for name, part in self._asdict().items()}  # noqa: SLF001
        return text.write_document(text.SEQUENCE_FORMAT, members, indent)

    @classmethod
    def from_json(cls, document: str | bytes) -> Self:
        """Create a schema from the JSON that :meth:`to_json` returned; raises the same errors as :meth:`Schema.from_json`.

        Examples
        --------
        >>> schema = SequenceSchema({}, {"words": VarLenFeature(bytes)})
        >>> SequenceSchema.from_json(schema.to_json()) == schema
        True
        """
        fields = text.read_document(document, text.SEQUENCE_FORMAT)
        return cls(*(Schema._from_described(name, fields) for name in cls._fields))  # noqa: SLF001
