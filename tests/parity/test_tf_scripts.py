"""A script that uses TensorFlow for records alone prints the same if its import is changed."""

from pathlib import Path

import pytest

from tests.tf.tf_scripts import OURS, SCRIPTS, TENSORFLOW, run_script


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_prints_the_same_with_either_import(name: str, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    ours = run_script(OURS, SCRIPTS[name], tmp_path / "ours")
    assert ours == run_script(TENSORFLOW, SCRIPTS[name], tmp_path / "theirs")
    assert ours
