# surface: held
# A PDF has taken control of the child process that draws it. The child answers with data made to break the image
# decoder of the client: another format, missing or endless rows, chunks of its own, wrong sizes; and invalid marks.
import struct
import zlib

from winnow.server.ingest.children.answers import check_page
from winnow.server.readers.frames import ParserProtocolError

PALETTE = bytes(768)


def png(width=2, height=2, rows=b"\0\1\1\0\1\1", form=b"\x08\x03\0\0\0", more=()):
    chunks = [(b"IHDR", struct.pack(">II", width, height) + form), (b"PLTE", PALETTE), *more]
    chunks += [(b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    parts = [struct.pack(">I", len(b)) + n + b + struct.pack(">I", zlib.crc32(n + b)) for n, b in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


LIES = (
    b"GIF89a" + bytes(100), b"<svg onload='x'/>", png()[:-3], png() + b"<script>", png(rows=bytes(10**8)),
    png(rows=b"\0"), png(width=2**31 - 1), png(height=2**31 - 1), png(form=b"\x10\x06\0\0\x01"),
    png(more=[(b"iCCP", b"x\0\0" + zlib.compress(bytes(10**6)))]), png(more=[(b"tEXt", b"a\0b")]),
    png(rows=b"\x04\1\1\x04\1\1"), png(rows=bytes(range(256)) * 2_000, width=1_000, height=500),
)  # fmt: skip
MARKS = ({}, {"marks": "exact"}, {"marks": ["<b>"]}, {"marks": ["exact"] * 2}, {"marks": [1]}, {"marks": [["exact"]]})


def passes(facts, data):
    try:
        check_page(facts, data, 1)
    except ParserProtocolError:
        return False
    return True


def control():
    return all(isinstance(lie, bytes) for lie in LIES) and b"<script>" in LIES[3]


def surface():
    if not passes({"marks": ["exact"]}, png()):
        raise RuntimeError("an honest picture is refused")
    return any(passes({"marks": ["exact"]}, lie) for lie in LIES) or any(passes(facts, png()) for facts in MARKS)
