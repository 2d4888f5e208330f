"""Files of Examples as tables of Arrow, without reading more than is asked for.

::

    table   scan: a lazy table over files
"""
