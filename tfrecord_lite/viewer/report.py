"""Files to a report: what the page shows, as plain values.

Nothing here knows HTML: cells and cards, which bring their own, are only passed on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfrecord_lite.example.content import ContentType
    from tfrecord_lite.records.damage import DamageReport


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file in the header of the page."""

    name: str
    """Path or URL."""
    n_bytes: int | None
    """Bytes on disk; None if not known."""
    problem: str | None = None
    """Why it could not be read, or not to its end."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The header of the page."""

    files: tuple[FileEntry, ...]
    types: tuple[ContentType, ...]
    """What the records hold, the most frequent first; empty without records."""
    n_records: int
    is_estimate: bool
    method: str
    """How the records were chosen, in words."""
    compressions: tuple[str, ...]
    damage: DamageReport | None
    """What was lost, if anything was."""
    schema: str | None
    """The schema as text; None if there is none."""
