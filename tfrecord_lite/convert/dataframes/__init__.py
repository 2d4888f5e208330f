"""Data frames to columns and back: of pandas, Polars, and Arrow data of any library; Series too.

::

    frame ──────────────open_frame──> columns, traits ──> records
    stream ────────────open_frames──> the same, batch by batch
      └──describe_frame──> description ──> sidecar
    columns, originals, description ──frame_of──> frame

    pandas, polars, arrow   one library each: to columns, its types in JSON, and back
    from_arrow              Arrow's tables, streams and arrays to columns
    common                  what the three share

They are recognised by their methods, and a library is imported only to make its frames. *Traits* are
those members of a column's Original that its values do not tell: time zone, categories, and that
objects are texts. A *type* is JSON: a name, or an object of one form per kind of types.

A missing value (null, NA, None) is masked; NaN in a column of plain floats is a value. Lists of
any length are rows of a RaggedTensor, those of a fixed length an array with one more dimension.
Times with a zone are stored in UTC, times of day as a timedelta64 since midnight, categories as
the values that they stand for.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.dataframes import arrow, from_arrow, pandas, polars
from tfrecord_lite.convert.types import column_error
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.schema import Original, Schema
from tfrecord_lite.schema.text import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping

    from tfrecord_lite.convert.dataframes.common import Opened

Library: TypeAlias = Literal["pandas", "polars", "arrow"]
Description: TypeAlias = "dict[str, Any]"
"""A frame's library, and the types of its columns and index: JSON."""

Traits: TypeAlias = "dict[str, dict[str, Any]]"
"""Those members of Originals that values do not tell, by column."""

_LIBRARIES: dict[str, Any] = {"arrow": arrow, "polars": polars, "pandas": pandas}


class _Frame(Protocol):
    """A data frame, or a table, of one of the libraries."""

    @property
    def columns(self) -> Any:
        """The columns, or their names."""


class _ArrowStream(Protocol):
    """Arrow data of any library."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a PyCapsule with a stream of record batches."""


class _ArrowArray(Protocol):
    """An array of structs of any library."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        """Return two PyCapsules, with the type and the values."""


DataFrame: TypeAlias = _Frame | _ArrowStream | _ArrowArray
"""A data frame, or whatever has the methods of Arrow's PyCapsule protocol."""


class Frame(NamedTuple):
    """The columns of a data frame."""

    columns: Any
    traits: Traits
    carried: Schema | None = None
    """The schema that came along with Arrow data."""
    n_rows: int = 0
    """Of Arrow data."""


def open_frame(data: Any) -> Frame | None:
    """Return a data frame's columns, or None if it is something else; a stream is read whole.

    Columns are arrays, views where the library allows; masked where something is missing; objects
    where they hold texts, or a TextColumn. Raises UNSUPPORTED for columns of types such as
    decimals and maps, UNREPRESENTABLE for lists with nulls in them.
    """
    library = _library_of(data)
    if library is None:
        return None
    if library == "arrow":
        return _open_table(from_arrow.table_of(data))
    opened = {
        name: _LIBRARIES[library].open_column(name, column)
        for name, column in _features(_LIBRARIES[library], data).items()
    }
    return _frame_of_opened(opened)


def _open_table(table: Any) -> Frame:
    opened = {
        name: arrow.open_column(name, column) for name, column in _features(arrow, table).items()
    }
    return _frame_of_opened(opened, table.num_rows, from_arrow.carried_schema(table))


def _frame_of_opened(
    opened: Mapping[str, Opened], n_rows: int = 0, carried: Schema | None = None
) -> Frame:
    columns = {name: each.values for name, each in opened.items()}
    return Frame(columns, {name: each.traits for name, each in opened.items()}, carried, n_rows)


def open_frames(stream: Any) -> Generator[tuple[Frame, Description]]:
    """Yield the batches of a stream, and their description; the first one has no rows."""
    n_rows = 0
    with closing(from_arrow.batches_of(stream)) as batches:
        for table in batches:
            try:
                frame = _open_table(table)
            except InvalidArgumentError as error:
                index = None if error.index is None else n_rows + error.index
                raise error.at(index=index) from None
            yield frame, {"library": "arrow", **arrow.describe(table)}
            n_rows += frame.n_rows


