"""Finds text that a person does not see on a page: instructions to models are put into such text.

Hidden is text that is drawn in the invisible mode, lies outside the page or its clip path, is smaller than 3
points or drawn as a flat line, or has the colour of what is drawn below most of it. One exception: the invisible
text of a scanned page, where a picture covers the page and no text is visible, is what an earlier OCR has read,
and people search and copy it.
"""

from __future__ import annotations

import ctypes
import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from winnow.server.models import HiddenReason

SMALLEST_POINTS = 3.0
# Of 255 for each of red, green and blue: less is not seen on a screen.
_SAME_COLOUR = 16
_TRANSPARENT = 16
_PAPER = (255, 255, 255)
# More than this share of a text on its own colour is not seen.
_MOST_OF_TEXT = 0.5
# Points along a text whose ground is looked at: so many that a few dots do not lie below half of them.
_SAMPLES = 256
# A picture that covers this share of the page makes it a scan.
_SCAN_SHARE = 0.85
# Only what is large enough to lie behind a line of text, and only the latest of them.
_SMALLEST_GROUND, _MOST_GROUNDS = 100.0, 200
# PDFium draws no deeper than about half of this.
_DEEPEST_FORM = 64
_UNSEEN_MODES = (pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP)
# Render modes that paint the inside of letters, and those that paint their outline.
_FILLED = (
    pdfium.FPDF_TEXTRENDERMODE_FILL,
    pdfium.FPDF_TEXTRENDERMODE_FILL_CLIP,
    pdfium.FPDF_TEXTRENDERMODE_FILL_STROKE,
    pdfium.FPDF_TEXTRENDERMODE_FILL_STROKE_CLIP,
)
_STROKED = (
    pdfium.FPDF_TEXTRENDERMODE_STROKE,
    pdfium.FPDF_TEXTRENDERMODE_STROKE_CLIP,
    pdfium.FPDF_TEXTRENDERMODE_FILL_STROKE,
    pdfium.FPDF_TEXTRENDERMODE_FILL_STROKE_CLIP,
)
# White space of a text. Other signs below the blank may be letters of its font.
_BLANKS = " \t\n\r\f\v\xa0"

# Of the length and of the height of a text: if its clip path leaves less of either, nobody can read it.
_LEAST_UNCLIPPED = 0.1
# In points. Words are not flatter than the first, nor shorter for each letter than the second; a single letter
# may be as thin as its stem.
_FLATTEST_WORD, _SHORTEST_LETTER, _THINNEST_LETTER = 1.2, 0.5, 0.05

Edges = tuple[float, float, float, float]
Colour = tuple[int, int, int]
_FontSize = tuple[int, float]
_EVERYWHERE: Edges = (-math.inf, -math.inf, math.inf, math.inf)
# A page of 10,000 texts with a rectangle each has 50,000 points. More take over a second and are not looked at.
_MOST_CLIP_POINTS = 200_000


@dataclass(frozen=True, slots=True)
class HiddenRun:
    """Text that a person does not see, and why.

    ``handle`` is PDFium's text object; ``on_page`` is False within a form.
    """

    text: str
    handle: Any
    on_page: bool
    why: HiddenReason


@dataclass(slots=True)
class PageObjects:
    """The drawing of a page. ``picture_share`` is the largest picture's part of the page, 0 to 1."""

    hidden: list[HiddenRun] = field(default_factory=list)
    is_scan_with_text: bool = False
    picture_share: float = 0.0
    paths: int = 0


@dataclass(frozen=True, slots=True)
class _Frame:
    """The matrix of the forms around an object, how many there are, and the edges of their clip paths."""

    matrix: tuple[float, float, float, float, float, float] = (1, 0, 0, 1, 0, 0)
    depth: int = 0
    clip: Edges = _EVERYWHERE


def look_at_page(page: Any) -> PageObjects:
    """The drawing of a page (a ``PdfPage``), and which of its text is hidden."""
    return _Look(page).look()


class _ClipEdges:
    """The edges outside which clip paths leave nothing of an object. Curves lie within their control points."""

    def __init__(self) -> None:
        self._points_left = _MOST_CLIP_POINTS
        self._x, self._y = ctypes.c_float(), ctypes.c_float()

    def of(self, handle: Any) -> Edges:
        """Left, bottom, right and top of what may be drawn of an object, in the space of its own bounds."""
        clip = pdfium.FPDFPageObj_GetClipPath(handle)
        edges = _EVERYWHERE
        for path in range(max(0, pdfium.FPDFClipPath_CountPaths(clip))):
            edges = _overlap(edges, self._edges_of_path(clip, path))
        return edges

    def _edges_of_path(self, clip: Any, path: int) -> Edges:
        points = pdfium.FPDFClipPath_CountPathSegments(clip, path)
        self._points_left -= max(0, points)
        if points < 1 or self._points_left < 0:
            return _EVERYWHERE
        xs, ys = zip(*(self._point(clip, path, number) for number in range(points)), strict=True)
        return min(xs), min(ys), max(xs), max(ys)

    def _point(self, clip: Any, path: int, number: int) -> tuple[float, float]:
        segment = pdfium.FPDFClipPath_GetPathSegment(clip, path, number)
        pdfium.FPDFPathSegment_GetPoint(segment, self._x, self._y)
        return self._x.value, self._y.value


