"""A loop over batches runs in memory that it had before: pages are counted, not time."""

import os
import platform
from pathlib import Path

import numpy as np
import pytest

from tests.support.subprocesses import run_fresh
from tfrecord_lite import TFRecordWriter

READ = """
import resource, sys
from tfrecord_lite import RaggedFeature, TFRecordReader
faults, n_bytes = [], 0
for batch in TFRecordReader(sys.argv[1]).batches({"tokens": RaggedFeature(int)}, 256):
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
    n_bytes = batch["tokens"].values.nbytes
print((faults[-1] - faults[4]) / (len(faults) - 5), n_bytes / resource.getpagesize())
"""
WRITE = """
import numpy as np, os, resource
from tfrecord_lite import TFRecordWriter
faults, row = [], {"tokens": np.arange(640)}
with TFRecordWriter(os.devnull) as writer:
    for i in range(256 * 40):
        writer.write_example(row)
        if i % 256 == 0:
            faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
print((faults[-1] - faults[20]) / (len(faults) - 21), 256 * 5120 / resource.getpagesize())
"""


def faults_and_pages(script: str, path: Path, **environ: str) -> tuple[float, float]:
    """Return the page faults of a batch in a steady loop, and the pages that its values fill."""
    faults, pages = map(float, run_fresh(script, path, **environ).split())
    return faults, pages


@pytest.mark.parametrize("script", [READ, WRITE], ids=["read", "write"])
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="thresholds of glibc")
@pytest.mark.skipif(
    any(name.startswith("MALLOC_") for name in os.environ), reason="thresholds are set"
)
def test_page_faults_only_recur_with_thresholds_of_users(tmp_path: Path, script: str) -> None:
    path = tmp_path / "tokens.tfrecord"
    with TFRecordWriter(path) as writer:
        for start in range(0, 256 * 20, 256):
            writer.write_examples({"tokens": np.full((256, 640), start)})
    faults, pages = faults_and_pages(script, path)
    with_small_blocks, _ = faults_and_pages(script, path, MALLOC_MMAP_THRESHOLD_="65536")
    assert faults < pages / 10
    assert with_small_blocks > pages / 4
