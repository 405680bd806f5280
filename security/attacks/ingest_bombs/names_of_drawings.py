# surface: held
# Bitmap fonts that name signs by themselves: in one file the table of their texts is a bomb, in the other 40 packed
# parts, which may have such names, are. Each has 64 MiB.
import zlib
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest, pdf_of

PARTS, SIZE = 40, 1 << 26
ZEROS = zlib.compress(b"\0" * SIZE, 9)
LETTERS = b"".join(b"/%c" % code for code in range(ord("a"), ord("z") + 1))
WORDS = b"BT /F1 12 Tf 72 700 Td (a page of plain words,) Tj /F2 12 Tf (abc) Tj ET"
PACKED = b"<<%s/Length %d/Filter/FlateDecode>>stream\n%s\nendstream"


def write(path, names, parts):
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R/F2 6 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(WORDS), WORDS),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Type/Font/Subtype/Type3/FontBBox[0 0 1 1]/FontMatrix[1 0 0 1 0 0]/CharProcs<</a 4 0 R>>/FirstChar 1"
        b"/LastChar 3/Widths[1 1 1]/Encoding<</Differences[%s 97%s]>>/ToUnicode 7 0 R>>" % (names, LETTERS),
        PACKED % (b"", len(ZEROS), ZEROS),
        *[PACKED % (b"/Type/ObjStm/N 1/First 4", len(ZEROS), ZEROS)] * parts,
    ]
    path.write_bytes(pdf_of(objects))


def bomb(path):
    write(path, b"1/,/./0", 0)
    write(path.with_name("b of parts.pdf"), b"1/comma/period/zero", PARTS)


def control():
    bomb(Path("bomb"))
    packed = Path("b of parts.pdf").read_bytes().split(b"/FlateDecode>>stream\n")[1:4]
    return sum(len(zlib.decompress(part.split(b"\nendstream")[0])) for part in packed) > 100_000_000


def surface():
    return breaks_ingest(bomb, "b.pdf", documents=4, is_reported=False)
