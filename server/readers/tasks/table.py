"""The tasks by name, and what each module of this folder has.

A module has the name of its task, and two functions. ``warm_up(uses_ocr=...)`` loads what the task opens files for
at its first use, because a child behind walls opens none. ``serve(request, open_document)`` returns the answer.

A fork server loads the tasks that its parent expects, and no others: all of them take a second and 150 MB, which
every start of one and every fork would pay for.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

Task = Literal["parse", "dry_run", "bibliography", "read", "read_sheet", "draw"]

# The facts, and a text or the bytes of a picture.
ReaderAnswer = tuple[dict[str, Any], str | bytes]

# Task -> whether it runs a native library over a file, after which a process serves no other request.
TASKS: Mapping[Task, bool] = MappingProxyType(
    {"parse": False, "dry_run": False, "bibliography": False, "read": True, "read_sheet": True, "draw": True}
)
