"""HTML and SVG as text, without dependencies.

::

    charts  histograms, bars, sparklines and lines as SVG
    tables  small tables, for notebooks

All text is escaped here; colours come from CSS, so that a page decides.
"""

from __future__ import annotations
