"""Write the message classes of ``tfrecord_lite/messages`` from the ``.proto`` files here.

::

    python -m pip install grpcio-tools==1.71.2 mypy-protobuf==3.6.0
    python proto/generate.py            # write the files
    python proto/generate.py --check    # only compare them; exit status 1 if they differ

protoc's own Python output is not used: it registers messages in protobuf's
default pool, where TensorFlow's of the same names already are, and it refuses
runtimes older than itself. What is taken from protoc is the serialised file
descriptor, a format that never changes, and the type stubs. Around the
descriptor goes a module of a dozen lines, which builds the classes in a private
pool and loads on every supported runtime.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "tfrecord_lite.messages"
TARGET = HERE.parent.joinpath(*PACKAGE.split("."))
# In the order of their imports, with the message classes of each.
FILES = {
    "feature": (
        "BytesList",
        "FloatList",
        "Int64List",
        "Feature",
        "Features",
        "FeatureList",
        "FeatureLists",
    ),
    "example": ("Example", "SequenceExample"),
    "tensor": (
        "TensorShapeProto",
        "TensorProto",
        "ResourceHandleProto",
        "VariantTensorDataProto",
    ),
    # Not for users, so not exported: read by described/formats/tfx.py alone.
    "tfmd_schema": (
        "Schema",
        "Feature",
        "StructDomain",
        "FeaturePresence",
        "IntDomain",
        "FixedShape",
        "ValueCount",
        "ValueCountList",
        "SparseFeature",
        "Path",
        "TensorRepresentation",
        "TensorRepresentationGroup",
    ),
    "summary": ("HistogramProto", "SummaryMetadata", "Summary"),
    "event": ("Event", "SourceMetadata", "LogMessage", "SessionLog", "TaggedRunMetadata"),
    "input": ("ExampleListWithContext",),
}

HEAD = """\
# Written by proto/generate.py from proto/{stem}.proto. Do not edit.
\"\"\"The message classes of ``proto/{stem}.proto``, in this package's own pool.\"\"\"
"""
LINE = 80


def run_protoc(stem: str, out: Path) -> None:
    """Run protoc and the stub generator on one file."""
    stubs = Path(sysconfig.get_path("scripts")) / "protoc-gen-mypy"
    command = [
        sys.executable,
        "-m",
        "grpc_tools.protoc",
        f"--proto_path={HERE}",
        f"--descriptor_set_out={out / stem}.binpb",
        f"--plugin=protoc-gen-mypy={stubs}",
        f"--mypy_out=readable_stubs,quiet:{out}",
        f"{stem}.proto",
    ]
    subprocess.run(command, check=True)  # noqa: S603 - our own arguments only


def bytes_literal(data: bytes) -> str:
    """Lay bytes out as adjacent literals of readable width."""
    chunks = textwrap.wrap(data.hex(), LINE)
    return "\n".join(f'    "{chunk}"' for chunk in chunks)


def module_source(stem: str, descriptor: bytes, constants: dict[str, int]) -> str:
    """Return the module that builds the classes of one file, and has its enumerations' values."""
    # Descriptors of imported files have to be in the pool first.
    needed = re.findall(
        r'^import "(\w+)\.proto";', (HERE / f"{stem}.proto").read_text(), re.MULTILINE
    )
    imports = [f"from {PACKAGE}._pool import POOL, message_class"]
    imports += [f"from {PACKAGE} import {name}_pb2  # noqa: F401" for name in needed]
    classes = [f'{name} = message_class(DESCRIPTOR, "{name}", __name__)' for name in FILES[stem]]
    return "\n".join(
        [
            HEAD.format(stem=stem),
            *sorted(imports),
            "",
            "DESCRIPTOR = POOL.AddSerializedFile(bytes.fromhex(",
            bytes_literal(descriptor),
            "))",
            "",
            *classes,
            "",
            *(f"{name} = {number}" for name, number in constants.items()),
            *([""] if constants else []),
        ]
    )


def stub_source(stub: str) -> str:
    """Return protoc's stub with its imports moved into the package."""
    moved = re.sub(r"^import (\w+_pb2)$", rf"from {PACKAGE} import \1", stub, flags=re.MULTILINE)
    return re.sub(
        r"^from (\w+_pb2) import", rf"from {PACKAGE}.\1 import", moved, flags=re.MULTILINE
    )


def generate() -> dict[str, str]:
    """Return the text of every generated file by its name."""
    # In this environment only; users of the package need no protoc.
    from google.protobuf.descriptor_pb2 import FileDescriptorSet  # noqa: PLC0415

    texts = {}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        for stem, classes in FILES.items():
            run_protoc(stem, out)
            described = FileDescriptorSet.FromString((out / f"{stem}.binpb").read_bytes()).file[0]
            found = tuple(message.name for message in described.message_type)
            if found != classes:
                message = f"{stem}.proto defines {found}; update FILES in {Path(__file__).name}"
                raise SystemExit(message)
            descriptor = described.SerializeToString(deterministic=True)
            constants = {
                value.name: value.number for enum in described.enum_type for value in enum.value
            }
            texts[f"{stem}_pb2.py"] = module_source(stem, descriptor, constants)
            texts[f"{stem}_pb2.pyi"] = stub_source((out / f"{stem}_pb2.pyi").read_text())
    return texts


def main() -> int:
    """Write or compare the generated files."""
    parser = argparse.ArgumentParser(description="Write the message classes from the .proto files.")
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    check = parser.parse_args().check
    stale = []
    for name, text in generate().items():
        path = TARGET / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if not check:
                path.write_text(text)
    print(("differ: " if check else "written: ") + (", ".join(stale) or "none"))  # noqa: T201
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
