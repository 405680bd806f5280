# surface: held
# A citation names a file that was not ingested: beside the folder, above it, by a link, or as an address.
import os
from pathlib import Path

from winnow.security.shown_pages import check_that_pages_are_shown, ingest, is_shown, show, write_pdf

NAMES = (
    "../secret.pdf", "documents/../secret.pdf", "./paper.pdf/../../secret.pdf", "secret.pdf", "paper.pdf/../secret.pdf",
    "link.pdf", "file:///etc/passwd", "paper.pdf\0.pdf", "%2e%2e/secret.pdf",
)  # fmt: skip


def prepare():
    write_pdf(Path("documents/paper.pdf"))
    write_pdf(Path("secret.pdf"))


def control():
    prepare()
    return any(Path("documents", name).resolve() == Path("secret.pdf").resolve() for name in NAMES[:2])


def surface():
    prepare()
    ingest()
    os.symlink("../secret.pdf", "documents/link.pdf")
    check_that_pages_are_shown()
    for name in (*NAMES, str(Path("secret.pdf").absolute())):
        if "\0" not in name and ("error" not in show(name, "--page", "1") or is_shown()):
            return True
    return False
