"""Small files of every kind of data, of which the viewer makes pages.

`KINDS` has a function per kind, which writes files into a folder and returns what to view. The
same files come out each time.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.drawings import encoded, landscape, sound, walker
from tfrecord_lite import TFRecordWriter, encode_example, encode_examples, serialize_tensor
from tfrecord_lite.messages import Event, Summary, SummaryMetadata
from tfrecord_lite.messages.tensor_pb2 import TensorProto
from tfrecord_lite.records.framing import frame

__all__ = ["HOSTILE", "KINDS", "N_FEATURES"]

N_FEATURES = 2000
FORMATS = ("JPEG", "PNG", "WebP", "GIF")
CITIES = ["Amsterdam", "Bogotá", "Cairo", "Dhaka", "Łódź", "Zürich"]


def image_files(folder: Path) -> list[Path]:
    path = folder / "landscapes.tfrecord"
    with TFRecordWriter(path) as writer:
        for number in range(24):
            image, things = landscape(number)
            boxes = np.array([thing.box for thing in things])
            boxes = np.clip(boxes / ([image.width, image.height] * 2), 0, 1).astype(np.float32)
            name = FORMATS[number % len(FORMATS)]
            row = {
                "image/encoded": encoded(image, name), "image/format": name.lower(),
                "image/filename": f"landscape_{number:03}.{name.lower()}",
                "image/height": image.height, "image/width": image.width,
                "image/object/class/text": [thing.name for thing in things],
                "image/object/class/label": [len(thing.name) for thing in things],
            }  # fmt: skip
            row |= {
                f"image/object/bbox/{side}": boxes[:, i]
                for i, side in enumerate(("xmin", "ymin", "xmax", "ymax"))
            }
            writer.write_example(row)
    return [path]


def table(n_records: int = 500) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    income = rng.lognormal(10, 0.6, n_records)
    columns: dict[str, Any] = {
        "id": np.arange(n_records) + 10_000,
        "age": rng.integers(18, 91, n_records),
        "income": income.astype(np.float32),
        "city": rng.choice(CITIES, n_records, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05]).tolist(),
        "clicks": [rng.integers(0, 50, rng.integers(0, 6)).tolist() for _ in range(n_records)],
        "is_member": (income > np.median(income)).astype(np.int64),
    }
    rating = rng.normal(3.5, 1, n_records).astype(np.float32)
    rating[::97] = np.nan
    columns["rating"] = [None if i % 5 == 2 else [rating[i]] for i in range(n_records)]
    return columns


def table_files(folder: Path) -> list[Path]:
    with TFRecordWriter(folder / "customers.tfrecord") as writer:
        writer.write_examples(table())
    return [folder / "customers.tfrecord"]


def embedding_files(folder: Path) -> list[Path]:
    rng = np.random.default_rng(1)
    with TFRecordWriter(folder / "vectors.tfrecord") as writer:
        for i in range(30):
            centre = np.sin(np.arange(256) / 9 + i % 3 * 2)
            mask = rng.random((16, 12)) < 0.3
            writer.write_example(
                {
                    "embedding": (centre + rng.normal(0, 0.2, 256)).astype(np.float32),
                    "mask": serialize_tensor(mask.astype(np.uint8)),
                    "labels": serialize_tensor(np.array([b"low", b"high"], object)),
                    "raw": rng.bytes(200),
                    "sound": sound(220 * 2 ** (i / 12)),
                    "note": f"{220 * 2 ** (i / 12):.1f} Hz",
                }
            )
    return [folder / "vectors.tfrecord"]


def mixed_files(folder: Path) -> list[Path]:
    rows: list[dict[str, Any]] = [
        {"value": 1, "often": "yes"}, {"value": 0.5}, {"value": "text", "often": "no"},
        {"value": b"\xff\xfe\x00\x01"}, {"other": [1, 2, 3]}, {},
    ]  # fmt: skip
    paths = [folder / "mixed-0.tfrecord", folder / "mixed-1.tfrecord"]
    for path, some in zip(paths, (rows * 5, rows[:2] * 5), strict=True):
        with TFRecordWriter(path) as writer:
            for row in some:  # one by one: the writer warns of rows of several kinds
                writer.write(encode_example(row))
    return paths


def wide_files(folder: Path) -> list[Path]:
    rng = np.random.default_rng(2)
    names = [f"sensor/{i // 50:02}/channel_{i % 50:02}" for i in range(N_FEATURES)]
    with TFRecordWriter(folder / "wide.tfrecord") as writer:
        writer.write_examples({name: rng.normal(0, 1, 30).astype(np.float32) for name in names})
    return [folder / "wide.tfrecord"]


def sequence_files(folder: Path) -> list[Path]:
    rng = np.random.default_rng(3)
    words = "a figure walks slowly from left to right through the picture and is gone"
    with TFRecordWriter(folder / "walks.tfrecord") as writer:
        for i in range(12):
            n_steps = 4 + i
            walk = rng.normal(0, 1, (n_steps, 3)).cumsum(axis=0)
            writer.write_sequence_example(
                {
                    "context": {"id": i, "label": ["slow", "fast"][i % 2], "fps": 12.5},
                    "feature_lists": {
                        "frames": [
                            [encoded(walker(step, n_steps), "JPEG")] for step in range(n_steps)
                        ],
                        "words": [[word] for word in words.split()[:n_steps]],
                        "position": walk.astype(np.float32),
                        "heart_rate": [[int(rate)] for rate in rng.integers(70, 120, n_steps)],
                        "events": [[int(k)] * (k % 3) for k in range(n_steps)],
                    },
                }
            )
    return [folder / "walks.tfrecord"]


def other_files(folder: Path) -> list[Path]:
    lines = [f"line {i}: a record of plain text".encode() for i in range(120)]
    write(folder / "lines", [*lines, *(bytes(range(255, 230 - i, -1)) for i in range(9))])
    return [folder / "lines"]


def event_files(folder: Path) -> list[Path]:
    messages = [Event(wall_time=1.5e9, file_version="brain.Event:2")]
    for step, text in enumerate(HOSTILE):
        scalar, note = (
            TensorProto.FromString(serialize_tensor(value)) for value in (np.float32(step), text)
        )
        values = [
            Summary.Value(tag=text, tensor=scalar, metadata=_plugin("scalars")),
            Summary.Value(tag="loss", simple_value=[0.5, np.nan, np.inf, -np.inf, 3e38][step % 5]),
            Summary.Value(tag="notes", tensor=note, metadata=_plugin("text")),
            Summary.Value(tag="image", image=Summary.Image(encoded_image_string=text.encode())),
        ]
        event = Event(wall_time=1.5e9 + step, step=step, summary=Summary(value=values))
        messages.append(event)
    path = folder / "events.out.tfevents.1.<script>window.__ran=30<"
    write(path, [message.SerializeToString() for message in messages])
    return [path]


def _plugin(name: str) -> SummaryMetadata:
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=name))


def damaged_files(folder: Path) -> list[Path]:
    block = encode_examples(table(200))
    data = bytearray(frame([bytes(record) for record in block]))
    for place in (0.1, 0.45, 0.8):
        at = int(len(data) * place)
        data[at : at + 20] = bytes(20)
    (folder / "damaged.tfrecord").write_bytes(data[:-30])
    return [folder / "damaged.tfrecord"]


def empty_files(folder: Path) -> list[Path]:
    (folder / "empty.tfrecord").write_bytes(b"")
    return [folder / "empty.tfrecord"]


HOSTILE = [
    "<script>window.__ran = 1</script>", "</script><script>window.__ran = 2</script>",
    "<img src=x onerror=window.__ran=3>",
    '" onmouseover="window.__ran=4" onfocus="window.__ran=4" autofocus="',
    "' onclick='window.__ran=5' x='", "javascript:window.__ran=6",
    "data:text/html,<script>window.__ran=7</script>", "<!--", "--><b class=injected>text</b>",
    "]]><b class=injected>text</b>", "</style><b class=injected>text</b>",
    "</title><b class=injected>text</b>",
    "</template></textarea></noscript><b class=injected>text</b>", "<svg/onload=window.__ran=8>",
    "<iframe srcdoc='<script>parent.__ran=9</script>'></iframe>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/meta'>",
    "<base href=http://127.0.0.1:9/>", "<link rel=stylesheet href=http://127.0.0.1:9/style.css>",
    "<style>* { background: url(http://127.0.0.1:9/style.png) }</style>",
    "url(http://127.0.0.1:9/url.png)", "{{ 7 * 7 }} {% include 'page.html' %} ${7 * 7}",
    "&lt;script&gt; &amp; &#60;b&#62; &quot;", "\\u003cscript\\u003e \\x3cscript\\x3e",
    "\N{RIGHT-TO-LEFT OVERRIDE}gnp.exe\N{POP DIRECTIONAL FORMATTING}",
    "\N{RIGHT-TO-LEFT ISOLATE}never closed", "a\0b\x01\x07\x08\x7f\x85",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07",
    "\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}\ufeff\ufffe\N{ZERO WIDTH SPACE}",
    "Z" + "\N{COMBINING ACUTE ACCENT}" * 200, "__proto__", "constructor", "1/../../etc/passwd",
    "=1+1", "W" * 5000, " ",
]  # fmt: skip
"""Strings that mean something to a browser, a template or a terminal."""

HOSTILE_BYTES = [
    b"\xed\xa0\x80\xed\xb0\x80",  # surrogates
    b"\xc0\xbcscript\xc0\xbe",  # overlong forms
    b"\xff\xfe<\0b\0>\0",
    b"<svg xmlns='http://www.w3.org/2000/svg'><image href='http://127.0.0.1:9/svg.png'/></svg>",
    b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg' onload='window.__ran=11'/>",
    b"GIF89a/*<svg/onload=window.__ran=12>*/=window.__ran=12;",
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xff\xff\xff\xff\xff\xff\xff\x08\6\0\0\0" + bytes(40),
    b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(100),
    b"RIFF\xff\xff\xff\xffWAVEfmt " + bytes(20),
    b"RIFF\xff\xff\xff\xffWEBPVP8 " + bytes(20),
    b"%PDF-1.7 <script>window.__ran=13</script>",
    b"<html><script>window.__ran=14</script></html>",
]


def hostile_files(folder: Path) -> list[Path]:
    path = folder / "<img src=x onerror='window.__ran=20'>\" onclick=\"window.__ran=21.tfrecord"
    with TFRecordWriter(path) as writer:
        for text in HOSTILE:
            writer.write_example({"text": text, text: [text, "value"], "list": [text] * 3})
        for value in HOSTILE_BYTES:
            writer.write_example({"image/encoded": value, "bytes": [value, value]})
        writer.write_example({"text": "A" * 1_000_000, "K" * 1_000_000: [1, 2]})
        writer.write_example({"text": "<b class=injected>" * 60_000})
    return [path]


def hostile_sequence_files(folder: Path) -> list[Path]:
    with TFRecordWriter(folder / "hostile_steps.tfrecord") as writer:
        for text in HOSTILE:
            lists = {text: [[text], [text, text], []], "steps": [[text]] * 3}
            writer.write_sequence_example({"context": {text: text}, "feature_lists": lists})
    return [folder / "hostile_steps.tfrecord"]


def write(path: Path, records: list[bytes]) -> None:
    path.write_bytes(bytes(frame(records)))


KINDS: dict[str, Callable[[Path], list[Path]]] = {
    "images": image_files, "table": table_files, "sequences": sequence_files, "events": event_files,
    "vectors": embedding_files, "mixed": mixed_files, "other": other_files,
    "damaged": damaged_files, "empty": empty_files, "wide": wide_files, "hostile": hostile_files,
    "hostile_sequences": hostile_sequence_files,
}  # fmt: skip
