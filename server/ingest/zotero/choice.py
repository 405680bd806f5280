"""What is taken of Zotero: which libraries, collections and tags, and by which door."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from server.libraries.zotero.records import ZoteroLibrary, ZoteroWork

_Name = Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]+$")]
_Names = Annotated[tuple[_Name, ...], Field(max_length=50)]


class ZoteroChoice(BaseModel):
    """Works of these libraries that are in one of these collections and have one of these tags; () is all.

    ``libraries`` are names or ids ("library", "groups/123"). A collection is named by its name or by its whole
    path ("Thesis/Chapter 2"), and has its subcollections in it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    libraries: _Names = ()
    collections: _Names = ()
    tags: _Names = ()

    @property
    def is_part(self) -> bool:
        """Whether libraries are taken in part."""
        return bool(self.collections or self.tags)

    @property
    def is_everything(self) -> bool:
        """Whether all libraries are taken as a whole."""
        return not (self.libraries or self.is_part)

    def takes(self, id: str, name: str) -> bool:
        """Whether a library is taken. Names are compared without regard to case."""
        wanted = {each.casefold() for each in self.libraries}
        return not wanted or not wanted.isdisjoint((id.casefold(), name.casefold()))

    def admits(self, collections: Sequence[str], tags: Sequence[str]) -> bool:
        """Whether a work with these collections and tags is taken."""
        is_placed = not self.collections or any(
            f"/{wanted}/".casefold() in f"/{held}/".casefold()
            for wanted in self.collections
            for held in collections
        )
        held_tags = {tag.casefold() for tag in tags}
        return is_placed and (not self.tags or any(tag.casefold() in held_tags for tag in self.tags))

    def works_of(self, library: ZoteroLibrary) -> tuple[ZoteroWork, ...]:
        """The works of a library that are taken."""
        return tuple(work for work in library.works if self.admits(work.item.collections, work.item.tags))
