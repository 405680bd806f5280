"""The pixels of a picture of a page, read without the code that wrote it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Pixel = tuple[int, int, int]
Edges = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True, slots=True)
class Pixels:
    """A PNG file with a palette of 256 colours and rows without filters."""

    width: int
    height: int
    palette: bytes
    rows: bytes

    @classmethod
    def of(cls, data: bytes) -> Pixels:
        """Read a file of four chunks."""
        chunks: dict[bytes, bytes] = {}
        at = 8
        while at < len(data):
            size = int.from_bytes(data[at : at + 4], "big")
            chunks[data[at + 4 : at + 8]] = data[at + 8 : at + 8 + size]
            at += size + 12
        width, height = (int.from_bytes(chunks[b"IHDR"][part : part + 4], "big") for part in (0, 4))
        return cls(width, height, chunks[b"PLTE"], zlib.decompress(chunks[b"IDAT"]))

    def at(self, x: int, y: int) -> Pixel:
        """The colour of a pixel."""
        number = self.rows[y * (self.width + 1) + 1 + x]
        red, green, blue = self.palette[3 * number : 3 * number + 3]
        return red, green, blue

    def within(self, box: Edges) -> Iterator[Pixel]:
        """The colours of all pixels whose middle is in a box."""
        left, top, right, bottom = (round(edge) for edge in box)
        return (self.at(x, y) for y in range(top, bottom) for x in range(left, right))

    def share(self, box: Edges, is_it: Callable[[Pixel], bool]) -> float:
        """The share of the pixels in a box of which this is true."""
        found = [is_it(pixel) for pixel in self.within(box)]
        return sum(found) / len(found)


def is_paper(pixel: Pixel) -> bool:
    """Whether a pixel is light and has no colour: paper that is not marked."""
    return min(pixel) > 60 and max(pixel) - min(pixel) < 20


def is_yellow(pixel: Pixel) -> bool:
    """Whether a pixel is marked paper."""
    red, green, blue = pixel
    return red > 200 and green > 180 and blue < 150
