"""Events: what a run wrote, as plain columns.

==============  ===========================  =======================================
kind            stored as (old, new style)   a value is
==============  ===========================  =======================================
``scalars``     simple_value, tensor []      float64
``histograms``  histo, tensor [k, 3]         float64 array (k, 3): left, right, count
``images``      image, tensor of strings     :class:`Image`
``audio``       audio, tensor of strings     tuple of bytes, an encoded clip each
``texts``       tensor of strings            str, or an object array of str
``tensors``     any other tensor             array
==============  ===========================  =======================================

What a tensor is, the plugin says that its tag is for. Scalars are numbers since they were
read; the others are decoded when they are asked for, by the protobuf runtime.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.events.contents import decode
from tfrecord_lite.events.values import AUDIO, HISTO, IMAGE, SIMPLE, TENSOR

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfrecord_lite.arrays import AnyArray, Int64Array, ObjectArray
    from tfrecord_lite.events.tags import Tags
    from tfrecord_lite.events.values import Values
    from tfrecord_lite.messages.summary_pb2 import SummaryMetadata
    from tfrecord_lite.records.damage import DamageReport

KINDS = ("scalars", "histograms", "images", "audio", "texts", "tensors")

_KIND_OF_FORM = {SIMPLE: "scalars", HISTO: "histograms", IMAGE: "images", AUDIO: "audio"}
_KIND_OF_PLUGIN = {
    "scalars": "scalars",
    "histograms": "histograms",
    "images": "images",
    "audio": "audio",
    "text": "texts",
}


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Values in the order of the file: columns of the same length."""

    tag: ObjectArray
    """str, shape (n,)."""
    step: Int64Array
    """int64, shape (n,)."""
    wall_time: npt.NDArray[np.float64]
    """Seconds since 1970; float64, shape (n,)."""
    value: AnyArray
    """The values: float64 for scalars, objects for the other kinds; shape (n,)."""

    def __len__(self) -> int:
        """Return the number of values."""
        return self.step.size

    def as_dict(self) -> dict[str, AnyArray]:
        """Return the columns by name, as ``pandas.DataFrame`` takes them; no copies."""
        return {name: getattr(self, name) for name in self.__slots__}


