"""Events: the values of an event run as plain columns, by category.

==============  ===========================  =======================================
category        stored as (old, new style)   a value is
==============  ===========================  =======================================
``scalars``     simple_value, tensor []      float64
``histograms``  histo, tensor [k, 3]         float64 array (k, 3): left, right, count
``images``      image, tensor of strings     :class:`Image`
``audio``       audio, tensor of strings     tuple of bytes, an encoded clip each
``texts``       tensor of strings            str, or an object array of str
``tensors``     any other tensor             array
==============  ===========================  =======================================

A tensor has the category of its tag's plugin. An old-style value is a message of its own type, a new-style
one a tensor. Sources: TensorBoard's ``data_compat`` module and the ``metadata`` modules of its plugins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tfrecord_lite.apps.events.parse import AUDIO, HISTO, IMAGE, SIMPLE, TENSOR, EventValues, Tags
from tfrecord_lite.apps.markup.cells import MAX_ROWS, Cells
from tfrecord_lite.apps.markup.charts import sparkline
from tfrecord_lite.apps.markup.tables import Cell, Html, panel, table
from tfrecord_lite.arrays import AnyArray, Int64Array, ObjectArray
from tfrecord_lite.errors import DamageReport, InvalidArgumentError, Reason, warn_user
from tfrecord_lite.extension import parse_message
from tfrecord_lite.options import hinted
from tfrecord_lite.texts import choices, plural, value_text
from tfrecord_lite.wire.scalar import LEN, WireError, walk

if TYPE_CHECKING:
    from tfrecord_lite.messages import SummaryMetadata

CATEGORIES = ("scalars", "histograms", "images", "audio", "texts", "tensors")

_SESSION, _SESSION_START = "_hparams_/session_start_info", 3
"""The tag whose metadata holds the hyperparameters, and the field of TensorBoard's HParamsPluginData that does."""

_OF_FORM = np.zeros(TENSOR + 1, np.int64)  # the category, by the field of an old-style value
_OF_FORM[[SIMPLE, HISTO, IMAGE, AUDIO]] = range(4)
_CATEGORY_OF_PLUGIN = {"text": "texts"} | {name: name for name in CATEGORIES[:4]}