def frame_of_types(stream: Any) -> Frame:
    """Return a stream's columns without rows, and which may have nulls; no batch is read.

    The categories of dictionaries are not known then.
    """
    table = from_arrow.empty_table(stream)
    frame = _open_table(table)
    for field in table.schema:
        column = frame.columns[field.name]
        is_countable = not isinstance(column, RaggedTensor) and 0 not in column.shape[1:]
        traits = {k: v for k, v in frame.traits[field.name].items() if k in ("text", "zone")}
        frame.traits[field.name] = traits | (
            {"missing": True} if field.nullable and is_countable else {}
        )
    return frame


def is_stream(data: Any) -> bool:
    """Return whether data are Arrow data that are read batch by batch."""
    return _library_of(data) == "arrow" and from_arrow.is_stream(data)


def is_frame(data: Any) -> bool:
    """Return whether data are a data frame."""
    return _library_of(data) is not None


def num_rows(data: Any) -> int:
    """Return the number of rows of a data frame in memory."""
    found = getattr(data, "num_rows", None)
    return len(data) if found is None else int(found)


def open_series(key: str, column: Any) -> Opened | None:
    """Return the values and traits of a Series or Arrow array, or None if it is something else."""
    library = next((each for each in _LIBRARIES.values() if each.is_series(column)), None)
    return None if library is None else library.open_column(key, column)


def is_series(data: Any) -> bool:
    """Return whether data are a single column of one of the libraries."""
    if isinstance(data, np.ndarray | list | tuple):
        return False
    return any(each.is_series(data) for each in _LIBRARIES.values())


def open_columns(data: Any) -> Frame:
    """Return columns and traits, of a frame or of a mapping that may have Series as columns.

    What is neither is returned as it is.
    """
    if isinstance(data, Frame):
        return data
    frame = open_frame(data)
    if frame is not None:
        return frame
    traits: Traits = {}
    if not hasattr(data, "items"):
        return Frame(data, traits)
    series = [name for name, column in data.items() if is_series(column)]
    if not series:
        return Frame(data, traits)
    columns = dict(data)
    for name in series:
        columns[name], traits[name] = open_series(name, columns[name])  # type: ignore[misc]
    return Frame(columns, traits)


def with_traits(schema: Schema, traits: Mapping[str, dict[str, Any]]) -> Schema:
    """Return a schema whose originals have the traits of their columns, too."""
    originals = schema.originals
    for name, members in traits.items():
        if members and name in originals:
            originals[name] = replace(originals[name], **members)
    return Schema(schema.features, originals)


def check_traits(columns: Mapping[str, Any], traits: Traits, schema: Mapping[str, Any]) -> None:
    """Raise if columns of frames would come back by a schema as something else."""
    originals = schema.originals if isinstance(schema, Schema) else {}
    for name, members in traits.items():
        original = originals.get(name)
        if original is None:
            continue
        if original.dtype.startswith("datetime64"):
            _check_zone(name, columns[name], members.get("zone"), original.zone)
        if original.categories is not None and members.get("ordered"):
            _check_order(name, members["categories"], original)


def _check_zone(name: str, column: Any, ours: str | None, wanted: str | None) -> None:
    flat = getattr(column, "flat_values", column)
    if ours == wanted or flat.dtype.kind != "M":
        return
    found = "times without a time zone" if ours is None else f"times in {ours}"
    if wanted is None:
        detail = f"{found}, but the schema's have no time zone; take theirs away"
    else:
        how = "give them this one" if ours is None else "convert them to it"
        detail = f"{found}, but the schema's are in {wanted}; {how}"
    raise column_error(name, detail, None, Reason.WRONG_KIND)