class Events:
    """What some event files hold.

    Made by :func:`read_events` and :func:`follow_events`. Each method gives the values of
    one kind, in the order of the files, as a :class:`Series`: of one tag or of all. Of a
    tag that has only values of other kinds it is empty; `tags` says what there is. An
    unknown tag is an :class:`InvalidArgumentError`, ``MISSING``, except in what
    :func:`follow_events` gives, where a tag may come later.

    Parameters
    ----------
    values : Values
    tags : Tags
        Their tags; may come to know more.
    torn : tuple of str
        The files that end inside a record.
    is_part : bool
        Whether this is only a part of a run.
    report : DamageReport, optional
        What was read of the files, and lost.
    """

    def __init__(
        self,
        values: Values,
        tags: Tags,
        torn: tuple[str, ...] = (),
        *,
        is_part: bool = False,
        report: DamageReport | None = None,
    ) -> None:
        self._values = values
        self._tags = tags
        self._is_part = is_part
        self.torn = torn
        """Files that end inside a record: being written, or left behind by a program that
        was killed. What comes before that record was read."""
        self.report = report
        """What was read of the files, and lost; None without ``on_error=``."""
        names = np.array([*tags.names, None], object)[:-1]
        self._names = names
        plugins = [KINDS.index(self._kind_of_tensor(tag)) for tag in range(len(names))]
        forms = np.zeros(TENSOR + 1, np.int64)
        for form, kind in _KIND_OF_FORM.items():
            forms[form] = KINDS.index(kind)
        of_tensor = np.array(plugins, np.int64)[values.tag]
        self._kind = np.where(values.form == TENSOR, of_tensor, forms[values.form])

    def _kind_of_tensor(self, tag: int) -> str:
        return _KIND_OF_PLUGIN.get(self._tags.plugin(tag), "tensors")

    def __len__(self) -> int:
        """Return the number of values, of all kinds."""
        return len(self._values)

    @property
    def tags(self) -> dict[str, tuple[str, ...]]:
        """The tags of each kind, in the order they were first seen; every kind is there."""
        found = {}
        for number, kind in enumerate(KINDS):
            numbers = np.unique(self._values.tag[self._kind == number])
            found[kind] = tuple(self._names[numbers])
        return found

    def metadata(self, tag: str) -> SummaryMetadata | None:
        """Return what the first value of a tag says of it, None if nothing does."""
        return self._tags.metadata.get(self._number_of(tag))

    def scalars(self, tag: str | None = None) -> Series:
        """Return the scalars of one tag, or of all; `value` is float64.

        Raises
        ------
        InvalidArgumentError
            ``MISSING`` for an unknown tag, ``MALFORMED`` for what is no scalar; as
            :func:`parse_tensor` for a tensor that cannot be parsed.
        """
        return self._series("scalars", tag)

    def histograms(self, tag: str | None = None) -> Series:
        """Return histograms: float64 arrays (k, 3) of left edge, right edge and count.

        In an old-style histogram, empty buckets at both ends are left out, and the outermost
        edges are the smallest and the largest number, as TensorBoard has it.

        Raises
        ------
        InvalidArgumentError
            ``MISSING`` for an unknown tag, ``MALFORMED`` for what is no histogram.
        """
        return self._series("histograms", tag)

    def images(self, tag: str | None = None) -> Series:
        """Return images, each value an :class:`Image`.

        Raises
        ------
        InvalidArgumentError
            As :meth:`histograms`.
        """
        return self._series("images", tag)

    def audio(self, tag: str | None = None) -> Series:
        """Return audio, each value a tuple of encoded clips (usually WAV).

        Raises
        ------
        InvalidArgumentError
            As :meth:`histograms`.
        """
        return self._series("audio", tag)

    def texts(self, tag: str | None = None) -> Series:
        """Return texts: str, or an object array of str where the tensor has several.

        Bytes that are not UTF-8 are kept as lone surrogates, by Python's
        ``surrogateescape``.

        Raises
        ------
        InvalidArgumentError
            As :meth:`histograms`.
        """
        return self._series("texts", tag)

    def tensors(self, tag: str | None = None) -> Series:
        """Return whatever is stored as a tensor: of one tag, of any kind; or all other ones.

        Without a tag, those that are of none of the other kinds.

        Raises
        ------
        InvalidArgumentError
            ``MISSING`` for an unknown tag; as :func:`parse_tensor`.
        """
        if tag is None:
            return self._series("tensors", None)
        of_tag = self._values.tag == self._number_of(tag)
        chosen = np.flatnonzero(of_tag & (self._values.form == TENSOR))
        return self._decoded(chosen, "tensors")

    def _number_of(self, tag: str) -> int:
        if tag in self._tags.names:
            return self._tags.names.index(tag)
        if self._is_part:
            return -1
        near = difflib.get_close_matches(tag, self._tags.names, 3)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "see Events.tags"
        raise InvalidArgumentError(Reason.MISSING, detail=f"no tag {tag!r} in these events; {hint}")

    def _series(self, kind: str, tag: str | None) -> Series:
        is_it = self._kind == KINDS.index(kind)
        if tag is not None:
            is_it &= self._values.tag == self._number_of(tag)
        chosen = np.flatnonzero(is_it)
        if kind != "scalars":
            return self._decoded(chosen, kind)
        value = self._values.number[chosen]
        others = np.flatnonzero(~self._values.is_number[chosen])
        if others.size:
            value[others] = self._decoded(chosen[others], kind).value
        return self._with_value(chosen, value)

    def _decoded(self, chosen: Int64Array, kind: str) -> Series:
        """Decode values one by one; an error names the tag and the step."""
        values = self._values
        value = np.empty(chosen.size, object)
        for place, i in enumerate(chosen.tolist()):
            stored = values.stored[i]
            content = np.float32(values.number[i]) if stored is None else stored
            try:
                value[place] = decode(kind, int(values.form[i]), content)
            except InvalidArgumentError as error:
                detail = (
                    f"the value of {self._names[values.tag[i]]!r} at step {values.step[i]}: "
                    f"{error.detail}"
                )
                raise InvalidArgumentError(error.reason, detail=detail) from None
        return self._with_value(chosen, value)

    def _with_value(self, chosen: Int64Array, value: AnyArray) -> Series:
        values = self._values
        tag = self._names[values.tag[chosen]]
        return Series(tag, values.step[chosen], values.wall_time[chosen], value)

    def __repr__(self) -> str:
        """Say how many values of which kinds there are."""
        counts = np.bincount(self._kind, minlength=len(KINDS)).tolist()
        parts = [f"{n} {kind}" for n, kind in zip(counts, KINDS, strict=True) if n]
        return f"<Events {', '.join(parts) or 'none'}>"
