"""The steps of a SequenceExample as a timeline: one lane per feature list.

::

    up to 4 numbers a step         curves over the steps
    vectors of equal length        a heat map: a column per step
    pictures, sounds               a film strip: the first and the last step, and some between
    texts, anything else           the first steps, as chips

The curves of one record have a common axis, as long as its longest list, so that lanes can be compared;
every step that is shown by itself has its number.

Classes: ``v-lane`` (around a chart), ``v-steps`` (<ol> of steps, in each ``v-step``, its number).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from tfrecord_lite.apps.viewer.cells import chip_form, numbers_form, priced
from tfrecord_lite.apps.viewer.parts import NO_MARKUP, Form, caption, dump, more, shortened, visible
from tfrecord_lite.apps.viewer.pictures import extent_text, heat_map
from tfrecord_lite.errors import plural
from tfrecord_lite.example.outline import float_texts, kind_of, values_of
from tfrecord_lite.example.value_content import recognize_value
from tfrecord_lite.markup.charts import lines
from tfrecord_lite.schema.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfrecord_lite.apps.viewer.cells import Cell
    from tfrecord_lite.apps.viewer.parts import Budget
    from tfrecord_lite.arrays import Float64Array
    from tfrecord_lite.example.outline import Row
    from tfrecord_lite.messages import Feature

_MAX_CURVES = 4
_MAX_STEPS_SHOWN = 48
_MAX_FRAMES = 16
_MAX_NUMBERS = 1 << 18
_MAX_WHOLE_NUMBERS = 4096
_MAX_VALUES_IN_STEP = 4


def lane_cell(section: str, row: Row, n_steps: int, budget: Budget) -> Cell:
    """Return the cell of a feature list; `n_steps` is the number of steps of the longest one."""
    form = _lane(row, n_steps, budget)
    return priced(section, row, form, budget)


def _lane(row: Row, n_steps: int, budget: Budget) -> Form:
    if not row.steps:
        return Form(Markup('<span class="v-empty">no steps</span>'), "")
    low, high = row.counts
    if row.kind in {Kind.FLOAT.label, Kind.INT64.label} and len(row.steps) > 1 and low == high > 0:
        numbers = _numbers(row.steps, high)
        if high <= _MAX_CURVES:
            return _curves(row, numbers, n_steps)
        form = heat_map(
            numbers.T, budget, f"{plural(high, 'value')} at {plural(len(row.steps), 'step')}"
        )
        return form._replace(details=_whole(row.steps))
    return _steps(row, budget)


def _numbers(steps: Sequence[Feature], n_values: int) -> Float64Array:
    """Return the numbers of the first steps, as many as are looked at; (n_steps, n_values)."""
    most = max(_MAX_NUMBERS // n_values, 2)
    found = [list(values_of(step)[:_MAX_NUMBERS]) for step in steps[:most]]
    return np.array(found, np.float64)


def _curves(row: Row, numbers: Float64Array, n_steps: int) -> Form:
    """Draw a curve per number of a step, over all steps of the record's longest list."""
    n_known, n_values = numbers.shape
    text = f"{plural(len(row.steps), 'step')}, {extent_text(numbers)}"
    x = np.append(np.arange(n_known), n_steps - 1)
    names = [f"value {i}" if n_values > 1 else "" for i in range(n_values)]
    series = [(name, x, np.append(numbers[:, i], np.nan)) for i, name in enumerate(names)]
    title = f"{visible(shortened(row.name, 80))} over {text}"
    chart = Markup(lines(series, title, height=100))  # noqa: S704 - escaped there
    html = Markup('<div class="v-lane">{}</div>').format(chart) + caption(text)
    first = ", ".join(float_texts(numbers.ravel().tolist(), 8))
    return Form(html, f"{first} {text}", _whole(row.steps))


def _steps(row: Row, budget: Budget) -> Form:
    """Show some steps, each with its number: pictures and sounds from all over, others from the first."""
    n_steps = len(row.steps)
    chosen = list(range(min(n_steps, _MAX_STEPS_SHOWN)))
    if n_steps > _MAX_FRAMES and _is_media(row):
        chosen = np.linspace(0, n_steps - 1, _MAX_FRAMES).astype(np.int64).tolist()
    forms = [_step(row.steps[i], budget) for i in chosen]
    items = [
        Markup('<span class="v-step">{}</span> {}').format(i, form.html)
        for i, form in zip(chosen, forms, strict=True)
    ]
    html = Markup('<ol class="v-steps" tabindex="0">{}</ol>').format(
        NO_MARKUP.join(Markup("<li>{}</li>").format(item) for item in items)
    )
    if n_steps > len(chosen):
        html += more(n_steps - len(chosen), "step")
    text = shortened(" ".join(form.text for form in forms))
    is_numbers = row.kind in {Kind.FLOAT.label, Kind.INT64.label}
    return Form(html, text, _whole(row.steps) if is_numbers else _texts(forms, chosen))


def _is_media(row: Row) -> bool:
    """Return whether the first step with a byte string has a picture or a sound."""
    for step in row.steps[:_MAX_STEPS_SHOWN]:
        if step.bytes_list.value:
            return recognize_value(step.bytes_list.value[0]).media is not None
    return False


def _step(feature: Feature, budget: Budget) -> Form:
    """Show the values of one step."""
    values: Any = values_of(feature)
    if not values:
        return Form(Markup('<span class="v-empty">empty</span>'), "")
    if kind_of(feature) != Kind.BYTES.label:
        return numbers_form(values, {}, budget)
    forms = [chip_form(value, budget) for value in values[:_MAX_VALUES_IN_STEP]]
    html = Markup(" ").join(form.html for form in forms)
    if len(values) > len(forms):
        html += more(len(values) - len(forms), "value")
    return Form(html, " ".join(form.text for form in forms))


def _texts(forms: list[Form], chosen: list[int]) -> Markup:
    """Return what is known of the steps that are shown, as text."""
    texts = "\n".join(f"{i}: {form.text}" for i, form in zip(chosen, forms, strict=True))
    return dump(texts, 0, "step")


def _whole(steps: Sequence[Feature]) -> Markup:
    """Return the numbers of all steps, one line per step, up to a bound."""
    texts, left = [], _MAX_WHOLE_NUMBERS
    for i, step in enumerate(steps):
        values: Any = values_of(step)
        shown = values[:left]
        is_float = kind_of(step) == Kind.FLOAT.label
        numbers = float_texts(shown) if is_float else map(str, shown)
        texts.append(f"{i}: {', '.join(numbers)}")
        left -= len(values) + 1
        if left <= 0:
            break
    return dump("\n".join(texts), len(steps) - len(texts), "step")
