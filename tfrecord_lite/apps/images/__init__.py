"""Images: encoded ones to pixels and back, folders of them to files of records and back.

::

    image   encoded images to pixels and back, with Pillow
    lists   lists of images: folders, manifests, labels
    pack    folders of images to files of records
    unpack  files of records to folders of images
"""
