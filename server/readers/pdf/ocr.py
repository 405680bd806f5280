"""Reads pages that are pictures, and images, by OCR, with the models that the package ``rapidocr`` brings along.

Its models and libraries are loaded by ``load`` before the walls rise: the child that reads files has no files.
Nothing is downloaded: the paths of the models are given.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pypdfium2  # type: ignore[import-untyped]

from winnow.server.readers.common import ocr_package, pictures
from winnow.server.readers.pdf.layout import Box
from winnow.server.readers.pdf.lines import Cell, Line

_POINTS_PER_INCH, _DPI = 72, 200
MOST_PIXELS = 3_400  # on the longer side: A4 at 200 dpi has 2,339
# No letters fit into fewer. The engine enlarges a strip, and takes 8 GB for one of 3,400 pixels by 1.
_FEWEST_PIXELS = 8
# The page is made this small to find its lines, which are read in full size. Of a page of A4 in two columns no
# more words are read at 1,600, in a quarter more time and with half as much memory again.
_DETECTION_PIXELS = 960
# Sizes of one text differ by its letters: "on" is lower than "(f)".
_SAME_SIZE = 0.2
_PARAMETERS = {
    "Global.log_level": "critical",
    "Global.use_cls": False,
    "Global.max_side_len": MOST_PIXELS,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "Det.limit_type": "max",
    "Det.limit_side_len": _DETECTION_PIXELS,
    "Rec.rec_batch_num": 1,
}
_MODELS = {"Det.model_path": "PP-OCRv6_det_small.onnx", "Rec.model_path": "PP-OCRv6_rec_small.onnx"}


@dataclass(slots=True)
class _Loaded:
    """The engine, once it is loaded."""

    engine: Any = None


_LOADED = _Loaded()


def is_loaded() -> bool:
    """Whether pages can be read in this process."""
    return _LOADED.engine is not None


def load() -> bool:
    """Load the libraries and models, in seconds; False where the package is missing. Again it does nothing."""
    if _LOADED.engine is None and ocr_package.is_installed():
        _LOADED.engine = _start()
    return is_loaded()


def read_page(page: Any) -> list[Line]:
    """The lines of a page (a ``PdfPage``), from the picture that it makes. ``load`` comes first."""
    width, height = page.get_size()
    scale = min(_DPI / _POINTS_PER_INCH, MOST_PIXELS / max(width, height))
    return read_picture(_draw(page, scale), (width * scale, height * scale), scale)


def read_picture(picture: Any, size: tuple[float, float], scale: float) -> list[Line]:
    """The lines of a picture (Pillow's, or an array of pixels), with this many pixels a point.

    ``size`` is its width and height in pixels. ``load`` comes first.
    """
    if min(size) < _FEWEST_PIXELS:
        return []
    found = _LOADED.engine(picture)
    if not found.txts:
        return []
    lines = [_line(text, corners, scale) for text, corners in zip(found.txts, found.boxes, strict=True)]
    return _even_sizes(lines)


def _start() -> Any:
    """The engine after a first picture: only then it loads its models, and the libraries that make pictures."""
    from winnow.server.backends.models.onnx_runtime import import_with_runtime

    package = import_with_runtime(ocr_package.PACKAGE)
    pictures.load()
    folder = Path(package.__file__).parent / "models"
    engine = package.RapidOCR(params=_PARAMETERS | {key: str(folder / name) for key, name in _MODELS.items()})
    logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)
    document = pypdfium2.PdfDocument.new()
    try:
        picture = _draw(document.new_page(144, 72), 2.0)
        engine(picture)
        engine(picture, use_det=False)
        engine.update_params(use_det=True)
    finally:
        document.close()
    return engine


def _draw(page: Any, scale: float) -> Any:
    """The page as an array of rows of pixels, each blue, green and red."""
    bitmap = page.render(scale=scale, rev_byteorder=False, prefer_bgrx=False)
    try:
        return bitmap.to_numpy()[:, :, :3].copy()
    finally:
        bitmap.close()


def _line(text: str, corners: Any, scale: float) -> Line:
    xs, ys = ([float(corner[axis]) / scale for corner in corners] for axis in (0, 1))
    box = Box(min(xs), min(ys), max(xs), max(ys))
    words = " ".join(text.split())
    return Line(box, box.height, False, (Cell(words, box.left, box.right),))


def _even_sizes(lines: Sequence[Line]) -> list[Line]:
    """The lines with one size for all that are about as high as most."""
    usual = sorted(line.size for line in lines)[len(lines) // 2]
    near = (1 - _SAME_SIZE) * usual, (1 + _SAME_SIZE) * usual
    sizes = (usual if near[0] <= line.size <= near[1] else line.size for line in lines)
    return [Line(line.box, round(size, 1), False, line.cells) for line, size in zip(lines, sizes, strict=True)]
