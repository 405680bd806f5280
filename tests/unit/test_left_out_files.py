"""What an ingest does not read is counted and named, and the content decides about unknown suffixes."""

from __future__ import annotations

from pathlib import Path

import pytest

from winnow.server.commands.ingest.report import print_report
from winnow.server.ingest.file_discovery import Root, find_files, root_of
from winnow.server.ingest.report import IngestReport
from winnow.server.settings.loading import load_settings

pytestmark = pytest.mark.both_users

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


def test_links_and_hidden_files_are_counted_and_named(folder: Path) -> None:
    """Each link to a file or a folder, and each file and folder whose name begins with a dot."""
    listing = find_files(Root(str(folder), ""))
    assert [file.uri for file in listing.files] == ["page.md"]
    assert (listing.links.count, sorted(listing.links.first)) == (2, ["link.md", "linked"])
    assert (listing.hidden.count, sorted(listing.hidden.first)) == (2, [".git/", ".hidden.md"])


@pytest.mark.parametrize("below", ["", "part"], ids=["the folder", "a folder above it"])
def test_a_resolved_path_that_has_become_a_link_is_not_followed(folder: Path, tmp_path: Path, below: str) -> None:
    """Neither its files nor their names are listed, whatever was compared before."""
    private = tmp_path / "private"
    (private / below).mkdir(parents=True, exist_ok=True)
    (private / below / "key.md").write_text("# Key", "utf-8")
    (resolved := tmp_path / "notes").symlink_to(private)
    root = root_of(resolved / below, [])
    assert root == Root(str(resolved / below), "")
    listing = find_files(root)
    assert ([file.uri for file in listing.files], listing.folders) == ([], [])
    assert listing.unreadable == [(".", "Not a directory")]


def test_of_many_links_the_first_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(9):
        (folder / f"again{number}.md").symlink_to(folder / "page.md")
    links = find_files(Root(str(folder), "")).links
    report = IngestReport("p", links=links.count, link_names=tuple(links.first))
    print_report(report, load_settings(store=folder / "store"), as_json=False)
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "not followed" in line)
    assert line.startswith("11 links were not followed: ")
    assert line.endswith(", ...; name what they lead to")


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