class Row(NamedTuple):
    """One value of a :class:`Series`."""

    tag: str
    step: int
    wall_time: float
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Values in the order of the file, as columns of one length.

    Iteration and ``[i]`` return rows, ``[i:j]`` and ``[mask]`` a Series.

    Examples
    --------
    >>> from tfrecord_lite.messages import Event, Summary
    >>> with TFRecordWriter("events.out.tfevents.1.example") as writer:
    ...     for step, loss in enumerate([1.0, 0.5, 0.25]):
    ...         summary = Summary(value=[Summary.Value(tag="loss", simple_value=loss)])
    ...         writer.write(Event(step=step, summary=summary).SerializeToString())
    >>> loss = read_events(".").scalars("loss")
    >>> loss.step[loss.value < 0.6]
    array([1, 2])
    """

    tag: ObjectArray
    """str, shape (n,)."""
    step: Int64Array
    """int64, shape (n,)."""
    wall_time: npt.NDArray[np.float64]
    """Seconds since 1970; float64, shape (n,)."""
    value: AnyArray
    """float64 for scalars, objects for the other categories; shape (n,)."""

    def __len__(self) -> int:
        """Return the number of values."""
        return self.step.size

    def __iter__(self) -> Iterator[Row]:
        """Iterate over the rows."""
        return map(Row, *(column.tolist() for column in self.as_dict().values()))

    def __getitem__(self, key: Any) -> Any:
        """Return one row, or for a slice or mask a Series."""
        is_one = isinstance(key, int | np.integer)
        rows = Series(*(column[[key] if is_one else key] for column in self.as_dict().values()))
        return next(iter(rows)) if is_one else rows

    def as_dict(self) -> dict[str, AnyArray]:
        """Return the columns by name, as ``pandas.DataFrame`` takes them; no copies.

        Examples
        --------
        >>> from tfrecord_lite.messages import Event, Summary
        >>> loss = Summary.Value(tag="loss", simple_value=0.5)
        >>> with TFRecordWriter("events.out.tfevents.1.example") as writer:
        ...     writer.write(Event(step=7, summary=Summary(value=[loss])).SerializeToString())
        >>> columns = read_events(".").scalars().as_dict()  # pandas.DataFrame(columns)
        >>> columns["tag"], columns["value"]
        (array(['loss'], dtype=object), array([0.5]))
        """
        return {name: getattr(self, name) for name in self.__slots__}

    def _repr_html_(self) -> str:
        cells, n_shown = Cells(), slice(MAX_ROWS)
        values = (getattr(value, "encoded", value) for value in self.value[n_shown])
        parts = (self.tag[n_shown], self.step[n_shown].tolist(), map(cells.cell, values))
        rows = zip(*parts, strict=True)
        title = f"Series of {plural(len(self), 'value')}"
        return panel(title, table(["tag", "step", "value"], rows, n_rows=len(self), noun="value"))


@hinted
class Events:
    """The values in some event files.

    Made by :func:`read_events`. Each method returns the values of one category, of one tag or of all, as
    a :class:`Series` in the order of the files: empty, with a warning, for a tag that has only values of
    other categories. :class:`InvalidArgumentError` is raised for an unknown tag (``MISSING``), for what is not
    a value of its category or cannot be parsed (``MALFORMED``), and as by :func:`parse_tensor`.

    Examples
    --------
    >>> from tfrecord_lite.messages import Event, Summary
    >>> loss = Summary.Value(tag="loss", simple_value=0.5)
    >>> with TFRecordWriter("events.out.tfevents.1.example") as writer:
    ...     writer.write(Event(step=7, summary=Summary(value=[loss])).SerializeToString())
    >>> run = read_events(".")
    >>> run.tags["scalars"], run.scalars("loss").step, run.scalars("loss").value
    (('loss',), array([7]), array([0.5]))
    """

    def __init__(
        self, values: EventValues, tags: Tags, torn: tuple[str, ...], report: DamageReport | None
    ) -> None:
        self._values = values
        self._tags = tags
        self.torn = torn
        """Files that end inside a record, before which all was read."""
        self.report = report
        """What was read of the files, and lost; None without ``on_error=``."""
        self._names = np.array([*tags.names, None], object)[:-1]
        plugins = map(tags.plugin, range(len(self._names)))
        of_tags = [CATEGORIES.index(_CATEGORY_OF_PLUGIN.get(name, "tensors")) for name in plugins]
        of_tensor = np.array(of_tags, np.int64)[values.tag]
        self._category = np.where(values.form == TENSOR, of_tensor, _OF_FORM[values.form])

    def __len__(self) -> int:
        """Return the number of values, of all categories."""
        return len(self._values)

    @property
    def tags(self) -> dict[str, tuple[str, ...]]:
        """The tags of each category, in the order they were first seen, for every category."""
        of_each = (self._values.tag[self._category == i] for i in range(len(CATEGORIES)))
        names = (tuple(self._names[np.unique(numbers)]) for numbers in of_each)
        return dict(zip(CATEGORIES, names, strict=True))

    def metadata(self, tag: str) -> SummaryMetadata | None:
        """Return the metadata that a tag's first value has; None if there is none.

        Examples
        --------
        >>> from tfrecord_lite.messages import Event, Summary, SummaryMetadata
        >>> value = Summary.Value(tag="loss", simple_value=0.5)
        >>> value.metadata.summary_description = "mean of the batch"
        >>> with TFRecordWriter("events.out.tfevents.1.example") as writer:
        ...     writer.write(Event(step=7, summary=Summary(value=[value])).SerializeToString())
        >>> read_events(".").metadata("loss").summary_description
        'mean of the batch'
        """
        return self._tags.metadata.get(self._number_of(tag))

    def hparams(self) -> dict[str, Any]:
        r"""Return the hyperparameters of the run, by name; empty if none were logged.

        ``add_hparams`` of torch and tensorboardX, Keras's ``hp.KerasCallback`` and TensorBoard's ``hp.hparams``
        store them, each as a float, a str or a bool. :func:`tabulate_runs` compares those of many runs.

        Examples
        --------
        >>> from tfrecord_lite.messages import Event, Summary
        >>> value = Summary.Value(tag="_hparams_/session_start_info")
        >>> value.metadata.plugin_data.content = b"\x1a\x0e\n\x0c\n\x03opt\x12\x05\x1a\x03sgd"
        >>> with TFRecordWriter("events.out.tfevents.1.example") as writer:
        ...     writer.write(Event(summary=Summary(value=[value])).SerializeToString())
        >>> read_events(".").hparams()
        {'opt': 'sgd'}
        """
        from google.protobuf.struct_pb2 import Struct  # noqa: PLC0415 - seldom needed

        metadata = self.metadata(_SESSION) if _SESSION in self._tags.names else None
        content = b"" if metadata is None else metadata.plugin_data.content
        try:
            # The map of hyperparameters has the encoding of a Struct.
            fields = walk(content, 0, len(content))
            info = [content[a:b] for *key, a, b in fields if key == [_SESSION_START, LEN]]
            settings = parse_message(b"".join(info), Struct)
        except (InvalidArgumentError, WireError):
            raise _malformed(f"the hyperparameters in {_SESSION!r} cannot be parsed") from None
        return {name: settings[name] for name in sorted(settings)}

    def scalars(self, tag: str | None = None) -> Series:
        """Return the scalars of one tag, or of all; `value` is float64.

        Examples
        --------
        >>> from tfrecord_lite.messages import Event, Summary
        >>> loss = Summary.Value(tag="loss", simple_value=0.5)
        >>> with TFRecordWriter("events.out.tfevents.1.example") as writer:
        ...     writer.write(Event(step=7, summary=Summary(value=[loss])).SerializeToString())
        >>> series = read_events(".").scalars("loss")
        >>> series.step, series.value
        (array([7]), array([0.5]))
        """
        return self._series("scalars", tag)

    def histograms(self, tag: str | None = None) -> Series:
        """Return histograms: float64 arrays (k, 3) of left edge, right edge and count.

        As in TensorBoard, an old-style histogram lacks the empty buckets at its ends, and its outermost edges
        are the smallest and the largest number.

        Examples
        --------
        >>> from tfrecord_lite.messages import Event, HistogramProto, Summary
        >>> weights = HistogramProto(min=0, max=2, num=5, bucket_limit=[1, 2], bucket=[3, 2])
        >>> value = Summary.Value(tag="weights", histo=weights)
        >>> with TFRecordWriter("events.out.tfevents.1.example") as writer:
        ...     writer.write(Event(step=7, summary=Summary(value=[value])).SerializeToString())
        >>> read_events(".").histograms("weights").value[0]
        array([[0., 1., 3.],
               [1., 2., 2.]])
        """
        return self._series("histograms", tag)

    def images(self, tag: str | None = None) -> Series:
        r"""Return images, each value an :class:`Image`.

        Examples
        --------
        >>> from tfrecord_lite.messages import Event, Summary
        >>> image = Summary.Image(width=3, height=2, encoded_image_string=b"\x89PNG...")
        >>> value = Summary.Value(tag="sample", image=image)
        >>> with TFRecordWriter("events.out.tfevents.1.example") as writer:
        ...     writer.write(Event(step=7, summary=Summary(value=[value])).SerializeToString())
        >>> read_events(".").images("sample").value[0]
        Image(width=3, height=2, encoded=(b'\x89PNG...',))
        """
        return self._series("images", tag)

    def audio(self, tag: str | None = None) -> Series:
        """Return audio, each value a tuple of encoded clips (usually WAV).

        Examples
        --------
        >>> from tfrecord_lite.messages import Event, Summary
        >>> value = Summary.Value(tag="voice", audio=Summary.Audio(encoded_audio_string=b"RIFF..."))
        >>> with TFRecordWriter("events.out.tfevents.1.example") as writer:
        ...     writer.write(Event(step=7, summary=Summary(value=[value])).SerializeToString())
        >>> read_events(".").audio("voice").value[0]
        (b'RIFF...',)
        """
        return self._series("audio", tag)

    def texts(self, tag: str | None = None) -> Series:
        """Return texts: str, or an object array of str where the tensor has several.

        Bytes that are not UTF-8 become lone surrogates, as by Python's ``surrogateescape``.

        Examples
        --------
        >>> from tfrecord_lite.messages import Event, Summary
        >>> value = Summary.Value(tag="note")
        >>> value.metadata.plugin_data.plugin_name = "text"
        >>> n_bytes = value.tensor.ParseFromString(serialize_tensor("a *first* try"))
        >>> with TFRecordWriter("events.out.tfevents.1.example") as writer:
        ...     writer.write(Event(step=7, summary=Summary(value=[value])).SerializeToString())
        >>> read_events(".").texts("note").value[0]
        'a *first* try'
        """
        return self._series("texts", tag)

    def tensors(self, tag: str | None = None) -> Series:
        """Return the tensors of a tag, of any category; without a tag, those of no other category.

        Examples
        --------
        >>> from tfrecord_lite.messages import Event, Summary
        >>> value = Summary.Value(tag="pr")
        >>> n_bytes = value.tensor.ParseFromString(serialize_tensor(np.eye(2)))
        >>> with TFRecordWriter("events.out.tfevents.1.example") as writer:
        ...     writer.write(Event(step=7, summary=Summary(value=[value])).SerializeToString())
        >>> read_events(".").tensors("pr").value[0]
        array([[1., 0.],
               [0., 1.]])
        """
        if tag is None:
            return self._series("tensors", None)
        of_tag = self._values.tag == self._number_of(tag)
        return self._decoded(np.flatnonzero(of_tag & (self._values.form == TENSOR)), "tensors")

    def _number_of(self, tag: str) -> int:
        if tag in self._tags.names:
            return self._tags.names.index(tag)
        detail = f"no tag {tag!r} in these events{choices(tag, self._tags.names)}"
        raise InvalidArgumentError(Reason.MISSING, detail=detail)

    def _series(self, category: str, tag: str | None) -> Series:
        is_chosen = self._category == CATEGORIES.index(category)
        if tag is not None:
            is_chosen &= self._values.tag == self._number_of(tag)
        chosen = np.flatnonzero(is_chosen)
        if tag is not None and not chosen.size:
            own = [name for name, tags in self.tags.items() if tag in tags]
            text = f"{tag!r} has {' and '.join(own)}, not {category}"
            advice = f"{own[0]}({tag!r}) returns them"
            warn_user(f"{text}; {advice}")
        if category != "scalars":
            return self._decoded(chosen, category)
        value = self._values.number[chosen]
        others = np.flatnonzero(~self._values.is_number[chosen])
        if others.size:
            value[others] = self._decoded(chosen[others], category).value
        return self._with_value(chosen, value)

    def _decoded(self, chosen: Int64Array, category: str) -> Series:
        """Decode values one by one; an error names the tag and the step."""
        values = self._values
        value = np.empty(chosen.size, object)
        for place, i in enumerate(chosen.tolist()):
            stored = values.stored[i]
            content = np.float32(values.number[i]) if stored is None else stored
            try:
                value[place] = decode(category, int(values.form[i]), content)
            except InvalidArgumentError as error:
                what = f"the value of {self._names[values.tag[i]]!r} at step {values.step[i]}"
                raise error.at(detail=f"{what}: {error.detail}") from None
        return self._with_value(chosen, value)

    def _with_value(self, chosen: Int64Array, value: AnyArray) -> Series:
        values = self._values
        tag = self._names[values.tag[chosen]]
        return Series(tag, values.step[chosen], values.wall_time[chosen], value)

    def __repr__(self) -> str:
        """Show the number of values of each category."""
        counts = np.bincount(self._category, minlength=len(CATEGORIES)).tolist()
        parts = [f"{n} {category}" for n, category in zip(counts, CATEGORIES, strict=True) if n]
        return f"<Events {', '.join(parts) or 'none'}>"

    def _repr_html_(self) -> str:
        pairs = np.unique(np.stack([self._category, self._values.tag]), axis=1)
        rows = (self._row(*pair) for pair in pairs.T.tolist())
        header = ["tag", "category", "values", "steps", "last", "curve"]
        title = f"Events of {plural(len(self._tags.names), 'tag')}: {plural(len(self), 'value')}"
        return panel(title, table(header, rows, n_rows=len(pairs.T), noun="tag"))

    def _row(self, category: int, tag: int) -> tuple[Cell, ...]:
        values, name = self._values, str(self._names[tag])
        chosen = np.flatnonzero((values.tag == tag) & (self._category == category))
        low, high = int(values.step[chosen].min()), int(values.step[chosen].max())
        steps = f"{low:,}" if low == high else f"{low:,} .. {high:,}"
        numbers = values.number[chosen[values.is_number[chosen]]]
        last = curve = None
        if CATEGORIES[category] == "scalars" and numbers.size:
            last = f"{numbers[-1]:.6g}"
            curve = Html(sparkline(numbers, f"{chosen.size} values of {name}"))
        return name, CATEGORIES[category], chosen.size, steps, last, curve


# ------------------------------------------------------------------------------ contents

_MAX_SIZE_DIGITS = 19  # of 64 bits


@dataclass(frozen=True, slots=True, repr=False)
class Image:
    r"""One or more encoded images of one step.

    Examples
    --------
    >>> from tfrecord_lite.messages import Event, Summary
    >>> image = Summary.Image(width=3, height=2, encoded_image_string=b"\x89PNG...")
    >>> value = Summary.Value(tag="sample", image=image)
    >>> with TFRecordWriter("events.out.tfevents.1.example") as writer:
    ...     writer.write(Event(step=7, summary=Summary(value=[value])).SerializeToString())
    >>> image = read_events(".").images("sample").value[0]
    >>> image.width, image.height, len(image.encoded)
    (3, 2, 1)
    """

    width: int
    height: int
    encoded: tuple[bytes, ...]
    """Usually PNG; :func:`decode_image` decodes them to arrays."""

    def __repr__(self) -> str:
        """Show what long images are, not their bytes."""
        images = ", ".join(map(value_text, self.encoded)) + "," * (len(self.encoded) == 1)
        return f"Image(width={self.width}, height={self.height}, encoded=({images}))"


def decode(category: str, form: int, content: bytes | np.float32) -> Any:
    """Decode the message stored in the field `form` of a Value, or the number of a tensor."""
    from tfrecord_lite import parse_tensor  # noqa: PLC0415 - seldom needed

    if isinstance(content, bytes) and form not in (TENSOR, SIMPLE):
        return _old_style(form, content)
    array = parse_tensor(content) if isinstance(content, bytes) else np.array(content)
    return _of_category(category, array)


_OF_CLIPS = {(), (1,), (2,)}
_EXPECTED = {
    "scalars": "a scalar is one number",
    "histograms": "a histogram is numbers of shape [k, 3]",
    "images": "images are strings: width, height, then one per image",
    "audio": "audio is strings of shape [k] or [k, 2] (clips, labels)",
    "texts": "a text is strings",
}


def _of_category(category: str, array: AnyArray) -> Any:
    is_strings, is_real = array.dtype == object, array.dtype.kind not in "Oc"
    match category:
        case "scalars" if array.size == 1 and is_real:
            return float(array.item())
        case "histograms" if array.shape[1:] == (3,) and array.ndim == 2 and is_real:
            return array.astype(np.float64)
        case "images" if is_strings and array.ndim == 1:
            sizes, images = array[:2].tolist(), array[2:].tolist()
            # Python raises for very long numbers.
            are_numbers = all(text.isdigit() and len(text) <= _MAX_SIZE_DIGITS for text in sizes)
            if len(sizes) == 2 and are_numbers:
                return Image(int(sizes[0]), int(sizes[1]), tuple(images))
        case "audio" if is_strings and array.ndim in {1, 2} and array.shape[1:] in _OF_CLIPS:
            return tuple(array if array.ndim == 1 else array[:, 0])
        case "texts" if is_strings:
            texts = np.empty(array.size, object)
            texts[:] = [text.decode("utf-8", "surrogateescape") for text in array.ravel()]
            return str(texts[0]) if array.size == 1 else texts.reshape(array.shape)
        case "tensors":
            return array
    dtype = "strings" if is_strings else array.dtype
    raise _malformed(f"{_EXPECTED[category]}; found {dtype} of shape {list(array.shape)}")


def _malformed(detail: str) -> InvalidArgumentError:
    return InvalidArgumentError(Reason.MALFORMED, detail=detail)


def _old_style(form: int, stored: bytes) -> Any:
    from tfrecord_lite.messages import HistogramProto, Summary  # noqa: PLC0415 - not light

    kind: Any = {IMAGE: Summary.Image, HISTO: HistogramProto, AUDIO: Summary.Audio}[form]
    try:
        message = parse_message(stored, kind)
    except InvalidArgumentError:
        raise _malformed(f"its bytes are not a {kind.DESCRIPTOR.full_name}") from None
    if form == IMAGE:
        return Image(message.width, message.height, (message.encoded_image_string,))
    if form == AUDIO:
        return (message.encoded_audio_string,)
    counts, limits = np.array(message.bucket), np.array(message.bucket_limit)
    if counts.size != limits.size:
        raise _malformed(f"a histogram has {counts.size} counts, but {limits.size} limits")
    # Left edge, right edge and count of the buckets, without empty ones at the ends.
    filled = np.flatnonzero(counts > 0)
    if not filled.size:
        return np.empty((0, 3))
    first, last = int(filled[0]), int(filled[-1])
    inner = limits[first:last]
    lefts, rights = np.append(message.min, inner), np.append(inner, message.max)
    return np.stack([lefts, rights, counts[first : last + 1]], 1)
