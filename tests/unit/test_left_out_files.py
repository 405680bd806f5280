"""What an ingest does not read is counted and named, and the content decides about unknown suffixes."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import pytest

from winnow.server.commands.ingest.report import print_report
from winnow.server.errors import WinnowError
from winnow.server.ingest.file_discovery import Root, find_files, resolve_roots, root_of
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
    assert listing.unreadable == [(".", f"{resolved / below} has become a link, or a folder above it has")]


@pytest.mark.parametrize("below", ["", "turns"])
def test_a_link_that_leads_back_to_itself_is_a_link_as_others_are(tmp_path: Path, below: str) -> None:
    (turns := tmp_path / "turns").symlink_to("turns")
    listing = find_files(Root(str(tmp_path if below else turns), below))
    assert (listing.files, listing.is_emptied) == ([], False)
    assert [name for name, _ in listing.unreadable] == ([] if below else ["."])
    with pytest.raises(WinnowError, match="turns does not exist"):
        resolve_roots([turns], [])


def test_nothing_is_learnt_of_files_behind_a_link_that_replaces_a_folder_while_it_is_listed(
    folder: Path, tmp_path: Path
) -> None:
    """The private folder has files of the same names; their sizes and their absence stay unknown."""
    part, was, private = folder / "part", folder / ".was", tmp_path / "private"
    part.mkdir()
    private.mkdir()
    for number in range(60):
        (part / f"{number:02}.md").write_text("x", "utf-8")
        if number % 2:
            (private / f"{number:02}.md").write_text("private", "utf-8")
    is_over = Event()

    def swap() -> None:
        while not is_over.wait(0.0005):
            part.rename(was)
            part.symlink_to(private)
            is_over.wait(0.0005)
            part.unlink()
            was.rename(part)

    swapping = Thread(target=swap)
    swapping.start()
    try:
        listings = [find_files(Root(str(folder), "")) for _ in range(300)]
    finally:
        is_over.set()
        swapping.join()
    found = {(file.uri, file.size) for each in listings for file in each.files if file.uri.startswith("part/")}
    assert found == {(f"part/{number:02}.md", 1) for number in range(60)}
    assert {name for each in listings for name, _ in each.unreadable} <= {"part"}


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
