"""The command ``tfrecord``: inspect, check, repair, index, rearrange and convert record files, pack images.

A verb is two functions, ``add_VERB``, which declares its arguments, and ``run_VERB``, whose docstring is its help. Their
module is imported when the verb is used:

::

    info (and count, index, view)  head (and cat)  stats (and diff, schema)  damage (verify, recover)
    rearranging (merge, split, shuffle, sample, filter, unique)  images (pack, unpack)  events  convert  sql

    app         the table of verbs, their parser, signals, main: what a verb raises becomes one line
    inputs      arguments; from arguments to open files, one after the other; what is said of errors
    words       what people type instead, and what errors of the package are in the shell
    console     standard output and error, exit status, widths
    display     a record as text or JSON
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default this process's, and return its exit status.

    The status is 0 to 2; 130, 143 or 129 after Ctrl-C, SIGTERM or SIGHUP. Wrong arguments, the help and the version
    raise SystemExit.
    """
    handler = signal.getsignal(signal.SIGINT)
    # During imports, an interrupt ends the process silently.
    is_ours = handler is signal.default_int_handler
    is_ours = is_ours and threading.current_thread() is threading.main_thread()
    if is_ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tfrecord_lite.cli import app  # noqa: PLC0415 - nearly all the time that a start takes

    if is_ours:
        signal.signal(signal.SIGINT, handler)
    return app.main(arguments)
