"""Files of images: each format is read by OCR, and hostile ones are refused with a reason, bombs undecoded."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from winnow.server.ingest.children.parser import ParserProcess
from winnow.server.readers.common import ocr_package
from winnow.server.readers.common.signatures import check_signature
from winnow.server.readers.documents import RawDocument, UnreadableFile
from winnow.server.readers.formats import image
from winnow.server.readers.formats.format_table import FORMATS, format_of
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.readers.pdf import ocr

needs_ocr = pytest.mark.skipif(not ocr_package.is_installed(), reason="the extra ocr is not installed")
if find_spec("PIL"):
    from PIL import Image, ImageDraw, ImageFont

OCR = ReadOptions(uses_ocr=True)
SENTENCE = "Passages are read in order."
_NOT_READ_HERE = "not an image that is read here (PNG, JPEG, TIFF, WebP, BMP)"
_CUT_OFF, _DAMAGED = "an image that is cut off; copy it again", "a damaged image; save it again"
_TOO_LARGE = "an image of more than 100 million pixels; save it smaller"


def picture(text: str = SENTENCE, mode: str = "RGB") -> Any:
    drawn = Image.new("RGB", (600, 200), "white")
    ImageDraw.Draw(drawn).text((30, 60), text, fill="black", font=ImageFont.load_default(32))
    return drawn.convert(mode)


def file_of(drawn: Any, form: str, **options: Any) -> bytes:
    out = io.BytesIO()
    drawn.save(out, format=form, **options)
    return out.getvalue()


def read(data: bytes) -> ParsedFile:
    return image.read(io.BytesIO(data), OCR)


def turned_by_its_camera() -> bytes:
    direction = Image.Exif()
    direction[274] = 6  # to be turned clockwise
    return file_of(picture().transpose(Image.Transpose.ROTATE_90), "JPEG", exif=direction)


def on_glass() -> bytes:
    """Black letters, and black below the transparent pixels."""
    drawn = Image.new("RGBA", (600, 200), (0, 0, 0, 0))
    ImageDraw.Draw(drawn).text((30, 60), SENTENCE, fill=(0, 0, 0, 255), font=ImageFont.load_default(32))
    return file_of(drawn, "PNG")


def of_sixteen_bits() -> Any:
    """Dark: its white is a hundredth of the largest number."""
    return picture(mode="I").point(lambda value: value * 2.5 + 7).convert("I;16")


_FILES: dict[str, Callable[[], bytes]] = {
    "png": lambda: file_of(picture(), "PNG"),
    "jpeg": lambda: file_of(picture(), "JPEG"),
    "jpeg of four inks": lambda: file_of(picture(mode="CMYK"), "JPEG"),
    "webp": lambda: file_of(picture(), "WEBP"),
    "bmp": lambda: file_of(picture(), "BMP"),
    "tiff": lambda: file_of(picture(), "TIFF", compression="tiff_lzw"),
    "fax": lambda: file_of(picture(mode="1"), "TIFF", compression="group4"),
    "palette": lambda: file_of(picture(mode="P"), "PNG"),
    "black and white": lambda: file_of(picture(mode="1"), "PNG"),
    "sixteen bits": lambda: file_of(of_sixteen_bits(), "PNG"),
    "fractions": lambda: file_of(picture(mode="F"), "TIFF"),
    "transparent": on_glass,
    "turned": turned_by_its_camera,
}


@needs_ocr
@pytest.mark.parametrize("name", _FILES)
def test_an_image_is_read_as_a_document_of_one_page(name: str) -> None:
    parsed = read(_FILES[name]())
    assert (parsed.text, [(place.kind, place.number, place.start) for place in parsed.places]) == (
        SENTENCE,
        [("page", 1, 0)],
    )
    assert (parsed.reading.reader, parsed.reading.pages, parsed.reading.ocr_pages) == ("image", 1, 1)


@needs_ocr
def test_each_page_of_a_tiff_is_a_place_and_its_thumbnails_are_left_out() -> None:
    first, *others = [picture(f"This is page {number} of three.") for number in ("one", "two", "three")]
    thumbnail = picture("A thumbnail of a page.")
    thumbnail.encoderinfo = {"tiffinfo": {254: 1}}
    data = file_of(first, "TIFF", save_all=True, append_images=[others[0], thumbnail, others[1]])
    parsed = read(data)
    assert parsed.text == "\n\n".join(f"This is page {number} of three." for number in ("one", "two", "three"))
    assert [place.number for place in parsed.places] == [1, 2, 3]
    assert (parsed.reading.pages, parsed.reading.needs_ocr) == (3, (1, 2, 3))


@needs_ocr
@pytest.mark.parametrize("size", [(300, 300), (1, 1), (20_000, 1), (1, 20_000), (3_400, 8)])
def test_an_image_without_text_has_none(size: tuple[int, int]) -> None:
    """A strip of a few pixels is not enlarged to a page of gigabytes."""
    assert read(file_of(Image.new("L", size, 255), "PNG")).text == ""


# --- hostile files


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int) -> bytes:
    """A PNG that states this size, and has next to no pixels."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 99)) + chunk(b"IEND", b"")


