"""Schema: feature specifications with their original types, to print, compare and keep.

An Example holds float32, int64 and byte strings. What was put into it often was
something else: an image of uint8 as one byte string, a bool as an int64, a float64
vector as its raw bytes. A schema keeps, for each feature, how to read it (the
specification) and, where it is known, what it was before (:class:`Original`).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Self

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import text
from tfrecord_lite.schema.features import FeatureSpec
from tfrecord_lite.schema.kinds import numpy_dtype
from tfrecord_lite.schema.prepare import canonical

SHOWN_ROWS = 40
"""Features that ``repr`` shows before it leaves out the middle ones."""

# Known by name, since NumPy itself has neither of them.
_OTHER_DTYPES = frozenset({"bfloat16", "string"})


_TEXT = re.compile(r"[SU][0-9]{1,9}|T|str", re.ASCII)


@dataclass(frozen=True, slots=True, repr=False)
class Original:
    """What a feature was before it was stored as bytes, float32 or int64.

    Parameters
    ----------
    dtype : dtype
        Any number, bool or complex dtype of NumPy, datetime64 or timedelta64 with its unit,
        ``"bfloat16"`` or ``"string"``. Kept as its name; byte order is not part of it.
    shape : sequence of int or None, optional
        Shape of one example's value, None for a dimension that varies; None for a
        shape that is not known.
    text : str, optional
        Which strings they were: ``"S5"`` or ``"U5"`` for NumPy's of fixed width, ``"T"`` for
        its StringDType, ``"str"`` for Python's; None for ``bytes``.
    missing : bool, default False
        Whether an example may lack the feature, so that a batch of them is a masked array.

    Raises
    ------
    InvalidArgumentError
        ``UNSUPPORTED`` for another dtype, ``BAD_ARGUMENT`` for a negative dimension and
        for a `text` that is none of these.
    TypeError
        For no dtype, and a shape that is not made of ints.

    Examples
    --------
    >>> Original("uint8", [28, 28])
    Original(dtype='uint8', shape=(28, 28))
    """

    dtype: Any
    shape: Any = None
    text: str | None = None
    missing: bool = False

    def __post_init__(self) -> None:
        """Check both, and put them into their final form."""
        object.__setattr__(self, "dtype", _dtype_name(self.dtype))
        if self.shape is not None:
            object.__setattr__(self, "shape", tuple(map(_dimension, self.shape)))
        if not isinstance(self.missing, bool):
            raise TypeError(f"missing must be a bool, not {self.missing!r}")
        if self.text is not None and not isinstance(self.text, str):
            raise TypeError(f"text must be a str, not {self.text!r}")
        if self.text is not None and (self.dtype != "string" or not _TEXT.fullmatch(self.text)):
            detail = f"text is {self.text!r} of dtype {self.dtype}; S5, U5, T and str are of string"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)

    def __repr__(self) -> str:
        """Write the call that makes an equal one."""
        shown = [f"dtype={self.dtype!r}", f"shape={self.shape!r}"]
        shown += [f"text={self.text!r}"] if self.text is not None else []
        shown += ["missing=True"] if self.missing else []
        return f"Original({', '.join(shown)})"


def _dtype_name(dtype: Any) -> str:
    """Return the name under which an original dtype is kept."""
    # Dtypes of NumPy, ml_dtypes and TensorFlow have names; scalar types do not.
    name = getattr(dtype, "name", dtype)
    if isinstance(name, str) and name in _OTHER_DTYPES:
        return name
    found = numpy_dtype(dtype)
    if found.kind in "OSUT":
        return "string"
    if found.kind not in "biufcMm" and found.name not in _OTHER_DTYPES:
        detail = f"{found.name} is no number, bool, time or string"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    return str(found.name)


def _dimension(dim: Any) -> int | None:
    """Return one dimension of an original shape."""
    if dim is None:
        return None
    number = operator.index(dim)
    if not 0 <= number < 2**63:
        detail = f"a dimension must be between 0 and 2**63 - 1, not {number}"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    return number


class Schema(Mapping[str, FeatureSpec]):
    """An immutable mapping of names to feature specifications, and what they were stored from.

    It is a mapping, so it goes wherever a dict of features goes. Specifications are
    checked one by one when it is made and put into one form (dtypes are NumPy's, shapes
    tuples); whether they can be parsed together is for the parser to say.

    Parameters
    ----------
    features : mapping of str to feature specification
        In the order they are to be printed.
    originals : mapping of str to Original, optional
        For some of the features, or all.

    Raises
    ------
    InvalidArgumentError
        As :func:`prepare` has it for single features; ``BAD_ARGUMENT`` for an original of
        a feature that is not there.
    TypeError
        As :func:`prepare`.

    Notes
    -----
    Holds no arrays and no references to what it was made from; safe to share between
    threads; pickles.

    Examples
    --------
    >>> from tfrecord_lite.schema import FixedLenFeature, VarLenFeature
    >>> schema = Schema(
    ...     {"image": FixedLenFeature([], bytes), "tags": VarLenFeature("int64")},
    ...     {"image": Original("uint8", [28, 28])},
    ... )
    >>> schema
    Schema of 2 features
    name   specification    dtype   shape  original
    -----  ---------------  ------  -----  --------------
    image  FixedLenFeature  string  []     uint8 [28, 28]
    tags   VarLenFeature    int64
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    __slots__ = ("_features", "_originals")

    _features: dict[str, FeatureSpec]
    _originals: dict[str, Original]

    def __init__(
        self, features: Mapping[str, FeatureSpec], originals: Mapping[str, Original] | None = None
    ) -> None:
        if not isinstance(features, Mapping):
            raise TypeError(f"features must be a mapping, not {type(features).__name__}")
        self._features = {name: canonical(name, spec) for name, spec in features.items()}
        if originals is None:
            originals = features.originals if isinstance(features, Schema) else {}
        for name, original in originals.items():
            if name not in self._features:
                detail = f"an original for a feature that is not there{_nearest(name, self)}"
                raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=str(name), detail=detail)
            if not isinstance(original, Original):
                raise TypeError(f"original of feature {name!r} must be Original(dtype, shape)")
        self._originals = {name: originals[name] for name in self._features if name in originals}

    @property
    def features(self) -> dict[str, FeatureSpec]:
        """The specifications as a dict of the caller's own, as a parser takes them."""
        return dict(self._features)

    @property
    def originals(self) -> dict[str, Original]:
        """What is known of how features were before they were stored; a new dict."""
        return dict(self._originals)

    def __getitem__(self, name: str) -> FeatureSpec:
        """Return one specification; a name that is not there lists the nearest ones."""
        try:
            return self._features[name]
        except KeyError:
            raise KeyError(f"no feature {name!r}{_nearest(name, self)}") from None

    def __iter__(self) -> Iterator[str]:
        """Yield the names, in order."""
        return iter(self._features)

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self._features)

    def __contains__(self, name: object) -> bool:
        """Say whether there is a feature of this name."""
        return name in self._features

    def __eq__(self, other: object) -> bool:
        """Compare specifications and originals; the order does not matter."""
        if not isinstance(other, Schema):
            return NotImplemented
        return self._features == other._features and self._originals == other._originals

    def __hash__(self) -> int:
        """Agree with ``==``."""
        return hash((frozenset(self._features.items()), frozenset(self._originals.items())))

    def __or__(self, other: Schema) -> Self:
        """Return both schemas in one; where both have a name, `other` decides, as in a dict."""
        if not isinstance(other, Schema):
            return NotImplemented
        # What other says of a feature, it says in full: no original of ours remains with it.
        ours = {name: item for name, item in self._originals.items() if name not in other}
        return type(self)(self._features | other._features, ours | other._originals)

    def select(self, names: Iterable[str]) -> Self:
        """Return a schema of some of the features, in the order of `names`.

        Parameters
        ----------
        names : iterable of str
            Each has to be there.

        Raises
        ------
        KeyError
            For a name that is not there, with the nearest ones.
        """
        chosen = {name: self[name] for name in names}
        originals = {name: self._originals[name] for name in chosen if name in self._originals}
        return type(self)(chosen, originals)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the call that makes an equal one."""
        return (type(self), (self._features, self._originals))

    def __str__(self) -> str:
        """Return a table with a line a feature."""
        return text.table(self._features, self._originals)

    def __repr__(self) -> str:
        """Return the table, the middle of a long one left out."""
        return text.table(self._features, self._originals, SHOWN_ROWS)

    def to_json(self, indent: int | None = 2) -> str:
        """Write the schema as JSON, to be read by people and by :meth:`from_json`.

        Parameters
        ----------
        indent : int, optional
            Spaces a level; None for one line.

        Returns
        -------
        str
            ASCII. Byte strings that are UTF-8 stand as strings, others as
            ``{"base64": ...}``; infinities and NaN as strings.
        """
        originals = {name: _members(original) for name, original in self._originals.items()}
        return text.to_json(self._features, originals, indent)

    @classmethod
    def from_json(cls, document: str | bytes) -> Self:
        """Read what :meth:`to_json` wrote.

        Parameters
        ----------
        document : str or bytes
            The JSON text; bytes are UTF-8.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if it is not JSON, not a schema, or says something that no
            schema can say; ``UNSUPPORTED`` for a version from the future.

        Notes
        -----
        Runs nothing from the text and imports nothing; sizes are numbers that are checked,
        never allocated.
        """
        features, originals = text.from_json(document)
        try:
            return cls(features, {name: Original(**item) for name, item in originals.items()})
        except TypeError as error:
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=str(error)) from error


def _members(original: Original) -> dict[str, Any]:
    """Return an original as what JSON can hold; what is as it is by default is left out."""
    members = {"dtype": original.dtype, "shape": original.shape}
    members |= {} if original.text is None else {"text": original.text}
    return members | ({"missing": True} if original.missing else {})


def _nearest(name: object, names: Iterable[str]) -> str:
    """Return the end of a sentence about a name that is not there."""
    close = get_close_matches(str(name), list(names))
    return f"; the nearest: {', '.join(map(repr, close))}" if close else ""
