"""What notebooks show of an object: ``_repr_html_``, by name from the app that knows HTML.

A class that notebooks show as a table has the line ``_repr_html_ = repr_html``; how it looks stands in
:mod:`tfrecord_lite.apps.notebook`, which is loaded when a notebook asks. Nothing else in the codec knows
HTML.
"""

from __future__ import annotations

from importlib import import_module


def repr_html(thing: object) -> str:
    """Return an object as a small table in HTML."""
    text: str = import_module("tfrecord_lite.apps.notebook").html_of(thing)
    return text
