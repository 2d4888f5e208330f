r"""Prepared features: checked specifications, in the form a parser works with.

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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tfrecord_lite.schema.features import Partition, RaggedFeature
from tfrecord_lite.schema.kinds import Kind

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Dense", "Padded", "Prepared", "Ragged", "Sparse", "VarLen"]


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """A feature with the same number of values in every example."""

    key: str
    kind: Kind
    shape: tuple[int, ...]
    """Of one example's values; none of them negative."""
    default: np.ndarray[Any, Any] | None
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
    padding: np.ndarray[Any, Any]
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