class _Look:
    """Goes through the objects of a page in the order in which they are drawn."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.edges: Edges = page.get_bbox()
        self.found = PageObjects()
        self.unseen: list[tuple[Any, bool]] = []
        self.marked: list[tuple[Any, bool, HiddenReason]] = []
        # Fonts and sizes of text that is large enough; small text with its own, and with what else hides it.
        self.legible: list[tuple[Any, _Frame]] = []
        self.small: list[tuple[Any, bool, _FontSize, HiddenReason | None]] = []
        # Text that has a large font and is flat or narrow all the same, with its length and height.
        self.flat: list[tuple[Any, bool, tuple[float, ...]]] = []
        self.grounds: deque[tuple[Edges, Colour | None]] = deque(maxlen=_MOST_GROUNDS)
        self.clips = _ClipEdges()
        self.seen = 0
        self._numbers = [ctypes.c_float() for _ in range(4)]
        self._channels = [ctypes.c_uint() for _ in range(4)]

    def look(self) -> PageObjects:
        for handle, frame in self._objects():
            kind = pdfium.FPDFPageObj_GetType(handle)
            if kind == pdfium.FPDF_PAGEOBJ_TEXT:
                self._look_at_text(handle, frame)
            elif kind == pdfium.FPDF_PAGEOBJ_PATH:
                self._look_at_path(handle, frame)
            elif kind == pdfium.FPDF_PAGEOBJ_IMAGE:
                self._look_at_picture(handle, frame)
            elif kind == pdfium.FPDF_PAGEOBJ_SHADING and (bounds := self._bounds(handle, frame)):
                self.grounds.append((bounds, None))
        self._judge_small()
        self._judge_unseen()
        if self.marked or self.flat:
            self._read_texts()
        return self.found

    def _objects(self) -> Iterator[tuple[Any, _Frame]]:
        for place in range(pdfium.FPDFPage_CountObjects(self.page)):
            yield from self._with_parts(pdfium.FPDFPage_GetObject(self.page, place), _Frame())

    def _with_parts(self, handle: Any, frame: _Frame) -> Iterator[tuple[Any, _Frame]]:
        """An object, or the objects in it if it is a form."""
        if pdfium.FPDFPageObj_GetType(handle) != pdfium.FPDF_PAGEOBJ_FORM:
            yield handle, frame
        elif frame.depth < _DEEPEST_FORM:
            clip = _overlap(frame.clip, _transform(self.clips.of(handle), frame.matrix))
            inner = _Frame(_multiply(_matrix(handle), frame.matrix), frame.depth + 1, clip)
            for place in range(pdfium.FPDFFormObj_CountObjects(handle)):
                yield from self._with_parts(pdfium.FPDFFormObj_GetObject(handle, place), inner)

    def _look_at_text(self, handle: Any, frame: _Frame) -> None:
        bounds = self._bounds(handle, frame)
        if bounds is None:
            return
        if pdfium.FPDFTextObj_GetTextRenderMode(handle) in _UNSEEN_MODES:
            self.unseen.append((handle, frame.depth == 0))
        elif self._is_outside(bounds):
            self.marked.append((handle, frame.depth == 0, "off the page"))
        elif self._is_clipped(handle, bounds, frame):
            self.marked.append((handle, frame.depth == 0, "clipped away"))
        elif _is_tiny(handle, bounds, frame):
            why = self._why_unpainted(handle, bounds)
            self.small.append((handle, frame.depth == 0, _font_size(handle, frame), why))
        elif why := self._why_unpainted(handle, bounds):
            self.marked.append((handle, frame.depth == 0, why))
        else:
            self.seen += 1
            self.legible.append((handle, frame))
            sides = (bounds[2] - bounds[0], bounds[3] - bounds[1], *_sides(handle, frame))
            if min(sides) < SMALLEST_POINTS:
                self.flat.append((handle, frame.depth == 0, sides))

    def _look_at_path(self, handle: Any, frame: _Frame) -> None:
        self.found.paths += 1
        bounds = self._bounds(handle, frame)
        if bounds is None or _area(bounds) < _SMALLEST_GROUND:
            return
        mode, stroke = ctypes.c_int(), ctypes.c_int()
        pdfium.FPDFPath_GetDrawMode(handle, mode, stroke)
        if mode.value != pdfium.FPDF_FILLMODE_NONE:
            colour, is_opaque = self._colour(handle)
            self.grounds.append((bounds, colour if is_opaque else None))

    def _look_at_picture(self, handle: Any, frame: _Frame) -> None:
        bounds = self._bounds(handle, frame)
        if bounds is not None:
            self.grounds.append((bounds, None))
            share = _area(_overlap(bounds, self.edges)) / max(1.0, _area(self.edges))
            self.found.picture_share = max(self.found.picture_share, share)

    def _judge_small(self) -> None:
        """A dot is small, and so is the stated size of a font whose letters are drawn large (Type 3)."""
        if not self.small:
            return
        legible = {_font_size(handle, frame) for handle, frame in self.legible}
        for handle, on_page, size, why in self.small:
            if size not in legible:
                self.marked.append((handle, on_page, "too small"))
            elif why:
                self.marked.append((handle, on_page, why))
            else:
                self.seen += 1

    def _judge_unseen(self) -> None:
        """Invisible text is hidden, unless it is the text of a scan."""
        self.found.is_scan_with_text = (
            bool(self.unseen) and not self.seen and self.found.picture_share >= _SCAN_SHARE
        )
        if not self.found.is_scan_with_text:
            self.marked.extend((handle, on_page, "invisible") for handle, on_page in self.unseen)

    def _read_texts(self) -> None:
        textpage = self.page.get_textpage()
        try:
            for handle, on_page, why in self.marked:
                if text := _text_of(handle, textpage):
                    self.found.hidden.append(HiddenRun(text, handle, on_page, why))
            for handle, on_page, sides in self.flat:
                text = _text_of(handle, textpage)
                if _is_squeezed(text, sides):
                    self.found.hidden.append(HiddenRun(text, handle, on_page, "too small"))
        finally:
            textpage.close()

    def _bounds(self, handle: Any, frame: _Frame) -> Edges | None:
        """Left, bottom, right and top on the page; None for an object without extent."""
        left, bottom, right, top = self._numbers
        if not pdfium.FPDFPageObj_GetBounds(handle, left, bottom, right, top):
            return None
        edges = (left.value, bottom.value, right.value, top.value)
        return edges if frame.depth == 0 else _transform(edges, frame.matrix)

    def _is_outside(self, bounds: Edges) -> bool:
        left, bottom, right, top = self.edges
        return bounds[2] <= left or bounds[0] >= right or bounds[3] <= bottom or bounds[1] >= top

    def _is_clipped(self, handle: Any, bounds: Edges, frame: _Frame) -> bool:
        """Whether the clip paths leave nearly nothing of a text."""
        left, bottom, right, top = _overlap(
            bounds, _overlap(frame.clip, _transform(self.clips.of(handle), frame.matrix))
        )
        length, height = bounds[2] - bounds[0], bounds[3] - bounds[1]
        return right - left < _LEAST_UNCLIPPED * length or top - bottom < _LEAST_UNCLIPPED * height

    def _why_unpainted(self, handle: Any, bounds: Edges) -> HiddenReason | None:
        """Not painted at all, or painted in the colour of what lies below most of the text."""
        mode = pdfium.FPDFTextObj_GetTextRenderMode(handle)
        inks = [self._colour(handle)] if mode in _FILLED else []
        inks += [self._colour(handle, pdfium.FPDFPageObj_GetStrokeColor)] if mode in _STROKED else []
        whys = [self._why_unseen(colour, bounds, is_opaque=is_opaque) for colour, is_opaque in inks]
        return None if None in whys else next(iter(whys), None)

    def _why_unseen(self, colour: Colour | None, bounds: Edges, *, is_opaque: bool) -> HiddenReason | None:
        if colour is None:
            return None
        if not is_opaque:
            return "transparent"
        return "colour of its background" if self._share_of_ground(colour, bounds) > _MOST_OF_TEXT else None

    def _share_of_ground(self, colour: Colour, bounds: Edges) -> float:
        """The part of a text, along its middle, that lies on its own colour, 0 to 1.

        Not one point alone: a dot below the middle of a long text does not make it legible.
        """
        along, across = (0, 1) if bounds[2] - bounds[0] >= bounds[3] - bounds[1] else (1, 0)
        middle = (bounds[across] + bounds[across + 2]) / 2
        bare, same = (1 << _SAMPLES) - 1, 0
        for edges, ground in reversed(self.grounds):
            if not bare:
                break
            if edges[across] <= middle <= edges[across + 2]:
                covered = bare & _samples_within(bounds, edges, along)
                bare ^= covered
                same += covered.bit_count() if ground is not None and _is_same(colour, ground) else 0
        same += bare.bit_count() if _is_same(colour, _PAPER) else 0
        return same / _SAMPLES

    def _colour(
        self, handle: Any, read: Callable[..., int] = pdfium.FPDFPageObj_GetFillColor
    ) -> tuple[Colour | None, bool]:
        """The colour of the filling or, as ``read``, the outline, None for a pattern; is it more than a trace?"""
        red, green, blue, alpha = self._channels
        if not read(handle, red, green, blue, alpha):
            return None, True
        return (red.value, green.value, blue.value), alpha.value > _TRANSPARENT


def _samples_within(bounds: Edges, ground: Edges, along: int) -> int:
    """The samples of a text that lie on a ground, a bit for each."""
    start, step = bounds[along], max(bounds[along + 2] - bounds[along], _THINNEST_LETTER) / _SAMPLES
    first = max(0, math.ceil((ground[along] - start) / step - 0.5))
    last = min(_SAMPLES - 1, math.floor((ground[along + 2] - start) / step - 0.5))
    return (1 << last + 1) - (1 << first) if first <= last else 0


def _is_squeezed(text: str, sides: tuple[float, ...]) -> bool:
    """Whether letters in a large font are drawn so flat or so narrow that they are a line. Dots and dashes are."""
    letters = sum(map(str.isalnum, text))
    if letters < 2:
        return letters == 1 and min(sides) < _THINNEST_LETTER
    return min(sides) < _FLATTEST_WORD or max(sides) < _SHORTEST_LETTER * letters


def _is_tiny(handle: Any, bounds: Edges, frame: _Frame) -> bool:
    """Smaller than 3 points, by its extent and by its font: a line of dots has a small extent in a large font."""
    if _drawn_size(handle, frame) >= SMALLEST_POINTS:
        return False
    return min(bounds[3] - bounds[1], bounds[2] - bounds[0], *_sides(handle, frame)) < SMALLEST_POINTS


def _sides(handle: Any, frame: _Frame) -> tuple[float, ...]:
    """The length and the height of a text that may be turned, which is narrower than the box around it."""
    quad = pdfium.FS_QUADPOINTSF()
    if not pdfium.FPDFPageObj_GetRotatedBounds(handle, quad):
        return ()
    a, b, c, d, _, _ = frame.matrix
    steps = ((quad.x2 - quad.x1, quad.y2 - quad.y1), (quad.x3 - quad.x2, quad.y3 - quad.y2))
    return tuple(math.hypot(x * a + y * c, x * b + y * d) for x, y in steps)


def _font_size(handle: Any, frame: _Frame) -> _FontSize:
    """The font of a text, by its address, and the size in which it is drawn, as the font has it."""
    font = pdfium.FPDFTextObj_GetFont(handle)
    return ctypes.addressof(font.contents) if font else 0, _drawn_size(handle, frame)


def _drawn_size(handle: Any, frame: _Frame) -> float:
    """The size of the font of a text as it is drawn."""
    size = ctypes.c_float()
    pdfium.FPDFTextObj_GetFontSize(handle, size)
    _, _, c, d, _, _ = _matrix(handle)
    if frame.depth:
        c, d = c * frame.matrix[0] + d * frame.matrix[2], c * frame.matrix[1] + d * frame.matrix[3]
    return round(abs(size.value) * math.hypot(c, d), 3)


def _text_of(handle: Any, textpage: Any) -> str:
    length = pdfium.FPDFTextObj_GetText(handle, textpage, None, 0)
    buffer = (ctypes.c_ushort * (length // 2 + 1))()
    pdfium.FPDFTextObj_GetText(handle, textpage, buffer, length)
    text = bytes(buffer).decode("utf-16-le", "replace").split("\0", 1)[0]
    return text.strip() or text.strip(_BLANKS)


def _matrix(handle: Any) -> tuple[float, float, float, float, float, float]:
    values = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(handle, values)
    return values.a, values.b, values.c, values.d, values.e, values.f


def _multiply(
    first: tuple[float, float, float, float, float, float], then: tuple[float, float, float, float, float, float]
) -> tuple[float, float, float, float, float, float]:
    """Both transformations, one after the other."""
    a, b, c, d, e, f = first
    p, q, r, s, t, u = then
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u


def _transform(edges: Edges, matrix: tuple[float, float, float, float, float, float]) -> Edges:
    if edges == _EVERYWHERE:
        return edges
    a, b, c, d, e, f = matrix
    corners = [(x * a + y * c + e, x * b + y * d + f) for x in edges[::2] for y in edges[1::2]]
    xs, ys = zip(*corners, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def _area(edges: Edges) -> float:
    return max(0.0, edges[2] - edges[0]) * max(0.0, edges[3] - edges[1])


def _overlap(one: Edges, other: Edges) -> Edges:
    """The part that two rectangles share; without extent where there is none."""
    return max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])


def _is_same(one: Colour, other: Colour) -> bool:
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) <= _SAME_COLOUR
