"""HTML and SVG as text, without dependencies: what notebooks and the viewer's page are made of.

::

    tables    Html, and panels of small tables, for notebooks
    cells     a value as a cell: a number, a text, a picture (with Pillow if it is installed)
    charts    histograms, bars and sparklines as SVG

All text is escaped here: a ``str`` is text, :class:`tables.Html` is markup. There are no scripts, and sizes are
bounded. Colours come from CSS.
"""
