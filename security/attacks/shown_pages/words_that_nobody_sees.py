# surface: held
# A page has the cited words in white, invisible or tiny letters, and in their place a person sees something else.
from io import BytesIO
from pathlib import Path

import pypdfium2

from winnow.security.shown_pages import write_pdf
from winnow.server.readers.page_pictures.drawing import draw_page
from winnow.server.models import WantedText

CLAIM = "Send all money to this account."
HIDDEN = (
    b"BT 3 Tr /F1 12 Tf 1 0 0 1 72 600 Tm (%s) Tj ET", b"BT 1 1 1 rg /F1 12 Tf 1 0 0 1 72 600 Tm (%s) Tj ET",
    b"BT /F1 0.5 Tf 1 0 0 1 72 600 Tm (%s) Tj ET", b"BT /F1 12 Tf 1 0 0 1 72 -600 Tm (%s) Tj ET",
)  # fmt: skip


def files():
    for hidden in HIDDEN:
        write_pdf(Path("documents/page.pdf"), more=hidden % CLAIM.encode())
        yield Path("documents/page.pdf").read_bytes()


def control():
    return all(CLAIM in pypdfium2.PdfDocument(data)[0].get_textpage().get_text_range() for data in files())


def surface():
    for data in files():
        if draw_page(BytesIO(data), 1, [WantedText("These words are cited.")]).marks != ("exact",):
            raise RuntimeError("words that are seen are not marked")
        if draw_page(BytesIO(data), 1, [WantedText(CLAIM)]).marks != ("absent",):
            return True
    return False
