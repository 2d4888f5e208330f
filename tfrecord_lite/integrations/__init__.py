"""Bridges to other libraries, which are imported when a function is called.

::

    beam           pipelines of Apache Beam read files and write shards
    dask           data frames and bags of Dask: read_tfrecord, read_records, to_tfrecord
    duckdb         queries over files in SQL, conditions on batches
    grain          Examples as Grain's sources and iterable data sets
    image          encoded images to pixels and back, with Pillow
    image_list     lists of images: folders, manifests, labels
    image_pack     folders of images to files of records
    image_unpack   files of records to folders of images
    keras          records as Keras' data sets of batches
    notebook       batches as tables, an extension for IPython
    pandas         read_tfrecord, to_tfrecord
    ray            data sets of Ray Data: read_tfrecords, write_tfrecords
    polars         scan_tfrecord: lazy frames
    spark          record files as a data source of Spark
    spark_files    folders of files as Spark lays them out
    spark_options  its options
    spark_types    its types, Arrow's, and features
    torch          data sets and files as torch's data sets of tensors
"""
