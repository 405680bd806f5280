"""What an ingest does not read is counted, and the content decides about files without a known suffix."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.ingest.file_discovery import Root, find_files

MANUAL = "APT(8)                        APT                        APT(8)\n\nNAME\n       apt - a tool\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text("x", "utf-8")
    (folder / ".hidden.md").write_text("# Hidden", "utf-8")
    (folder / "page.md").write_text("# Page", "utf-8")
    (folder / "link.md").symlink_to(folder / "page.md")
    (folder / "linked").symlink_to(tmp_path)
    return folder


def test_links_and_hidden_files_are_counted(folder: Path) -> None:
    """Each link to a file or a folder, and each file and folder whose name begins with a dot."""
    listing = find_files(Root(str(folder), ""))
    assert ([file.uri for file in listing.files], listing.links, listing.hidden) == (["page.md"], 2, 2)


@pytest.mark.parametrize(
    ("name", "content", "is_read"),
    [
        ("apt.8", MANUAL.encode(), True),
        ("perlfunc.1p", MANUAL.encode(), True),
        ("COPYRIGHT-NOTES", b"Copyright of a few people.\n", True),
        ("program", b"\x7fELF\x02\x01\x01" + bytes(200), False),
        ("libz.so.1", b"\x7fELF\x02\x01\x01" + bytes(200), False),
        ("apt.8", b"\x1f\x8b\x08" + bytes(200), False),
        ("id_ed25519", b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n", False),
        ("empty", b"", False),
        ("table.zzz", b"a text of another kind\n", False),
    ],
)
def test_the_content_decides_about_names_without_a_known_suffix(
    name: str, content: bytes, is_read: bool, folder: Path
) -> None:
    """Plain texts and pages of manuals are documents, programs, archives and keys are not; the rest is counted."""
    (folder / name).write_bytes(content)
    listing = find_files(Root(str(folder), ""))
    assert (name in [file.uri for file in listing.files], listing.skipped.total()) == (
        is_read,
        0 if is_read else 1,
    )
