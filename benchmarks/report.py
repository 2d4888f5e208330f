"""Figures to Markdown, JSON and SVG.

The JSON has every time of every round; the Markdown a line for each task, with the ratio to TensorFlow and to
the fastest peer, then the targets, then a line for each side; the chart the ratios to TensorFlow.
All are written anew after each task, so that an interrupted run leaves what it has measured.
"""

from __future__ import annotations

import json
import math
from html import escape
from typing import TYPE_CHECKING, Any

from benchmarks.contenders import LIBRARIES
from benchmarks.measure import Ratio, Row, ratio
from benchmarks.tasks import OURS, TARGETS, THEIRS, Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_THEMES = {
    "light": {"back": "#ffffff", "text": "#1f2328", "grid": "#d1d9e0", "bar": "#0969da", "slow": "#bc4c00"},
    "dark": {"back": "#0d1117", "text": "#e6edf3", "grid": "#3d444d", "bar": "#4493f8", "slow": "#db6d28"},
}  # fmt: skip


_LINEAR = 2.0
"""At most so many times the least time per unit, for the largest input: linear."""


class Results:
    """What was measured so far."""

    def __init__(self, setting: dict[str, Any], rows: Iterable[Row] = ()) -> None:
        self.setting = setting
        self.rows = list(rows)
        self.absent: dict[str, str] = {}
        """Libraries that are not there, with the line that installs them."""

    def tasks(self) -> dict[str, dict[str, Row]]:
        """Return the rows of each task by their sides."""
        found: dict[str, dict[str, Row]] = {}
        for row in self.rows:
            found.setdefault(row.task, {})[row.side] = row
        return found

    def to_json(self) -> str:
        """Return all figures."""
        judged = [
            {"task": t.task, "side": t.side, "rival": t.rival, "target": t.ratio, **verdict}
            for t, verdict in ((t, self.verdict(t)) for t in TARGETS)
        ]
        rows = [row.figures() for row in self.rows]
        found = {"setting": self.setting, "absent": self.absent, "targets": judged, "rows": rows}
        return json.dumps(found, indent=1) + "\n"

    def verdict(self, target: Target) -> dict[str, Any]:
        """Return the ratio that was reached, and whether it is enough; nothing if not measured."""
        sides = self.tasks().get(target.task, {})
        ours, rival = sides.get(target.side), sides.get(target.rival)
        if ours is None or rival is None or not is_measured(ours) or not is_measured(rival):
            return {}
        found = ratio(rival, ours)
        reached, low, high = found.median, found.low, found.high
        if target.by_cpu:
            reached, low, high = found.cpu, found.cpu_low, found.cpu_high
        return {"ratio": reached, "low": low, "high": high, "met": reached >= target.ratio}

    # ------------------------------------------------------------------------- Markdown

    def summary(self) -> str:
        """Return the table of one line per task: TensorFlow, this package, and the fastest peer."""
        head = [
            "",
            "TensorFlow",
            "tfrecord_lite",
            "times",
            "of rounds",
            "by processor time",
            "fastest peer",
        ]
        lines = [head]
        for task, sides in self.tasks().items():
            ours = sides.get(OURS)
            if ours is None or not is_measured(ours) or ours.axis:
                continue
            theirs = sides.get(THEIRS)
            compared = ["", "", "", ""]
            if theirs is not None and is_measured(theirs):
                found = ratio(theirs, ours)
                compared = [cell(theirs), *ratio_cells(found)]
            lines.append([task, compared[0], cell(ours), *compared[1:], self._peer(sides, ours)])
        return table(lines, right=(1, 2, 3, 4, 5))

    def _peer(self, sides: dict[str, Row], ours: Row) -> str:
        """Return the fastest of the other libraries, and how much faster this package is."""
        peers = [
            row for side, row in sides.items()
            if is_measured(row) and not side.startswith((OURS, THEIRS, "os.write"))
        ]  # fmt: skip
        if not peers:
            return ""
        best = min(peers, key=_amount)
        return f"{best.side}: {ratio(best, ours).median:.3g} x"

    def targets(self) -> str:
        """Return the table of targets."""
        lines = [["", "", "than", "target", "reached", "of rounds", ""]]
        for target in TARGETS:
            found = self.verdict(target)
            by = ", processor time" if target.by_cpu else ""
            reached, spread, met = "", "", "not measured"
            if found:
                reached = f"{found['ratio']:.2f} x"
                spread = f"{found['low']:.2f} to {found['high']:.2f}"
                met = "met" if found["met"] else "**missed**"
            lines.append(
                [
                    target.task,
                    target.side,
                    target.rival,
                    f"{target.ratio:g} x{by}",
                    reached,
                    spread,
                    met,
                ]
            )
        return table(lines, right=(3, 4))

    def growth(self) -> str:
        """Return the table of how time and memory grow, and whether time is linear."""
        axes: dict[str, list[Row]] = {}
        for row in self.rows:
            if row.axis and row.seconds and row.side == OURS:
                axes.setdefault(row.axis[0], []).append(row)
        lines = [["", "", "us", "of the smallest", "peak memory", ""]]
        for axis, rows in axes.items():
            least = min(row.microseconds for row in rows)
            for row in rows:
                verdict = ""
                if row is rows[-1] and len(rows) > 1:
                    verdict = "linear" if row.microseconds <= _LINEAR * least else "**more**"
                assert row.axis
                cells = [f"{row.microseconds:.3g} a {row.unit}", f"{row.microseconds / least:.2f}"]
                peak = f"{(row.value or 0) / 1e6:,.0f} MB"
                lines.append([axis, f"{row.axis[1]:,}", *cells, peak, verdict])
        return table(lines, right=(1, 2, 3, 4)) if axes else ""

    def details(self) -> str:
        """Return the table of one line per side."""
        lines = [["", "", "setting", "per second", "us each", "CPU us", "rounds", "to TensorFlow"]]
        for task, sides in self.tasks().items():
            for side, row in sides.items():
                theirs = sides.get(THEIRS)
                if row.error:
                    cells = ["", "", "", "", f"failed: {row.error.strip().splitlines()[-1][:100]}"]
                elif row.seconds:
                    is_compared = theirs is not None and theirs is not row and theirs.seconds
                    found = ratio(theirs, row) if is_compared and theirs else None
                    cells = [
                        f"{1e6 / row.microseconds:,.0f}",
                        f"{row.microseconds:,.3g}",
                        f"{row.cpu_microseconds:,.3g}",
                        str(len(row.seconds)),
                        f"{found.median:.2f} x ({found.low:.2f} to {found.high:.2f})"
                        if found
                        else "",
                    ]
                else:
                    cells = [cell(row), "", "", "", ""]
                lines.append([task, side, row.setting, *cells])
        return table(lines, right=(3, 4, 5, 6))

    def to_markdown(self) -> str:
        """Return the whole report."""
        setting = ", ".join(f"{name} {value}" for name, value in self.setting.items())
        parts = [f"# Benchmarks\n\n{setting}\n", self.summary(), "## Targets\n", self.targets()]
        if growth := self.growth():
            parts += [
                "## Growth\n",
                "Time for each unit, and as a multiple of the least.\n",
                growth,
            ]
        parts += ["## Every side\n", self.details(), *self.notes()]
        return "\n".join(parts) + "\n"

    def notes(self) -> list[str]:
        """Return what has to be known of the libraries, and how to get those that are not there."""
        titles = {row.side for row in self.rows}
        known = [x for x in LIBRARIES.values() if x.note and x.title in titles]
        lines = [f"- {library.title} {library.note}." for library in known]
        lines += [f"- {title} was not there: `{line}`." for title, line in self.absent.items()]
        return ["## Libraries\n", "\n".join(lines)] if lines else []

    def write(self, folder: Path, name: str) -> None:
        """Write everything into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(self.to_json())
        (folder / f"{name}.md").write_text(self.to_markdown())
        bars = []
        for task, sides in self.tasks().items():
            ours, theirs = sides.get(OURS), sides.get(THEIRS)
            if ours and theirs and is_measured(ours) and is_measured(theirs):
                bars.append((task, ratio(theirs, ours).median))
        for theme in _THEMES:
            (folder / f"{name}-{theme}.svg").write_text(chart(bars, theme))


def put_table(readme: Path, results: Results) -> None:
    """Replace what is between the marks of the table in a README."""
    before, start, rest = readme.read_text().partition("<!-- table -->\n")
    _, end, after = rest.partition("<!-- end of table -->")
    setting = ", ".join(f"{name} {value}" for name, value in results.setting.items())
    made = f"{setting}\n\n{results.summary()}\nTargets:\n\n{results.targets()}"
    readme.write_text(f"{before}{start}{made}{end}{after}")


def is_measured(row: Row) -> bool:
    """Return whether a side has a figure."""
    return bool(row.seconds) or row.value is not None


def _amount(row: Row) -> float:
    return row.microseconds if row.seconds else float(row.value or 0)


def cell(row: Row) -> str:
    """Return a figure in the unit in which it is read best."""
    if row.seconds:
        if row.unit in {"use", "page"}:
            return f"{row.microseconds / 1e3:,.3g} ms"
        rate = 1e6 / row.microseconds
        size, name = (1e6, "M/s") if rate >= 1e6 else (1e3, "k/s") if rate >= 1e3 else (1, "/s")
        return f"{rate / size:.3g} {name}"
    value = row.value or 0.0
    return f"{value / 1e6:,.4g} MB" if row.unit == "bytes" else f"{value:,.3g} {row.unit}"


def ratio_cells(found: Ratio) -> list[str]:
    """Return a ratio, its spread, and that of processor time."""
    spread = f"{found.low:.2f} to {found.high:.2f}" if found.low != found.high else ""
    by_cpu = f"{found.cpu:.2f}" if spread else ""
    return [f"**{found.median:.2f}**", spread, by_cpu]


def table(lines: Sequence[Sequence[str]], right: tuple[int, ...] = ()) -> str:
    """Return lines of cells as a table of Markdown; columns of `right` are set to the right."""
    marks = ["---:" if i in right else "---" for i in range(len(lines[0]))]
    rows = [lines[0], marks, *lines[1:]]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


# --------------------------------------------------------------------------------- chart


def chart(bars: Sequence[tuple[str, float]], theme: str, *, width: int = 760) -> str:
    """Draw ratios as bars from 1 on an axis of powers of two, with those below 1 to the left."""
    colours, left, row = _THEMES[theme], 250, 20
    height = row * len(bars) + 50
    powers = [math.log2(max(value, 1 / 16)) for _, value in bars]
    low, high = min(map(math.floor, [-1, *powers])), max(map(math.ceil, [2, *powers]))
    room = width - left - 60

    def x_of(power: float) -> float:
        return left + (power - low) / (high - low) * room

    drawn = [f'<rect width="{width}" height="{height}" fill="{colours["back"]}"/>']
    for exponent in range(low, high + 1):
        x = x_of(exponent)
        name = f"{2**exponent} x" if exponent >= 0 else f"1/{2**-exponent} x"
        thick = 2 if exponent == 0 else 1
        drawn.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="24" y2="{height - 20}" stroke="{colours["grid"]}" '
            f'stroke-width="{thick}"/><text x="{x:.1f}" y="{height - 6}" text-anchor="middle">{name}</text>'
        )
    for i, ((label, value), power) in enumerate(zip(bars, powers, strict=True)):
        start, stop = sorted((x_of(0), x_of(power)))
        y = 26 + i * row
        colour = colours["bar" if value >= 1 else "slow"]
        drawn.append(
            f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{escape(label)}</text>'
            f'<rect x="{start:.1f}" y="{y}" width="{max(stop - start, 1):.1f}" height="14" fill="{colour}">'
            f"<title>{escape(label)}: {value:.2f} x</title></rect>"
            f'<text x="{stop + 5:.1f}" y="{y + 12}">{value:.2f}</text>'
        )
    title = "Speed relative to TensorFlow"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{title}" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12" fill="{colours["text"]}">'
        f'{"".join(drawn)}<text x="{left}" y="15" font-weight="bold">{title}</text></svg>\n'
    )