def _check_order(name: str, ours: Collection[Any], original: Original) -> None:
    order = {value: i for i, value in enumerate(original.categories or ())}
    places = [order[value] for value in ours if value in order]
    if original.ordered and places == sorted(places):
        return
    found = "in another order" if original.ordered else "without one"
    detail = f"categories with an order, but the schema has them {found}; change their order"
    detail += ", or make the schema from this column"
    raise column_error(name, detail, None, Reason.WRONG_KIND)


def _library_of(data: Any) -> str | None:
    if isinstance(data, dict | list | tuple | np.ndarray):
        return None
    found = next((name for name, each in _LIBRARIES.items() if each.is_frame(data)), None)
    if found is None and polars.is_lazy(data):
        raise TypeError("a LazyFrame has no data yet; give lazy_frame.collect()")
    others = (pandas, polars)
    if found is None and not any(each.is_series(data) for each in others):
        found = "arrow" if from_arrow.is_source(data) else None
    return found


def _features(library: Any, data: Any) -> dict[str, Any]:
    """Return a frame's columns, and its index, by name."""
    names = library.names_of(data)
    for i, name in enumerate(names):
        if not isinstance(name, str):
            detail = f"a column's name must be a str, not {name!r}"
            raise TypeError(f"{detail}; rename it, such as with df.columns = df.columns.map(str)")
        if name in names[:i]:
            raise column_error(name, "two columns have this name; rename one of them")
    columns = {name: library.column_of(data, name) for name in names}
    for name, level in library.index_of(data).items():
        if name in columns:
            detail = "a level of the index and a column have this name; rename one of them"
            raise column_error(name, detail)
        columns[name] = level
    return columns


# ------------------------------------------------------------------------------- and back


def describe_frame(data: Any) -> Description | None:
    """Return the types of a data frame as JSON, or None if it is something else."""
    library = _library_of(data)
    if library is None:
        return None
    data = from_arrow.table_of(data) if library == "arrow" else data
    _features(_LIBRARIES[library], data)
    return {"library": library, **_LIBRARIES[library].describe(data)}


def fitting_description(
    description: Description | None, schema: Schema, originals: Mapping[str, Original]
) -> Description | None:
    """Return a description without the types that do not go with a schema.

    `originals` are those that the frame has by itself.
    """
    if description is None:
        return None
    library, given = _LIBRARIES[description["library"]], schema.originals

    def kept(name: str, kind: Any) -> Any:
        ours, wanted = originals.get(name), given.get(name)
        if wanted is None or not library.is_fitting(kind, wanted):
            return None
        if isinstance(kind, dict) and kind.get("object") in ("list", "tuple", "array"):
            return kind if wanted.shape else None  # rows of any values
        return kind if ours is not None and _is_alike(ours, wanted) else None

    types = {name: kept(name, kind) for name, kind in description["columns"].items()}
    fitting = {**description, "columns": types}
    if isinstance(index := description.get("index"), list):
        fitting["index"] = [
            {**level, "type": kept(level["feature"], level["type"])} for level in index
        ]
    if "required" in description:
        fitting["required"] = [
            name for name in description["required"] if name not in given or not given[name].missing
        ]
    return fitting


def _is_alike(ours: Original, wanted: Original) -> bool:
    """Return whether columns of two originals have the same type, but for what is missing."""
    forms = [
        (each.dtype, each.shape, each.zone, each.text is None, each.categories is None)
        for each in (ours, wanted)
    ]
    return forms[0] == forms[1]


def check_library(name: Any) -> None:
    """Raise if this is not the name of a library, or if it is not installed."""
    if not isinstance(name, str) or name not in _LIBRARIES:
        others = {"pyarrow": "; for a Table of pyarrow give 'arrow'"}
        hint = others.get(name, nearest(name, _LIBRARIES)) if isinstance(name, str) else ""
        raise argument_error(f"as_ must be 'pandas', 'polars', 'arrow' or None, not {name!r}{hint}")
    _LIBRARIES[name].imported()


