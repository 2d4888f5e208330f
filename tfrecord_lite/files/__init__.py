"""Files as streams of bytes.

::

    names        which files a path, URL, pattern or folder names, and what is in a folder
    urls         what a name says by itself: URLs, endings, companions
    compression  the codecs and their options
    inflate      decompression in constant memory
    input        files to read
    output       files to write, in place or to appear complete, by one writer at a time
    remote       URLs, through fsspec
    ranges       requests to a store
    ahead        files of a store, fetched before they are read
"""
