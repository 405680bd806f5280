# surface: held
# Bitmap fonts that name signs by themselves: in one file the table of their texts is a bomb, in the other 40 packed
# parts, which may have such names, are. Each has 64 MiB.
import zlib
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest

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
    body, starts = b"%PDF-1.5\n", []
    for number, entries in enumerate(objects, 1):
        starts.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, entries)
    rows = b"".join(b"%010d 00000 n \n" % start for start in starts)
    trailer = b"trailer\n<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF\n" % (len(starts) + 1, len(body))
    path.write_bytes(body + b"xref\n0 %d\n0000000000 65535 f \n%s%s" % (len(starts) + 1, rows, trailer))


def bomb(path):
    write(path, b"1/,/./0", 0)
    write(path.with_name("b of parts.pdf"), b"1/comma/period/zero", PARTS)


def control():
    bomb(Path("bomb"))
    packed = Path("b of parts.pdf").read_bytes().split(b"/FlateDecode>>stream\n")[1:4]
    return sum(len(zlib.decompress(part.split(b"\nendstream")[0])) for part in packed) > 100_000_000


def surface():
    return breaks_ingest(bomb, "b.pdf", documents=4, is_reported=False)
