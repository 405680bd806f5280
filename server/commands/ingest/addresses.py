"""Addresses of web pages in place of files: refused, with the way to fetch a site."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from winnow.server.errors import WinnowError
from winnow.server.settings.addresses import show_address
from winnow.server.text.printable import one_line

_ADDRESS = re.compile(r"(https?):/+", re.IGNORECASE)
_WHY = (
    "{shown} is an address; winnow reads files, no web pages. Fetch it first: wget --mirror --no-parent "
    "--adjust-extension --convert-links --directory-prefix=site {quoted} and then: winnow ingest site/"
)


def refuse_addresses(paths: Sequence[Path]) -> None:
    """Raise ``WinnowError`` with the way to fetch a site if one of the paths is an address."""
    address = next((str(path) for path in paths if _ADDRESS.match(str(path))), None)
    if address:
        # A path has no two slashes in a row.
        shown = _as_folder(one_line(show_address(_ADDRESS.sub(r"\1://", address, count=1))))
        raise WinnowError("INVALID_REQUEST", _WHY.format(shown=shown, quoted=shlex.quote(shown)))


def _as_folder(address: str) -> str:
    """The address with a "/" at its end if its last part is no file: without one, wget fetches what lies beside.

    A path loses a "/" that was there; an address with a query stays as it is.
    """
    host, _, path = address.partition("://")[2].partition("/")
    is_file = "." in path.rpartition("/")[2]
    return address if is_file or "?" in address or "#" in address or not host else f"{address.rstrip('/')}/"