def bmp(width: int, height: int) -> bytes:
    return (
        b"BM"
        + struct.pack("<IHHIIiiHHIIiiII", 60, 0, 0, 54, 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)
        + b"\0" * 6
    )


def webp(width: int, height: int) -> bytes:
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF" + struct.pack("<I", 90) + b"WEBPVP8X" + struct.pack("<I", 10) + b"\0" * 4 + size + b"\0" * 68


def tiff(width: int, height: int) -> bytes:
    """A TIFF whose directory states this size, and one strip of a few bytes."""
    tags = [(256, width), (257, height), (258, 8), (259, 1), (262, 1), (273, 8), (277, 1), (278, height), (279, 9)]
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + struct.pack("<I", 0)


@needs_ocr
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (png(60_000, 60_000), _TOO_LARGE),
        (png(2**31 - 1, 2**31 - 1), _TOO_LARGE),
        (bmp(50_000, 50_000), _TOO_LARGE),
        (webp(16_384, 16_384), _TOO_LARGE),
        (tiff(50_000, 50_000), _TOO_LARGE),
        (png(0, 10), _DAMAGED),
        (png(100, 100), _CUT_OFF),
        (tiff(100, 100), _CUT_OFF),
        (bmp(100, 100), _CUT_OFF),
        (b"\xff\xd8\xff\xe0", _DAMAGED),
        (b"GIF89a" + b"\0" * 20, _NOT_READ_HERE),
        (b"plain text", _NOT_READ_HERE),
    ],
)
def test_a_hostile_image_is_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableFile) as caught:
        read(data)
    assert str(caught.value) == reason


@needs_ocr
@pytest.mark.parametrize("name", ["png", "jpeg", "webp", "bmp", "tiff"])
def test_an_image_that_was_cut_off_is_named_as_such_or_as_damaged(name: str) -> None:
    data = _FILES[name]()
    with pytest.raises(UnreadableFile, match=f"{_CUT_OFF}|{_DAMAGED}"):
        read(data[: len(data) // 2])


# --- behind the walls


@needs_ocr
@pytest.mark.walls
def test_images_are_read_behind_the_walls(tmp_path: Path) -> None:
    """Decoders load nothing late, and need no system call that readers may not make."""
    with ParserProcess(OCR) as readers:
        for name, data in _FILES.items():
            (tmp_path / "scan.png").write_bytes(data())
            documents = list(readers.read(tmp_path / "scan.png", "scan.png", FORMATS[".png"]))
            found = [(one.type, one.title, one.text) for one in documents if isinstance(one, RawDocument)]
            assert (name, found) == (name, [("image", "scan", SENTENCE)])
        (tmp_path / "bomb.tif").write_bytes(tiff(50_000, 50_000))
        with pytest.raises(UnreadableFile, match=_TOO_LARGE):
            readers.read(tmp_path / "bomb.tif", "bomb.tif", FORMATS[".tif"])


# --- without OCR


def test_where_ocr_is_not_installed_the_reason_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "load", lambda: False)
    with pytest.raises(UnreadableFile) as caught:
        read(png(10, 10))
    assert str(caught.value) == "an image, and OCR is not installed: pip install 'winnow-mcp[ocr]'"


@pytest.fixture
def readers() -> Iterator[ParserProcess]:
    with ParserProcess() as process:
        yield process


def test_an_image_is_refused_without_ocr_before_a_child_is_started(readers: ParserProcess, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png(10, 10))
    form = format_of("a.PNG")
    assert form is not None
    with pytest.raises(UnreadableFile, match="an image; to read it by OCR: --ocr"):
        readers.read(tmp_path / "a.png", "a.png", form)


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp"])
def test_a_file_that_does_not_begin_like_an_image_is_named_as_such(suffix: str) -> None:
    assert FORMATS[suffix].type == "image"
    check_signature(io.BytesIO(png(1, 1)), suffix)
    with pytest.raises(UnreadableFile) as caught:
        check_signature(io.BytesIO(b"GIF89a of another kind"), suffix)
    assert str(caught.value) == _NOT_READ_HERE
