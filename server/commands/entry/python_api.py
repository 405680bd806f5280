"""The public names of ``import winnow``: an open store, for programs in Python.

A store answers with what the commands print with ``--json``, and runs scripts behind the walls that agents have.
"""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, TypeVarTuple

from winnow.server.commands.entry.app import open_application
from winnow.server.commands.terminal.stores import require_index
from winnow.server.errors import WinnowError
from winnow.server.operations.table import operation_of
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

if TYPE_CHECKING:
    from winnow.sandbox import Outcome

__all__ = ["OpenStore", "WinnowError", "open_store"]

_CONNECTION = "python"
_Answer = TypeVar("_Answer")
_Given = TypeVarTuple("_Given")


def open_store(
    store: str | PathLike[str] | None = None, *, project: str | None = None, **settings: Any
) -> OpenStore:
    """Open a store; use it in a ``with`` block, or call ``close``.

    ``store`` is its folder and ``project`` one of its projects; without them, the settings say which, as for the
    command (docs/settings.md). ``settings`` are others, by their names. Raises ``WinnowError`` if there is no such
    store, or a setting is wrong::

        with winnow.open_store("notes", project="handbook", execute_code="on") as store:
            store.search("how long are backups kept")
    """
    return OpenStore(load_settings(store=store, project=project, **settings))


class OpenStore:
    """An open store. Its methods wait, and take turns where several threads call; no event loop may run there."""

    def __init__(self, settings: Settings) -> None:
        require_index(settings.store)
        _require_no_loop()
        self._is_closed = False
        self._turn = threading.Lock()
        self._runner = asyncio.Runner()
        self._opened = AsyncExitStack()
        opening = open_application(settings, wait_for_model=True)
        try:
            self._application = self._runner.run(self._opened.enter_async_context(opening))
            self._runner.run(self._application.kb.open())
        except BaseException:
            self.close()
            raise

    def search(self, query: str, *, top_k: int = 10, mode: str = "preview", **more: Any) -> list[dict[str, Any]]:
        """The best passages, best first, as ``semantic_search`` lists them.

        ``mode`` is ``ids_only``, ``metadata``, ``preview`` or ``full``. Rows of ``preview`` have ``id``,
        ``title``, ``score`` (0 to 1) and ``preview``. ``more`` are other arguments. What the answer warns of, such
        as an unknown argument, is a warning of Python. Raises ``WinnowError``.
        """
        found = self.call("semantic_search", {"query": query, "top_k": top_k, "response_mode": mode, **more})
        for warning in found["warnings"]:
            warnings.warn(warning, stacklevel=2)
        rows: list[dict[str, Any]] = (
            found["results"] if "results" in found else [{"id": id} for id in found["ids"]]
        )
        return rows

    def call(self, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of an operation by its name or that of its tool, such as ``kb_scan``, and its ``warnings``.

        docs/tools.md lists the tools and their arguments. Raises ``WinnowError``.
        """
        if not (isinstance(operation, str) and isinstance(arguments, Mapping) and all(map(_is_text, arguments))):
            raise WinnowError("INVALID_REQUEST", "call takes the name of an operation and its arguments by name")
        return self._wait(self._call, operation, arguments)

    async def _call(self, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        kb = self._application.kb
        answer = await kb.call(operation_of(operation), arguments, kb.caller(_CONNECTION))
        return {**answer.payload, "warnings": list(answer.warnings)}

    def run_script(self, code: str) -> Outcome:
        """Run a script in the sandbox, as agents run theirs.

        ``status`` of the outcome is ``ok`` if it ended, and ``result`` is what it returned; docs/sdk.md shows what
        it may call. Nothing is raised for what a script does.
        """
        if not isinstance(code, str):
            raise WinnowError("INVALID_REQUEST", "code: a script is a text")
        return self._wait(self._run_script, code)

    async def _run_script(self, code: str) -> Outcome:
        await self._application.ready()
        return await self._application.scripts.run(code)

    def _wait(self, run: Callable[[*_Given], Coroutine[Any, Any, _Answer]], *given: *_Given) -> _Answer:
        _require_no_loop()
        with self._turn:
            if self._is_closed:
                raise WinnowError("INVALID_REQUEST", "this store is closed; open it again with winnow.open_store")
            return self._runner.run(run(*given))

    def close(self) -> None:
        """Close the store and end the processes of its sandbox; a second time does nothing."""
        _require_no_loop()
        with self._turn:
            if not self._is_closed:
                self._is_closed = True
                self._runner.run(self._opened.aclose())
                self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()


def _is_text(name: object) -> bool:
    return isinstance(name, str)


def _require_no_loop() -> None:
    """Raise INVALID_REQUEST where this thread has an event loop, which a method that waits would hold up."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise WinnowError(
        "INVALID_REQUEST", "an event loop runs in this thread: open the store and call it in a thread of its own"
    )
