"""A schema inferred from the records of files, by one of three policies.

=====================  =======  =====================  ====================================  ========
policy                 records  a later one may lack   a later one may have another feature  features
=====================  =======  =====================  ====================================  ========
:data:`WHOLE`          all      (there is none)        (there is none)                       chosen
:data:`FOR_BATCHES`    10,000   no: MISSING            no: WRONG_KIND                        all
:data:`FOR_TABLES`     10,000   yes: a null            only if columns are chosen            chosen
=====================  =======  =====================  ====================================  ========
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

from tfrecord_lite.block import Block
from tfrecord_lite.described.columns import known_columns
from tfrecord_lite.errors import InvalidArgumentError, argument_error
from tfrecord_lite.example.survey import Survey, check_either
from tfrecord_lite.files.ahead import ReadAhead
from tfrecord_lite.files.names import Source, is_file_object, is_pipe, name_of, position_of, seek_to
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.damage import DamageLog
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.schema import FixedLenFeature, Original, Schema, SequenceSchema
from tfrecord_lite.schema.summary import SequenceSummary, Summary
from tfrecord_lite.schema.types import as_absent

_Rows = TypeVar("_Rows", Block, Any)

SAMPLE = 10_000
"""Records from which a schema is inferred, where not all are read."""
_SAMPLE_BYTES = 64 * 1024 * 1024
_FROM_SAMPLE = "the schema comes from a sample, the first records: pass"


class Policy(NamedTuple):
    """Which records a schema is inferred from, and what later ones may do."""

    num_records: int | None
    """Records at the start that are surveyed, 64 MiB of them at most; None for all."""
    may_lack: bool
    """Whether a later record may lack a feature that every surveyed one has."""
    hint: str | None
    """What ends the error about a later record that does not fit; None if there are none."""
    way_out: str = "choose columns without it, or give schema"
    """What to do about a feature that has no type."""


WHOLE = Policy(None, may_lack=False, hint=None)
"""All records, for ``load``, ``scan(sample=None)`` and ``infer_schema``."""
FOR_BATCHES = Policy(SAMPLE, may_lack=False, hint=f"{_FROM_SAMPLE} schema", way_out="give schema")
"""The first records, for batches that all have the same columns."""
FOR_TABLES = Policy(SAMPLE, may_lack=True, hint=f"{_FROM_SAMPLE} sample=None, or schema")
"""The first records, for ``scan``, whose columns may have nulls."""


def inferred(
    blocks: Iterable[Block],
    policy: Policy,
    sources: Sequence[Source],
    names: Sequence[str] | None = None,
) -> Schema | SequenceSchema:
    """Return the schema of the records in some blocks of `sources`.

    With `names`, it has these features alone, named by path in SequenceExamples, and the others are not judged.
    """
    survey = Survey()
    for block in blocks:
        survey.add(block)
    summary = survey.summary()
    known = feature_names(summary)
    if names is not None and known:
        names = known_columns(names, known, policy.hint)
    try:
        schema = summary.schema(names=names)
    except InvalidArgumentError as error:
        name = name_of(sources[0]) if len(sources) == 1 else None
        way_out = "give schema" if error.key is None else policy.way_out
        detail = f"{error.detail}; {way_out}, which says what the columns are"
        raise error.at(detail=detail, source=name) from None
    return _optional(schema) if policy.may_lack and isinstance(schema, Schema) else schema


def feature_names(summary: Summary | SequenceSummary) -> list[str]:
    """Return the names of the features that have values, which are paths in SequenceExamples."""
    if isinstance(summary, Summary):
        return [name for name, feature in summary.items() if feature.lists]
    lists = summary.feature_lists.items()
    paths = [f"feature_lists/{name}" for name, steps in lists if steps.values.lists]
    return [*(f"context/{name}" for name in feature_names(summary.context)), *paths]


def _optional(schema: Schema) -> Schema:
    """Return features that later records may lack, which all in the sample have."""
    items = schema.to_items()
    for name, item in items.items():
        spec = item.spec
        if item.original is None and isinstance(spec, FixedLenFeature):
            item = item._replace(original=Original(spec.dtype, spec.shape))  # noqa: PLW2901
        items[name] = item if item.original is None else as_absent(name, item)
    return Schema.of_items(items)


# ------------------------------------------------------------------------------ the records


def first_blocks(
    sources: Sequence[Source], options: ReadSettings, num_records: int | None
) -> list[Block]:
    """Return the records at the start of some files, up to a number or 64 MiB."""
    sample: list[Block] = []
    n_bytes = 0
    with closing(first_of(blocks_ahead(sources, options), num_records)) as blocks:
        for block in blocks:
            sample.append(block)
            n_bytes += block.nbytes
            if n_bytes >= _SAMPLE_BYTES:
                break
    return sample


def blocks_ahead(sources: Sequence[Source], options: ReadSettings) -> Generator[Block, None, None]:
    """Yield the records of files for a first look, which leaves the positions of file objects, and reports no damage."""
    for source in sources:
        if is_pipe(source) or (is_file_object(source) and position_of(source) is None):
            detail = "a stream that cannot seek is read only once; give schema, and text by name"
            raise argument_error(detail, source=name_of(source))
    if options.check is None:
        options = options.dropping(check_either)
    log = DamageLog.begin(options.quietly())
    with ReadAhead(sources, options.storage_options, options.read_ahead) as ahead:
        for source in sources:
            start = position_of(source)
            stream = RecordStream(source, options, ahead=ahead)
            try:
                records = stream if log is None else log.skipping(stream)
                while (block := records.next_block()) is not None:
                    yield block
            finally:
                stream.close()
                if start is not None:
                    seek_to(source, start)


def first_of(parts: Iterator[_Rows], n: int | None) -> Generator[_Rows, None, None]:
    """Yield blocks, or batches, up to so many records in all, and close where they come from."""
    left = n
    with closing(parts):  # type: ignore[type-var]
        for part in parts if n != 0 else ():
            yield part if left is None else part[:left]
            left = None if left is None else left - len(part)
            if left is not None and left <= 0:
                return
