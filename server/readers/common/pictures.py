"""Decodes files of images (PNG, JPEG, TIFF, WebP, BMP) with Pillow, which comes with the extra ``ocr``.

The first bytes of a file decide which decoder is given it, and the number of its pixels is checked before any is
decoded. The decoders are loaded by ``load`` before the walls rise: the child that reads files has no files.
"""

from __future__ import annotations

import importlib
import io
import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

from winnow.server.readers.documents import UnreadableFile

LARGEST_PIXELS = 100_000_000  # A4 at 1,000 dpi
MOST_PAGES = 1_000
_TOO_LARGE = f"an image of more than {LARGEST_PIXELS // 1_000_000:,} million pixels; save it smaller"
_CUT_OFF, _DAMAGED = "an image that is cut off; copy it again", "a damaged image; save it again"
_MODULES = (
    "Image ImageChops ImageColor ImageFile ImageOps ImagePalette ImageSequence BmpImagePlugin GifImagePlugin "
    "JpegImagePlugin MpoImagePlugin PngImagePlugin PpmImagePlugin TiffImagePlugin WebPImagePlugin"
)
_DECODERS = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "PngImagePlugin", "PngImageFile"),
    (re.compile(rb"\xff\xd8\xff"), "JpegImagePlugin", "JpegImageFile"),
    (re.compile(rb"II[*+]\0|MM\0[*+]"), "TiffImagePlugin", "TiffImageFile"),
    (re.compile(rb"RIFF....WEBP", re.S), "WebPImagePlugin", "WebPImageFile"),
    (re.compile(rb"BM"), "BmpImagePlugin", "BmpImageFile"),
)
_TIFF = "TIFF"
_SUBFILE, _IS_SMALLER, _IS_MASK = 254, 1, 4  # a tag of TIFF, and its bits


@dataclass(slots=True)
class _Loaded:
    """The modules of Pillow by name, once they are loaded."""

    modules: dict[str, Any]


_LOADED = _Loaded({})


def load() -> None:
    """Load Pillow and its decoders, once. Raises ``ImportError`` if Pillow is not installed."""
    if _LOADED.modules:
        return
    _LOADED.modules = {name: importlib.import_module(f"PIL.{name}") for name in _MODULES.split()}
    # Pillow refuses images with more than twice this number, before it allocates memory for them.
    _LOADED.modules["Image"].MAX_IMAGE_PIXELS = LARGEST_PIXELS // 2
    for sample in _samples():
        list(read_pictures(sample, 8))


def _samples() -> Iterator[bytes]:
    """An image of each format, turned to its side; reading it loads what decoders load late."""
    image = _LOADED.modules["Image"]
    picture, turned = image.new("RGB", (16, 16), "white"), image.Exif()
    turned[274] = 6
    for form in ("PNG", "JPEG", _TIFF, "WEBP", "BMP"):
        out = io.BytesIO()
        picture.save(out, format=form, **({} if form == "BMP" else {"exif": turned}))
        yield out.getvalue()


def read_pictures(data: bytes, longest: int) -> Iterator[Any]:
    """The pages of an image file as images of Pillow: upright, RGB on white, at most ``longest`` pixels a side.

    Only a TIFF has more than one; its thumbnails and masks are left out. ``load`` comes first. Raises
    ``UnreadableFile``.
    """
    with _decoding():
        image = _open(data)
    for number in count():
        with _decoding():
            if number and not _turn_to(image, number):
                return
            picture = None if number and _is_thumbnail(image) else _decode(image, longest)
        if picture is not None:
            yield picture


@contextmanager
def _decoding() -> Iterator[None]:
    """A context in which Pillow warns of nothing, and its errors become ``UnreadableFile``."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (UnreadableFile, MemoryError):
        raise
    except _LOADED.modules["Image"].DecompressionBombError:
        raise UnreadableFile(_TOO_LARGE) from None
    except Exception as error:  # decoders raise any exception for a damaged file
        raise UnreadableFile(_CUT_OFF if "truncated" in str(error).lower() else _DAMAGED) from None


def _open(data: bytes) -> Any:
    for signature, module, decoder in _DECODERS:
        if signature.match(data):
            return getattr(_LOADED.modules[module], decoder)(io.BytesIO(data))
    raise UnreadableFile("not an image that is read here (PNG, JPEG, TIFF, WebP, BMP)")


def _turn_to(image: Any, number: int) -> bool:
    """Go to a page, counted from 0; return whether the page exists."""
    if image.format != _TIFF:
        return False
    try:
        image.seek(number)
    except EOFError:
        return False
    if number >= MOST_PAGES:
        raise UnreadableFile(f"has more than {MOST_PAGES:,} pages; split it")
    return True


def _is_thumbnail(image: Any) -> bool:
    return bool(image.tag_v2.get(_SUBFILE, 0) & (_IS_SMALLER | _IS_MASK))


def _decode(image: Any, longest: int) -> Any:
    """The page that the image is at."""
    width, height = image.size
    if not (width and height):
        raise UnreadableFile("an image without pixels")
    if width * height > LARGEST_PIXELS:
        raise UnreadableFile(_TOO_LARGE)
    picture = _make_scalable(image)
    picture.thumbnail((longest, longest))  # a JPEG is not decoded at full size for this
    with suppress(Exception):  # the metadata with the direction may be damaged
        picture = _LOADED.modules["ImageOps"].exif_transpose(picture)
    return _put_on_white(picture)


def _make_scalable(image: Any) -> Any:
    """The image in a mode whose pixels can be averaged: bytes, without a palette, and not black and white."""
    if image.mode in ("P", "PA"):
        return image.convert("RGBA" if image.has_transparency_data else "RGB")
    if image.mode == "1":
        return image.convert("L")
    return _spread(image) if image.mode[0] in "IF" else image


def _spread(image: Any) -> Any:
    """An image of 16 or 32 bits per pixel as bytes, scaled from its smallest to its largest value."""
    numbers = image.convert("F")
    low, high = numbers.getextrema()
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        return _LOADED.modules["Image"].new("L", image.size, "white")
    step = 255 / (high - low)
    return numbers.point(lambda value: value * step - low * step).convert("L")


def _put_on_white(picture: Any) -> Any:
    if not picture.has_transparency_data:
        return picture.convert("RGB")
    seen = picture.convert("RGBA")
    paper = _LOADED.modules["Image"].new("RGB", seen.size, "white")
    paper.paste(seen, mask=seen.getchannel("A"))
    return paper
