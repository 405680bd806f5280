# surface: held
# After its ingest, a file, or the folder that it is in, becomes a link to a private file of the same size and time.
import os
from pathlib import Path

from winnow.security.shown_pages import check_that_pages_are_shown, ingest, is_shown, show, write_pdf


def prepare():
    write_pdf(Path("documents/paper.pdf"))
    write_pdf(Path("private/paper.pdf"))
    status = os.stat("documents/paper.pdf")
    os.utime("private/paper.pdf", ns=(status.st_atime_ns, status.st_mtime_ns))


def replace(name):
    Path(name).rename(f"{name}.before")
    os.symlink(Path("private", Path(name).name if name.endswith(".pdf") else "").absolute(), name)


def control():
    prepare()
    replace("documents/paper.pdf")
    return Path("documents/paper.pdf").read_bytes() == Path("private/paper.pdf").read_bytes()


def surface():
    prepare()
    ingest()
    check_that_pages_are_shown()
    for name in ("documents/paper.pdf", "documents"):
        replace(name)
        if "error" not in show("paper.pdf", "--page", "1") or is_shown():
            return True
        Path(name).unlink()
        Path(f"{name}.before").rename(name)
    return False
