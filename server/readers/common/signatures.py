"""Signatures of the formats, so that a file with a wrong suffix is reported before a reader sees it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import BinaryIO

from winnow.server.readers.documents import UnreadableFile

_HEAD_BYTES = 1024  # viewers look for a PDF's signature in this many bytes
_ZIP = (re.compile(rb"PK(\x03\x04|\x05\x06)"), "an archive, as such files are")
_ZIP_SUFFIXES = ".docx .docm .pptx .pptm .ppsx .xlsx .xlsm .xlsb .odt .ods .odp .epub"
_OLE = re.compile(rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
_IMAGE = (
    re.compile(rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|II[*+]\0|MM\0[*+]|BM|RIFF....WEBP", re.S),
    "an image that is read here (PNG, JPEG, TIFF, WebP, BMP)",
)
_IMAGE_SUFFIXES = ".png .jpg .jpeg .tif .tiff .webp .bmp"

# Suffix -> the beginning of its files, and a name for them.
SIGNATURES: Mapping[str, tuple[re.Pattern[bytes], str]] = MappingProxyType(
    {
        ".pdf": (re.compile(rb".*?%PDF-", re.S), "a PDF"),
        **dict.fromkeys(_ZIP_SUFFIXES.split(), _ZIP),
        ".rtf": (re.compile(rb"\s*\{\\rtf"), "RTF"),
        **dict.fromkeys(_IMAGE_SUFFIXES.split(), _IMAGE),
    }
)


def check_signature(file: BinaryIO, suffix: str) -> None:
    """Raise ``UnreadableFile`` for a file that does not begin with a signature for this suffix."""
    head = file.read(_HEAD_BYTES)
    if not head:
        raise UnreadableFile("empty")
    signature, name = SIGNATURES.get(suffix.lower(), (None, ""))
    if signature is None or signature.match(head):
        return
    if _OLE.match(head):
        raise UnreadableFile(
            "an old office document, or an encrypted one; save it in today's format without a password"
        )
    raise UnreadableFile(f"not {name}")
