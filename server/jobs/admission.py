"""Checks of the paths that agents ask to ingest: each must be at or below a folder that the operator named.

Libraries of Zotero may be ingested if the word ``zotero`` is among the roots. The linked files of a library, which
may be anywhere, are read only if they are below one of the folders.

The path is resolved before it is compared, so neither ``..`` nor a link leads out. It is compared again when the
job runs, and files are opened without following links (``server.readers.bounded_files``). A folder that is
replaced by a link in between is therefore refused as well.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from winnow.server.errors import WinnowError
from winnow.server.readers.bounded_files import describe_type
from winnow.server.storage.files.store_folder import CATALOGUE
from winnow.server.text.printable import one_line

# URLs, and the word for libraries of Zotero.
_ADDRESS = re.compile(r"(?i)[a-z][a-z0-9+.-]*:/|(source\s*=\s*)?zotero(:|\s|$)")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# The source that stands for libraries of Zotero, and the word among roots that allows it.
ZOTERO = "zotero"
_SHOWN_ROOTS, _SHOWN_CHARS = 10, 200
_NO_ZOTERO = (
    "this server ingests no libraries of Zotero for agents; the operator allows it with the word zotero among "
    "ingest_roots (--ingest-roots zotero), or runs: winnow zotero ingest"
)
_NO_ROOTS = (
    "this server ingests no files for agents: the operator has named no folder; start it with --ingest-roots "
    "FOLDER, or set WINNOW_INGEST_ROOTS"
)


@dataclass(frozen=True, slots=True)
class AdmittedSource:
    """A file or folder that may be ingested, resolved, and the root that it is at or below."""

    path: Path
    root: Path


def admit(source: str, roots: Sequence[Path], store: Path, name: str = "source") -> AdmittedSource:
    """The file or folder that ``source`` means: an absolute path, or one below any of the roots.

    ``name`` is that of the argument, for errors.

    Raises ``WinnowError``: "SCOPE_VIOLATION" for anything outside the roots, whether it exists or not,
    "INVALID_REQUEST" for what is not a path, does not exist, is hidden, or is neither a file nor a folder.
    """
    roots = folders_of(roots)
    if not roots:
        raise WinnowError("SCOPE_VIOLATION", _NO_ROOTS)
    if _ADDRESS.match(source):
        raise WinnowError(
            "INVALID_REQUEST",
            f"{name}: {source[:_SHOWN_CHARS]!r} is not a path; name a file or a folder below {_names(roots)}",
        )
    found = _find(source, roots)
    if _UNPRINTABLE.search(str(found.path) if found else source):
        raise WinnowError("INVALID_REQUEST", f"{name}: the path holds characters that are not printable")
    if found is None:
        raise WinnowError(
            "SCOPE_VIOLATION",
            f"{name}: {source[:_SHOWN_CHARS]!r} is not below a folder that this server may ingest from: "
            f"{_names(roots)}; name a file or a folder there, or ask the operator to add its folder to "
            "ingest_roots",
        )
    _check_kind(found, store, name)
    return found


def admit_zotero(roots: Sequence[Path]) -> tuple[Path, ...]:
    """The folders below which linked files are read.

    Raises ``WinnowError("SCOPE_VIOLATION")`` where the operator does not allow libraries of Zotero.
    """
    if Path(ZOTERO) not in roots:
        raise WinnowError("SCOPE_VIOLATION", _NO_ZOTERO)
    return folders_of(roots)


def folders_of(roots: Sequence[Path]) -> tuple[Path, ...]:
    """The roots that are folders."""
    return tuple(root for root in roots if root != Path(ZOTERO))


def check_unmoved(path: Path, root: Path) -> None:
    """Raise ``WinnowError("SCOPE_VIOLATION")`` if the path, or a folder above it, has become a link."""
    try:
        is_same = path.resolve(strict=True) == path and path.is_relative_to(root)
    except (OSError, RuntimeError):  # the path is gone, or is a link to itself
        raise WinnowError(
            "INVALID_REQUEST", f"{one_line(str(path))} is no longer there; its documents were kept"
        ) from None
    if not is_same:
        raise WinnowError(
            "SCOPE_VIOLATION",
            f"{one_line(str(path))} has become a link, or a folder above it has; name the folder that it leads to",
        )


def _find(source: str, roots: Sequence[Path]) -> AdmittedSource | None:
    """The source below the first root where it exists; if it exists below none, below the first possible root."""
    found = [
        AdmittedSource(path, root)
        for root in roots
        for path in (_resolve(Path(root, source)),)
        if path is not None and path.is_relative_to(root)
    ]
    existing = [each for each in found if os.path.lexists(each.path)]
    return next(iter(existing or found), None)


def _resolve(path: Path) -> Path | None:
    """The path without links and ``..``; None for one that cannot be followed."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def _check_kind(found: AdmittedSource, store: Path, name: str) -> None:
    shown = one_line(str(found.path), _SHOWN_CHARS)
    if found.path.is_relative_to(store.resolve()) or _is_in_store(found):
        raise WinnowError("SCOPE_VIOLATION", f"{name}: {shown} is in the store of an index")
    if any(part.startswith(".") for part in found.path.relative_to(found.root).parts):
        raise WinnowError(
            "SCOPE_VIOLATION", f"{name}: {shown} is hidden; hidden files are not ingested for agents"
        )
    try:
        mode = found.path.lstat().st_mode
    except OSError:
        raise WinnowError("INVALID_REQUEST", f"{name}: {shown} does not exist") from None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise WinnowError("INVALID_REQUEST", f"{name}: {shown} is {describe_type(mode)}")


def _is_in_store(found: AdmittedSource) -> bool:
    """Whether the path is in the store of an index below its root; logs and audits are not documents."""
    way = (found.path, *found.path.parents)
    return any(os.path.lexists(folder / CATALOGUE) for folder in way if folder.is_relative_to(found.root))


def _names(roots: Sequence[Path]) -> str:
    shown = [one_line(str(root), _SHOWN_CHARS) for root in roots[:_SHOWN_ROOTS]]
    more = f" and {len(roots) - _SHOWN_ROOTS} more" if len(roots) > _SHOWN_ROOTS else ""
    return ", ".join(shown) + more
