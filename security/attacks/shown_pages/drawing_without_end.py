# surface: held | seconds: 300
# A page draws lines of tiny dashes without end: the server that shows it waits for it, and so do all who ask.
import time
from pathlib import Path

from winnow.security.shown_pages import is_shown, write_pdf
from winnow.server.ingest.children.page_drawing import PageDrawing
from winnow.server.readers.bounded_files import open_file
from winnow.server.readers.documents import UnreadableFile

# Each line has tens of thousands of dashes, and there are twenty thousand of them.
LINES = b"[0.01 0.01] 0 d 0.01 w\n" + b"0 0 m 595 842 l 0 842 l 595 0 l S\n" * 20_000
MOST_SECONDS = 40


def draw():
    write_pdf(Path("documents/page.pdf"), more=LINES)
    path = Path("documents/page.pdf").absolute()
    drawing = PageDrawing()
    began = time.monotonic()
    try:
        with open_file(path) as file:
            drawing.draw(file, path, 1, ())
        return time.monotonic() - began, ""
    except UnreadableFile as error:
        return time.monotonic() - began, str(error)
    finally:
        drawing.close()


def control():
    from winnow.security.bomb_ingest import hangs

    write_pdf(Path("documents/page.pdf"), more=LINES)
    return hangs("import pypdfium2; pypdfium2.PdfDocument('documents/page.pdf')[0].render(scale=2)")


def surface():
    seconds, reason = draw()
    if "walls" in reason:
        raise RuntimeError(reason)
    return seconds > MOST_SECONDS or is_shown()
