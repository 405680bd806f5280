# surface: held
# A page of ten million points, one as thin as a hair, and one whose boxes lie far away take memory for their pixels.
from io import BytesIO
from pathlib import Path

import pypdfium2

from winnow.security.shown_pages import write_pdf
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.page_pictures.drawing import draw_page
from winnow.server.readers.page_pictures.png import MAX_PICTURE_BYTES, check_png
from winnow.server.models import WantedText

BOXES = (
    "0 0 10000000 10000000", "0 0 10000000 1", "0 0 14400 0.0001", "-9999999 -9999999 -9999000 -9999000",
    "0 0 1e38 1e38", "0 0 0 0", "595 842 0 0",
)  # fmt: skip


def files():
    for box in BOXES:
        write_pdf(Path("documents/page.pdf"), box=box)
        yield Path("documents/page.pdf").read_bytes()


def control():
    width, height = pypdfium2.PdfDocument(next(files()))[0].get_size()
    return width * height * 4 > 2**40  # the bytes of its pixels, one for each point


def surface():
    for data in files():
        try:
            picture = check_png(draw_page(BytesIO(data), 1, [WantedText("These words are cited.")]).data)
        except UnreadableFile:
            continue
        if len(picture.data) > MAX_PICTURE_BYTES:
            return True
    return False
