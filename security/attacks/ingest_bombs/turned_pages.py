# surface: held
# A thousand pages that a viewer turns, all with one list of contents, so that what is written for one is read for
# all; and pages whose boxes begin far away, or reach out of each other.
from pathlib import Path

import pypdfium2

from winnow.security.bomb_ingest import breaks_ingest, pdf_of

PAGES = 1_000
WORDS = b"BT /F1 12 Tf 0 1 -1 0 300 100 Tm (a page of plain words) Tj ET"
TURNED = [b"/MediaBox[0 0 612 792]/Rotate 90"] * PAGES
ODD = [
    b"/MediaBox[-9999999 -9999999 -9999000 -9999000]/Rotate 270",
    b"/MediaBox[0 0 612 792]/CropBox[-700 500 900 9000000]/Rotate 180",
    b"/MediaBox[612 792 0 0]/CropBox[0.001 0 612 792]/Rotate -90",
    b"/MediaBox[0 0 612 792]/Rotate 45",
]


def write(path, pages):
    kids = b" ".join(b"%d 0 R" % (number + 6) for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(pages)),
        b"[4 0 R]",
        b"<</Length %d>>stream\n%s\nendstream" % (len(WORDS), WORDS),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        *(b"<</Type/Page/Parent 2 0 R%s/Contents 3 0 R/Resources<</Font<</F1 5 0 R>>>>>>" % page for page in pages),
    ]
    path.write_bytes(pdf_of(objects))


def bomb(path):
    write(path, TURNED)
    write(path.with_name("b of boxes.pdf"), ODD)


def control():
    bomb(Path("bomb"))
    document = pypdfium2.PdfDocument("bomb")
    return len(document) == PAGES and all(page.get_rotation() == 90 for page in document)


def surface():
    return breaks_ingest(bomb, "b.pdf", documents=4, is_reported=False)
