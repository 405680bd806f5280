"""Ignore files leave out what git leaves out, in linear time, and fail closed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from winnow.server.ingest.file_discovery import STORE_MARK, Root, find_files
from winnow.server.ingest.selection.ignore_files import FileRules, PatternList, check_patterns
from winnow.server.storage.files.store_folder import CATALOGUE

NAMES = (
    "a.md",
    "b.md",
    "keep.md",
    "docs/a.md",
    "docs/deep/a.md",
    "docs/deep/keep.md",
    "build/a.md",
    "x/build/b.md",
)
LINES = (
    *(
        "*.md",
        "!keep.md",
        "docs/",
        "!docs/",
        "docs/*",
        "!docs/deep/",
        "/build",
        "build/",
        "**/a.md",
        "docs/**/a.md",
    ),
    *(
        "a.*",
        "# a.md",
        "",
        "deep",
        "!deep",
        "/docs/deep/*.md",
        "x/**",
        "[ab].md",
        "?.md",
        "*/",
        "!*/",
        "*",
        "a.md ",
    ),
)


def make(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder.resolve()


def found(source: Path, below: str = "", rules: FileRules = FileRules()) -> list[str]:  # noqa: B008
    return [file.uri for file in find_files(Root(str(source), below), rules).files]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@settings(max_examples=60, deadline=None)
@example(top=["*.md"], deep=["!deep"])
@example(top=["docs/**", "!docs/a.md"], deep=[])
@example(top=["*", "!*/", "!keep.md"], deep=[])
@given(top=st.lists(st.sampled_from(LINES), max_size=5), deep=st.lists(st.sampled_from(LINES), max_size=3))
def test_the_files_that_are_listed_are_those_that_git_does_not_ignore(
    tmp_path_factory: pytest.TempPathFactory, top: list[str], deep: list[str]
) -> None:
    folder = make(tmp_path_factory.mktemp("repository"), dict.fromkeys(NAMES, "words"))
    make(folder, {".gitignore": "\n".join(top), "docs/.gitignore": "\n".join(deep)})
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", "init", "-q", folder], check=True, env=environment)
    git = ["git", "-C", folder, "ls-files", "--others", "--exclude-standard"]
    shown = subprocess.run(git, check=True, env=environment, capture_output=True, text=True).stdout.split("\n")
    assert found(folder) == sorted(name for name in shown if name.endswith(".md"))


def test_winnowignore_outranks_gitignore_and_deeper_files_outrank_higher_ones(tmp_path: Path) -> None:
    folder = make(
        tmp_path,
        {
            **dict.fromkeys(NAMES, "words"),
            ".gitignore": "*.md",
            ".winnowignore": "!a.md\n!docs/**",
            "docs/deep/.winnowignore": "keep.md",
        },
    )
    assert found(folder) == ["a.md", "build/a.md", "docs/a.md", "docs/deep/a.md"]
    assert found(folder, rules=FileRules(ignore_files=False)) == sorted(NAMES)


def test_rules_above_a_part_and_above_the_source_in_its_repository_count(tmp_path: Path) -> None:
    make(tmp_path, {**{f"repo/{name}": "words" for name in NAMES}, "repo/.gitignore": "deep/\n/docs/a.md\n"})
    source = (tmp_path / "repo").resolve()
    assert (found(source, "docs"), found(source, "docs/deep"), found(source, "docs/a.md")) == ([], [], [])
    assert found(source / "docs") == ["a.md", "deep/a.md", "deep/keep.md"]
    (source / ".git").mkdir()
    assert found(source / "docs") == []


def test_globs_of_a_source_choose_files(tmp_path: Path) -> None:
    folder = make(tmp_path, dict.fromkeys(NAMES, "words"))
    assert found(folder, rules=FileRules(include=("docs/",), exclude=("keep.md",))) == [
        "docs/a.md",
        "docs/deep/a.md",
    ]
    assert find_files(Root(str(folder), ""), FileRules(exclude=("docs/", "b.md"))).ignored == 3
    assert check_patterns(["*.md", "!", "docs/", "x" * 2_000]) == ["!", "x" * 2_000]


def test_patterns_that_make_other_matchers_backtrack_take_linear_time() -> None:
    patterns = PatternList(["*a" * 400 + "b", "?" * 900, "**/" * 300 + "x", "[[:alpha:]-", "("])
    assert [patterns.decide("a" * 4_000), patterns.decide("/".join("a" * 2_000)), patterns.decide("(")] == [
        None,
        None,
        True,
    ]


def test_thousands_of_patterns_count_from_the_last_to_the_first() -> None:
    patterns = PatternList([*(f"folder{number}/**/file{number}.*" for number in range(3_000)), "!folder7/x/"])
    assert patterns.decide("folder2999/deep/file2999.md") is True
    assert (patterns.decide("folder7/x/"), patterns.decide("folder7/x/file7.md")) == (False, True)
    assert patterns.decide("folder7/y/file8.md") is None


@pytest.mark.parametrize("kind", ["link", "pipe", "large", "lines"])
def test_an_ignore_file_that_cannot_be_read_hides_its_folder(tmp_path: Path, kind: str) -> None:
    folder = make(tmp_path, dict.fromkeys(NAMES, "words"))
    path = folder / "docs" / ".winnowignore"
    match kind:
        case "link":
            path.symlink_to(folder / "a.md")
        case "pipe":
            os.mkfifo(path)
        case "large":
            path.write_bytes(b"#" * (1 << 20) + b"#")
        case "lines":
            path.write_text("a.md\n" * 10_001)
    listing = find_files(Root(str(folder), ""))
    assert [name for name, _ in listing.unreadable] == ["docs"]
    assert [listing.hides(name) for name in ("docs/a.md", "docs/deep/a.md", "a.md")] == [True, True, False]
    assert [file.uri for file in listing.files] == ["a.md", "b.md", "build/a.md", "keep.md", "x/build/b.md"]
    assert [
        find_files(Root(str(folder), "docs/deep/a.md")).hides("docs/deep/a.md"),
        found(folder, "docs/a.md"),
    ] == [
        True,
        [],
    ]


def test_a_store_in_a_folder_is_not_read(tmp_path: Path) -> None:
    folder = make(
        tmp_path, {"a.md": "words", f"index/{STORE_MARK}": "", "index/engine.log": "log", "index/b/c.md": ""}
    )
    assert (found(folder), STORE_MARK) == (["a.md"], CATALOGUE)


def test_a_source_that_cannot_be_listed_hides_all_its_files(tmp_path: Path) -> None:
    listing = find_files(Root(str(tmp_path / "gone"), "docs"))
    assert ([listing.hides(name) for name in ("docs/a.md", "b")], listing.files) == ([True, True], [])


def test_a_part_is_listed_where_no_link_leads_to_it(tmp_path: Path) -> None:
    folder = make(tmp_path, {"source/docs/a.md": "words", "other/a.md": "secret"})
    (folder / "source" / "link").symlink_to(folder / "other")
    assert found(folder / "source", "link") == found(folder / "source", "link/a.md") == []
    assert found(folder / "source", "gone.md") == []
    assert found(folder / "source") == ["docs/a.md"]
