"""The protocol of both transports to Zotero: the names of libraries, and the objects of one."""

from __future__ import annotations

from typing import Protocol

from winnow.server.bibliographies.zotero.objects import LibraryName, LibraryObjects


class ZoteroTransport(Protocol):
    """Protocol of what reads libraries and writes nothing. Both transports give equal objects from equal data."""

    def libraries(self) -> tuple[LibraryName, ...]:
        """The user's own library, then those of groups, in the order of their numbers. Raises ``WinnowError``."""

    def read(self, name: LibraryName, kept: LibraryObjects | None = None) -> LibraryObjects:
        """All objects of a library.

        ``kept`` is what the last call answered: where versions tell what changed, only that is asked for. Raises
        ``WinnowError`` where the library cannot be read as a whole; ``kept`` is valid then as before.
        """

    def close(self) -> None:
        """End the connection, or let go of the copy."""