def frame_of(
    library: Library,
    columns: Mapping[str, Any],
    originals: Mapping[str, Original],
    description: Description | None,
    rows: range,
) -> Any:
    """Return columns as a data frame of a library.

    The description is used if it is of the same library; otherwise originals and columns tell the
    types. The range has the numbers of these rows among all.
    """
    if description is not None and description.get("library") != library:
        description = None
    return _LIBRARIES[library].frame_of(columns, originals, description or {}, rows)


def joined_tables(tables: list[Any]) -> Any:
    """Return the rows of some Tables of pyarrow as one, without a copy."""
    if tables[0].column_names:
        return arrow.imported().concat_tables(tables)
    return arrow.frame_of({}, {}, {}, range(sum(map(len, tables))))


def index_names(description: Description | None) -> list[str]:
    """Return the features that are levels of a frame's index."""
    levels = (description or {}).get("index", [])
    return [level["feature"] for level in levels] if isinstance(levels, list) else []


def check_description(found: Any, names: Collection[str]) -> Description | None:
    """Check the form of a description from parsed JSON; its types are checked when they are used."""
    if found is None:
        return None
    form = isinstance(found, dict) and isinstance(found.get("columns"), dict)
    if (
        not form
        or not isinstance(library := found.get("library"), str)
        or library not in _LIBRARIES
    ):
        detail = "a sidecar's dataframe must have a library, and the types of its columns"
        raise argument_error(detail)
    if "index" in found and not _is_index(found["index"], names):
        detail = "the index of a sidecar's dataframe must be a range, or a list of features"
        raise argument_error(detail)
    return dict(found)


def _is_index(found: Any, names: Collection[str]) -> bool:
    """Return whether JSON is a description of an index."""
    if isinstance(found, list):
        return all(
            isinstance(level, dict) and _is_one(level.get("feature"), names) for level in found
        )
    numbers: Any = found.get("range") if isinstance(found, dict) else None
    if not isinstance(numbers, list) or len(numbers) != 3 or numbers[2] == 0:
        return False
    return all(type(number) is int and abs(number) < 2**62 for number in numbers)


def _is_one(name: Any, names: Collection[str]) -> bool:
    return isinstance(name, str) and name in names


def merged_description(one: Description | None, other: Description | None) -> Description | None:
    """Return the description of two frames that are read as one: the parts that agree."""
    if one is None or other is None:
        return None
    if one["library"] != other["library"] or index_names(one) != index_names(other):
        return None
    merged = {key: value for key, value in one.items() if other.get(key) == value}
    theirs = other["columns"]
    # A column that one of them lacks is as in the other.
    types = {
        name: kind if theirs.get(name, kind) == kind else None
        for name, kind in {**theirs, **one["columns"]}.items()
    }
    merged |= {"library": one["library"], "columns": types}
    if "index" in one and "index" in other:
        merged["index"] = _merged_index(one["index"], other["index"])
    return merged


def _merged_index(one: Any, other: Any) -> Any:
    """Return the index of the rows of two frames."""
    if isinstance(one, list):
        return [
            {**ours, "type": ours.get("type") if ours.get("type") == theirs.get("type") else None}
            for ours, theirs in zip(one, other, strict=True)
        ]
    name = {"name": one.get("name")} if one.get("name") == other.get("name") else {}
    ranges = [*_ranges_of(one), *_ranges_of(other)]
    return {"ranges": ranges, **name} if len(ranges) > 1 else {"range": ranges[0], **name}


def _ranges_of(index: Any) -> list[list[int]]:
    """Return the ranges of an index, one per frame."""
    return index["ranges"] if "ranges" in index else [index["range"]]


def part_of(description: Description | None, rows: range) -> Description | None:
    """Return the description of some of a frame's rows."""
    index = None if description is None else description.get("index")
    if not isinstance(index, dict):
        return description
    labels = range(*index["range"])[rows.start : rows.stop]
    part = {**index, "range": [labels.start, labels.stop, labels.step]}
    return {**description, "index": part}  # type: ignore[dict-item]


def without_labels(description: Description | None) -> Description | None:
    """Return what the descriptions of all parts of a frame have in common."""
    if description is None or not isinstance(index := description.get("index"), dict):
        return description
    return {**description, "index": index.get("name")}
