"""Scripts as people write them for TensorFlow, without their first line.

Each is run in an empty folder, once after ``import tensorflow as tf`` and once after ``from
tfrecord_lite import tf``, and must print the same. They use TensorFlow only for records.
"""

import contextlib
import io
import os
from pathlib import Path

__all__ = ["OURS", "SCRIPTS", "TENSORFLOW", "run_script"]

TENSORFLOW = "import tensorflow as tf"
OURS = "from tfrecord_lite import tf"

SCRIPTS = {
    "tutorial": '''
import numpy as np

def _bytes_feature(value):
    """Returns a bytes_list from a string / byte."""
    if isinstance(value, type(tf.constant(0))):
        value = value.numpy()  # BytesList won't unpack a string from an EagerTensor.
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))

def _float_feature(value):
    return tf.train.Feature(float_list=tf.train.FloatList(value=[value]))

def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[int(value)]))

print(_bytes_feature(b"test_string"), _float_feature(np.exp(1)), _int64_feature(True))

n = 1000
rng = np.random.RandomState(0)
feature0 = rng.choice([False, True], n)
feature1 = rng.randint(0, 5, n)
feature2 = np.array([b"cat", b"dog", b"chicken", b"horse", b"goat"])[feature1]
feature3 = rng.randn(n)

def serialize_example(feature0, feature1, feature2, feature3):
    feature = {
        "feature0": _int64_feature(feature0),
        "feature1": _int64_feature(feature1),
        "feature2": _bytes_feature(feature2),
        "feature3": _float_feature(feature3),
    }
    proto = tf.train.Example(features=tf.train.Features(feature=feature))
    return proto.SerializeToString(deterministic=True)

serialized_example = serialize_example(False, 4, b"goat", 0.9876)
print(serialized_example)
print(tf.train.Example.FromString(serialized_example).features.feature["feature2"])

features_dataset = tf.data.Dataset.from_tensor_slices((feature0, feature1, feature2, feature3))
for f0, f1, f2, f3 in features_dataset.take(1):
    print(f0, f1, f2, f3)

def tf_serialize_example(f0, f1, f2, f3):
    tf_string = tf.py_function(serialize_example, (f0, f1, f2, f3), tf.string)
    return tf.reshape(tf_string, ())

print(tf_serialize_example(f0, f1, f2, f3))
serialized_features_dataset = features_dataset.map(tf_serialize_example)
tf.data.experimental.TFRecordWriter("test.tfrecord").write(serialized_features_dataset)

filenames = ["test.tfrecord"]
raw_dataset = tf.data.TFRecordDataset(filenames)
for raw_record in raw_dataset.take(10):
    print(repr(raw_record))

feature_description = {
    "feature0": tf.io.FixedLenFeature([], tf.int64, default_value=0),
    "feature1": tf.io.FixedLenFeature([], tf.int64, default_value=0),
    "feature2": tf.io.FixedLenFeature([], tf.string, default_value=""),
    "feature3": tf.io.FixedLenFeature([], tf.float32, default_value=0.0),
}

def _parse_function(example_proto):
    return tf.io.parse_single_example(example_proto, feature_description)

for parsed_record in raw_dataset.map(_parse_function).take(10):
    print({key: repr(parsed_record[key]) for key in sorted(parsed_record)})

for raw_record in raw_dataset.take(1):
    example = tf.train.Example()
    example.ParseFromString(raw_record.numpy())
    for key, feature in sorted(example.features.feature.items()):
        print(key, np.array(getattr(feature, feature.WhichOneof("kind")).value))
''',
    "images": """
import numpy as np

image = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
tf.io.write_file("image.png", tf.io.encode_png(image))
image_string = tf.io.read_file("image.png")
print(tf.io.decode_png(image_string).shape)
bytes_list = tf.train.BytesList(value=[image_string.numpy()])
features = tf.train.Features(feature={"image_raw": tf.train.Feature(bytes_list=bytes_list)})
with tf.io.TFRecordWriter("images.tfrecords") as writer:
    writer.write(tf.train.Example(features=features).SerializeToString())
description = {"image_raw": tf.io.FixedLenFeature([], tf.string)}
for record in tf.data.TFRecordDataset("images.tfrecords"):
    image_raw = tf.io.parse_single_example(record, description)["image_raw"].numpy()
    decoded = tf.image.decode_image(image_raw, channels=3)
    print(decoded.shape, decoded.dtype, decoded[1, 2])
    assert np.array_equal(decoded.numpy(), image)

raw = tf.io.decode_raw(image.tobytes(), tf.uint8)
shape = tf.io.decode_raw(np.array(image.shape, np.int32).tobytes(), tf.int32)
print(raw.shape, shape, tf.reshape(raw, shape).shape, tf.reshape(raw, [-1, 3])[0])
""",
    "tensorflow 1": """
tf = tf.compat.v1
options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
example = tf.train.Example()
example.features.feature["x"].int64_list.value.extend([3, 9])
with tf.python_io.TFRecordWriter("old.gz", options=options) as writer:
    writer.write(example.SerializeToString())
for record in tf.python_io.tf_record_iterator("old.gz", options=options):
    print(list(tf.train.Example.FromString(record).features.feature["x"].int64_list.value))
    print(tf.parse_single_example(record, {"x": tf.FixedLenFeature([2], tf.int64)}, "a name"))
with tf.io.TFRecordWriter("raw") as writer:
    writer.write(b"Record A")
    writer.write(b"Record B")
print(list(tf.io.tf_record_iterator("raw")))
""",
    "sequences": """
with tf.io.TFRecordWriter("sequences") as writer:
    for sequence, labels in (([1, 2, 3], [0, 1, 0]), ([4, 5, 1], [1, 0, 0]), ([1, 2], [1, 1])):
        ex = tf.train.SequenceExample()
        ex.context.feature["length"].int64_list.value.append(len(sequence))
        for token, label in zip(sequence, labels):
            lists = ex.feature_lists.feature_list
            lists["tokens"].feature.add().int64_list.value.append(token)
            lists["labels"].feature.add().int64_list.value.append(label)
        writer.write(ex.SerializeToString())

context_features = {"length": tf.io.FixedLenFeature([], dtype=tf.int64)}
step = tf.io.FixedLenSequenceFeature([], dtype=tf.int64)
sequence_features = {"tokens": step, "labels": step}

def parse(record):
    return tf.io.parse_single_sequence_example(
        record, context_features=context_features, sequence_features=sequence_features
    )

for context, lists in tf.data.TFRecordDataset("sequences").map(parse):
    print(context, lists["tokens"], lists["labels"])
for batch in tf.data.TFRecordDataset("sequences").batch(3):
    context, lists, lengths = tf.io.parse_sequence_example(
        batch, context_features=context_features, sequence_features=sequence_features
    )
    print(context["length"], lists["tokens"], lengths["labels"])
padded = tf.data.TFRecordDataset("sequences").map(parse).map(lambda c, s: s["tokens"])
print(list(padded.padded_batch(2)))
print(list(padded.padded_batch(2, padded_shapes=[5], padding_values=tf.constant(-1, tf.int64))))
""",
    "pipeline": """
import os
AUTOTUNE = tf.data.AUTOTUNE
for shard in range(4):
    with tf.io.TFRecordWriter("train-%d.tfrec" % shard) as writer:
        for i in range(5):
            example = tf.train.Example()
            feature = example.features.feature
            feature["image"].bytes_list.value.append(bytes([shard, i] * 6))
            feature["label"].int64_list.value.append(10 * shard + i + 1)
            writer.write(example.SerializeToString())

filenames = sorted(tf.io.gfile.glob("*.tfrec"))
print([os.path.basename(name) for name in filenames])

def read_tfrecord(example):
    tfrecord_format = {
        "image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)
    }
    example = tf.io.parse_single_example(example, tfrecord_format)
    image = tf.cast(tf.reshape(tf.io.decode_raw(example["image"], tf.uint8), [2, 2, 3]), tf.float32)
    return image / 255.0, tf.cast(example["label"], tf.int32) - 1

ignore_order = tf.data.Options()
ignore_order.experimental_deterministic = False
dataset = tf.data.TFRecordDataset(filenames[:3]).with_options(ignore_order)
dataset = dataset.map(read_tfrecord, num_parallel_calls=AUTOTUNE).shuffle(2048)
image_batch, label_batch = next(iter(dataset.prefetch(buffer_size=AUTOTUNE).batch(32)))
print(image_batch.shape, image_batch.dtype, label_batch.dtype)
print(sorted(label_batch.numpy().tolist()))

files = tf.data.Dataset.list_files("train-*.tfrec", shuffle=False)
turns = files.interleave(tf.data.TFRecordDataset, cycle_length=3, block_length=2)
print([int(label) for _, label in turns.map(read_tfrecord)])
turns = files.interleave(
    lambda name: tf.data.TFRecordDataset(name).take(3), cycle_length=2, num_parallel_calls=2
)
print([int(label) for _, label in turns.map(read_tfrecord)])
flat = files.flat_map(tf.data.TFRecordDataset).map(lambda record: read_tfrecord(record)[1])
print([batch.tolist() for batch in flat.batch(8).as_numpy_iterator()])
print([batch.tolist() for batch in flat.batch(8, drop_remainder=True).as_numpy_iterator()])
""",
    "feature store": """
options = tf.io.TFRecordOptions(compression_type="GZIP")
for part in range(2):
    with tf.io.TFRecordWriter("part-r-%05d" % part, options=options) as writer:
        for i in range(50):
            example = tf.train.Example()
            feature = example.features.feature
            if i % 5:
                feature["int_col"].int64_list.value.append(i)
            feature["byte_col"].bytes_list.value.append(b"%d" % part)
            feature["label"].float_list.value.extend([i / 2] * (i % 3))
            writer.write(example.SerializeToString())
dataset = tf.data.experimental.make_batched_features_dataset(
    file_pattern="part-r-*",
    batch_size=64,
    features={
        "int_col": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
        "byte_col": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.VarLenFeature(tf.float32),
    },
    label_key="label", reader=tf.data.TFRecordDataset, reader_args=["GZIP"], num_epochs=1,
    shuffle=False,
)
for features, label in dataset:
    print(features["int_col"], features["byte_col"][:3], label.dense_shape, label.values[:4])
    print(tf.sparse.to_dense(label, default_value=-1.0)[:4])
""",
    "sparse and ragged": """
def example(values):
    feature = {"v": tf.train.Feature(int64_list=tf.train.Int64List(value=values))}
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

records = [example(values) for values in ([1, 2, 3], [], [4])]
dataset = tf.data.Dataset.from_tensor_slices(records)
spec = {"v": tf.io.VarLenFeature(tf.int64)}
for parsed in dataset.map(lambda record: tf.io.parse_single_example(record, spec)):
    print(parsed["v"])
    print(parsed["v"].values.numpy(), parsed["v"].indices.shape, parsed["v"].dense_shape.numpy())
batches = dataset.map(lambda record: tf.io.parse_single_example(record, spec)).batch(3)
for parsed in batches:
    print(parsed["v"], tf.sparse.to_dense(parsed["v"]))
for parsed in dataset.batch(2).map(lambda batch: tf.io.parse_example(batch, spec)):
    print(parsed["v"], tf.sparse.to_dense(tf.cast(parsed["v"], tf.float32), -1.0))
ragged = tf.io.parse_example(records, {"v": tf.io.RaggedFeature(tf.int64)})["v"]
print(ragged, ragged.to_list(), ragged.values, ragged.row_splits, ragged.to_tensor(-1))
print(ragged.shape, ragged.dtype, ragged[0], len(list(ragged)), ragged.row_lengths())
print(tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 1, 3]))
made = tf.sparse.SparseTensor(indices=[[0, 1]], values=[5], dense_shape=[1, 3])
print(made, tf.sparse.to_dense(made))
dense = dataset.map(lambda r: tf.sparse.to_dense(tf.io.parse_single_example(r, spec)["v"]))
print(list(dense.padded_batch(3)))
""",
    "serialised tensors": """
import numpy as np
strings = np.array([b"ab", b"c"], object)
for array in (np.arange(6, dtype=np.float64).reshape(2, 3), strings, [[1, 2], [3, 4]], 1.5, "text"):
    tensor = tf.constant(array)
    serialized = tf.io.serialize_tensor(tensor)
    print(serialized)
    print(repr(tf.io.parse_tensor(serialized, tensor.dtype)), tensor.dtype, tensor.shape)
example = tf.train.Example()
written = tf.io.serialize_tensor(tf.constant([[1.0, 2.0]])).numpy()
example.features.feature["t"].bytes_list.value.append(written)
dataset = tf.data.Dataset.from_tensor_slices([example.SerializeToString()] * 2)

def parse(record):
    parsed = tf.io.parse_single_example(record, {"t": tf.io.FixedLenFeature([], tf.string)})
    return tf.io.parse_tensor(parsed["t"], out_type=tf.float32)

print(list(dataset.map(parse).batch(2)))
print(repr(tf.io.decode_raw([b"\\x01\\x02", b"\\x03\\x04"], tf.int16, little_endian=False)))
""",
    "errors": """
with tf.io.TFRecordWriter("file") as writer:
    writer.write(b"one")
    writer.write(b"two")
with open("file", "r+b") as file:
    file.seek(-6, 2)
    file.write(b"!")

def name(function):
    try:
        return "fine: %r" % (function(),)
    except (
        tf.errors.DataLossError, tf.errors.NotFoundError, tf.errors.OutOfRangeError,
        tf.errors.InvalidArgumentError,
    ) as error:
        return [isinstance(error, getattr(tf.errors, each)) for each in (
            "DataLossError", "NotFoundError", "OutOfRangeError", "InvalidArgumentError", "OpError"
        )]
    except (TypeError, ValueError):
        return "not an error of operations"

print(name(lambda: list(tf.data.TFRecordDataset("file"))))
print(name(lambda: list(tf.data.TFRecordDataset("file").take(1).as_numpy_iterator())))
print(name(lambda: list(tf.data.TFRecordDataset("nothing"))))
print(name(lambda: tf.io.parse_single_example(b"", {"x": tf.io.FixedLenFeature([], tf.int64)})))
print(name(lambda: tf.io.parse_tensor(tf.io.serialize_tensor(1), tf.float32)))
print(name(lambda: tf.io.parse_tensor(b"junk", tf.float32)))
iterator = iter(tf.data.Dataset.range(1))
print(name(lambda: int(iterator.get_next())))
print(name(lambda: int(iterator.get_next())))
print(name(lambda: tf.constant("a", tf.int32)))
print(name(lambda: tf.io.gfile.GFile("nothing").read()))
print(name(lambda: tf.data.TFRecordDataset("nothing").reduce(0, lambda n, _: n + 1)))
""",
    "data sets from memory": """
import numpy as np
print(list(tf.data.Dataset.from_tensor_slices({"a": [1, 2], "b": ["x", "y"]})))
print(list(tf.data.Dataset.from_tensor_slices([[1.5, 2], [3, 4]]).map(lambda row: row * 2)))
print(list(tf.data.Dataset.from_tensors([1, 2])), list(tf.data.Dataset.range(5, 1, -2)))

def rows():
    for i in range(4):
        yield i, "row %d" % i, [i] * i

ds = tf.data.Dataset.from_generator(
    rows, output_types=(tf.int64, tf.string, tf.int32), output_shapes=((), (), (None,))
)
for number, text, values in ds:
    print(number, text, values)
signature = (
    tf.TensorSpec(shape=(), dtype=tf.int32),
    tf.TensorSpec(shape=(), dtype=tf.string),
    tf.TensorSpec(shape=(None,), dtype=tf.float32),
)
ds = tf.data.Dataset.from_generator(rows, output_signature=signature)
print(list(ds.as_numpy_iterator()))
print([shape.shape for _, _, shape in ds.padded_batch(3)])
numbers = tf.data.Dataset.range(10)
print([int(x) for x in numbers.filter(lambda x: x % 3 == 0)])
print([int(x) for x in numbers.skip(7).repeat(2)], len(numbers), numbers.cardinality())
print([x.numpy() for x in numbers.shard(3, 1)], numbers.reduce(np.int64(0), lambda a, b: a + b))
print([(int(i), x) for i, x in numbers.take(2).enumerate(start=5)])
print(list(numbers.batch(4).unbatch().batch(6).as_numpy_iterator()))
print(list(numbers.take(2).map(lambda x: {"x": x, "y": (x, 1.5)})))
print([int(x) for x in numbers.cache().prefetch(1).apply(lambda ds: ds.take(3))])
print(sorted(int(x) for x in numbers.shuffle(3, seed=1, reshuffle_each_iteration=False)))
print(list(numbers.take(1).map(lambda x: [x, x + 1])))
print(numbers.map(lambda x: x).filter(lambda x: True).cardinality())
print(list(tf.data.Dataset.range(3).map(lambda x: tf.stack([x, x])).batch(2)))
pairs = tf.data.Dataset.zip((numbers, numbers.skip(7)))
print(list(pairs), len(pairs))
both = numbers.take(2).concatenate(numbers.skip(8))
print([int(x) for x in both], len(both), both.cardinality())
rows = tf.data.Dataset.from_tensor_slices({"x": [[1.5, 2.5]] * 5, "y": list("abcde")})
for dataset in (rows, rows.batch(2), rows.batch(2, drop_remainder=True).prefetch(1), rows.batch(2).unbatch(),
                rows.map(lambda row: (row["x"], tf.one_hot(1, 3))).repeat()):
    print(dataset.element_spec)
""",
    "tensors": """
import numpy as np
t = tf.constant([[1, 2, 3], [4, 5, 6]])
print(t, repr(t), t.shape, t.shape.as_list(), t.dtype, t.ndim, len(t), t[0], t[:, 1], t[-1, -1])
print(tf.constant(5, tf.int64), tf.constant([1, 2], dtype=tf.float32), tf.constant(7, shape=[2, 2]))
print(np.asarray(t).sum(), np.mean(t), t.numpy().tolist(), [x.numpy() for x in t[0]])
print("%d" % tf.constant(3), list(range(tf.constant(3))), tf.constant("text"))
print(tf.shape(t), tf.convert_to_tensor([1.0]), tf.is_tensor(t), tf.is_tensor(1))
for dtype in (tf.float16, tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8,
              tf.uint16, tf.uint32, tf.uint64, tf.bool, tf.string, tf.complex64, tf.half, tf.double):
    print(repr(dtype), dtype, dtype.name, dtype.size, dtype.is_integer, dtype.is_floating,
          dtype.is_unsigned, dtype.is_bool, dtype.as_numpy_dtype, dtype.as_datatype_enum)
print(tf.uint8.max, tf.int16.min, tf.int64 == np.int64, tf.int64 == np.dtype("int32"), tf.int32 == "int32")
print(tf.as_dtype("float32"), tf.dtypes.as_dtype(np.int8), t.dtype in (tf.int32, tf.int64))
print(tf.numpy_function(lambda x: x.astype(np.float32), [t], tf.float32))
print(tf.TensorSpec([None, 2], tf.int32), tf.TensorShape([None, 2]), tf.executing_eagerly())
t.set_shape([2, None])
for wrong in (lambda: t.set_shape([3, None]), lambda: t.no_such_method):
    try:
        wrong()
    except (ValueError, AttributeError) as error:
        print(type(error))
""",
    "files": """
tf.io.gfile.makedirs("a/b")
with tf.io.gfile.GFile("a/b/c.txt", "w") as file:
    file.write("text")
with tf.io.gfile.GFile("a/b/c.txt", "rb") as file:
    print(file.read())
print(tf.io.gfile.exists("a"), tf.io.gfile.isdir("a/b/c.txt"), tf.io.gfile.listdir("a/b"))
tf.io.gfile.copy("a/b/c.txt", "d.txt")
tf.io.gfile.rename("d.txt", "e.txt")
tf.io.gfile.mkdir("a/f")
tf.io.gfile.rename("e.txt", "a/f/e.txt")
print(tf.io.gfile.glob("a/f/*.txt"), tf.io.gfile.glob(["a/b/*.txt", "a/f/*"]))
tf.io.gfile.remove("a/f/e.txt")
tf.io.gfile.rmtree("a")
print(tf.io.gfile.listdir("."), tf.io.gfile.join("a", "b"))
print(tf.compat.as_bytes("x"), tf.compat.as_text(b"x"), tf.compat.as_str(b"x"))
""",
}


def run_script(first_line: str, script: str, folder: Path) -> str:
    """Run a script in a folder, and return what it prints."""
    folder.mkdir(parents=True)
    before = os.getcwd()  # noqa: PTH109 - to be given to chdir
    out = io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(first_line + "\n" + script, "script", "exec"), {})  # noqa: S102 - ours
    finally:
        os.chdir(before)
    return out.getvalue()
