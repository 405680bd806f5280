"""A choice of libraries, collections and tags of Zotero, and of the transport to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from winnow.server.text.matching import fold_label

_Name = Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]+$")]
_Place = Annotated[str, Field(max_length=4_000, pattern=r"^[^\x00-\x1f\x7f]*$")]
_Names = Annotated[tuple[_Name, ...], Field(max_length=50)]


class ZoteroChoice(BaseModel):
    """Works of these libraries that are in any of these collections and have all of these tags; () is all.

    ``libraries`` are names or ids ("library", "groups/123"). A collection is named by its whole path ("Thesis" or
    "Thesis/Chapter 2"), and has its subcollections in it. ``data_folder`` is Zotero's, "" for the one of this
    user's profile. ``api`` is the address of its local API, "" for the usual one, which is not asked where
    ``uses_api`` is False.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, hide_input_in_errors=True)

    libraries: _Names = ()
    collections: _Names = ()
    tags: _Names = ()
    data_folder: _Place = ""
    api: _Place = ""
    uses_api: bool = True

    @property
    def is_part(self) -> bool:
        """Whether libraries are taken in part."""
        return bool(self.collections or self.tags)

    @property
    def is_everything(self) -> bool:
        """Whether all libraries are taken as a whole."""
        return not (self.libraries or self.is_part)

    def admits(self, collections: Sequence[str], tags: Sequence[str]) -> bool:
        """Whether a document with these collections and tags is of what is taken, as ``choose_works`` has it."""
        wanted = [fold_label(name) for name in self.collections]
        held = [fold_label(name) for name in collections]
        is_placed = not wanted or any(own == name or own.startswith(f"{name}/") for name in wanted for own in held)
        return is_placed and {fold_label(tag) for tag in self.tags} <= {fold_label(tag) for tag in tags}

    def describe(self) -> str:
        """The choice, in a few words.

        >>> ZoteroChoice(libraries=("library",), collections=("Thesis",)).describe()
        'library, in Thesis'
        """
        parts = ["; ".join(self.libraries) or "all libraries"]
        parts += [f"in {'; '.join(self.collections)}"] if self.collections else []
        parts += [f"with {'; '.join(self.tags)}"] if self.tags else []
        return ", ".join(parts)
