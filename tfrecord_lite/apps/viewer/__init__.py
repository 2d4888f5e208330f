"""A page that shows what is in files: one self-contained HTML document.

::

    page      view: the page of some files
    document  a report as HTML, through the templates in assets/
    report    files to a Report: a sample of their records, its statistics, some records as rows of cells
    cards     a feature's statistics as a card

Everything that comes from the data is escaped, and bounded in number and size. (A package called
``view`` would hide the public function.)
"""
