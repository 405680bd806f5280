"""winnow: an MCP server over a user's own knowledge base, for programs in Python, too.

    import winnow

    with winnow.open_store(project="handbook") as store:
        for row in store.search("how long are backups kept", top_k=3):
            print(row["title"], row["score"])
        print(store.run_script("return len(documents())").result)

Names are looked up on first use: children that run scripts and read documents import this package too.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from winnow.server.commands.entry.python_api import OpenStore, open_store
    from winnow.server.errors import WinnowError

__version__ = "0.1.0"
__all__ = ["OpenStore", "WinnowError", "__version__", "open_store"]

# What another process of Python puts on its search path to import this code and no other.
SEARCH_PATH = str(Path(__file__).parents[1])


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from winnow.server.commands.entry import python_api

    return getattr(python_api, name)
