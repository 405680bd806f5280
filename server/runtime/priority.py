"""The priority of background work, which must not slow down answers."""

from __future__ import annotations

import os
import sys
import threading

# For ``sys.setswitchinterval`` where an ingest computes beside queries. With the default of 5 ms a query waits
# that long each time it needs the interpreter lock: at the 95th percentile 13.5 ms for one read of the catalogue,
# against 1.9 ms.
SWITCH_SECONDS = 0.0005
# Added to the niceness: a tenth of a busy processor, and all of an idle one.
_BACKGROUND_NICENESS = 10
_LOWEST = 19


def lower_priority() -> None:
    """Lower the priority of this thread and of the threads that it starts, on Linux.

    There the priority belongs to the thread. It cannot be raised again, so the thread must not be reused.
    """
    if sys.platform == "linux":
        niceness = min(os.getpriority(os.PRIO_PROCESS, 0) + _BACKGROUND_NICENESS, _LOWEST)
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
