"""A page that shows what is in files: one self-contained HTML document.

::

    page      view: the page of some files
    document  a report as HTML, through the templates in assets/
    report    files to a Report: a sample of their records, its statistics, the first records
    cards     a feature's statistics as a card
    records   a record as a RecordView: a row of cells

Everything that comes from the data is escaped, and bounded in number and size. (A package called
``view`` would hide the public function.)
"""
