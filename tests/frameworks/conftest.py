"""Tests with torch, Grain and JAX themselves: ``pip install -e '.[frameworks,test]'``.

They need some gigabytes and minutes to install, so CI has an environment for them. Elsewhere a
module whose framework is not installed is left out, rather than skipped test by test.
"""

from __future__ import annotations

import importlib.util

NEEDS = {
    "test_torch.py": ("torch", "torchdata"),
    "test_torch_tensors.py": ("torch", "torchdata"),
    "test_examples.py": ("torch", "jax"),
    "test_grain.py": ("grain",),
    "test_jax.py": ("jax",),
}

collect_ignore = [
    module
    for module, packages in NEEDS.items()
    if any(importlib.util.find_spec(package) is None for package in packages)
]
