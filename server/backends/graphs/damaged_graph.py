"""A graph whose file is damaged: searches go on without it and say so."""

from __future__ import annotations

from typing import Any, NoReturn

from winnow.server.errors import WinnowError


class DamagedGraph:
    """A ``GraphStore`` every call of which raises what opening the file raised.

    The graph is derived from the documents, so a store opens without it.
    """

    def __init__(self, error: WinnowError) -> None:
        self._error = error

    def close(self) -> None:
        """Nothing is open."""

    def __getattr__(self, name: str) -> Any:
        return self._refuse

    def _refuse(self, *values: object, **named: object) -> NoReturn:
        raise WinnowError(self._error.reason, self._error.message, details=dict(self._error.details))
