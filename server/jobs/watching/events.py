"""Changes in folders, as the kernel reports them (watchfiles).

Each folder is watched without its subfolders. Ignored folders then cost nothing, and reaching the kernel's limit
is an error. (watchfiles hides that error if its option to ignore unreadable folders is on.)
"""

from __future__ import annotations

from collections.abc import Collection
from threading import Event

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

# Changes are collected until a step passes without a change, or until the collection has lasted this long.
_STEP_MS, _COLLECT_MS = 100, 500
_LIMIT = "limit"
_WATCHES = "the kernel's limit of watched folders is reached (raise fs.inotify.max_user_watches)"
_INSTANCES = "the kernel's limit of watchers is reached (raise fs.inotify.max_user_instances)"


class EventsUnavailable(Exception):
    """The kernel does not report changes in these folders; the message is the reason."""


class FolderEvents:
    """The changes in some folders, from construction to ``close``.

    Raises ``EventsUnavailable``, and ``OSError`` for a folder that is gone.
    """

    def __init__(self, folders: Collection[str]) -> None:
        self.folders = frozenset(folders)
        try:
            self._notify = RustNotify(sorted(folders), False, False, 0, False, False)
        except FileNotFoundError:
            raise
        except UnicodeEncodeError:
            raise EventsUnavailable("the name of a folder is not UTF-8") from None
        except OSError as error:
            raise EventsUnavailable(_WATCHES if _LIMIT in str(error) else "it cannot be watched") from None
        except WatchfilesRustInternalError as error:
            is_limit = "os error 24" in str(error)
            raise EventsUnavailable(_INSTANCES if is_limit else "it cannot be watched") from None

    def wait(self, seconds: float, wake: Event) -> set[str]:
        """Wait for changes; return the changed paths, or none after ``seconds`` or once ``wake`` is set.

        Raises ``EventsUnavailable`` if changes were lost.
        """
        try:
            changes = self._notify.watch(_COLLECT_MS, _STEP_MS, max(int(seconds * 1000), 1), wake)
        except (WatchfilesRustInternalError, OSError) as error:
            raise EventsUnavailable(f"changes were lost ({type(error).__name__})") from None
        return set() if isinstance(changes, str) else {path for _, path in changes}

    def close(self) -> None:
        """Stop watching."""
        self._notify.close()
