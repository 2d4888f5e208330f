"""Property-based tests for programs that read and write TFRecord files.

Hypothesis strategies for the contents of such files, and assertions about programs that
read and write them; this package's own tests use them too. Needs the extra ``testing``.

::

    strategies  values; Examples, SequenceExamples and columns, of anything or for given features;
                encodings of any message; records, and damaged files of them
    round_trip  assertions: what was written comes back, and damage is not read as data
    reencode    how messages are written in unusual but legal encodings, and damaged
"""

try:
    import hypothesis as _hypothesis  # noqa: F401
except ImportError:
    raise ImportError("strategies need Hypothesis: pip install hypothesis") from None

from tfrecord_lite.testing import round_trip, strategies
from tfrecord_lite.testing.round_trip import *  # noqa: F403
from tfrecord_lite.testing.strategies import *  # noqa: F403

__all__: list[str] = []
__all__ += round_trip.__all__
__all__ += strategies.__all__
