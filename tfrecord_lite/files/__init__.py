"""Files as streams of bytes.

`names` which files a path, URL, pattern or folder names, from `urls`, `shards` and `folders` · `compression` the codecs and their options ·
`inflate` decompression in constant memory · `input` files to read · `output` files to write, in
place or to appear complete, by one writer at a time · `remote` URLs · `ranges` what is asked of a store ·
`ahead` files of a store, fetched before they are read.
"""
