"""Subtitles become paragraphs of about half a minute, each with the time it begins."""

from __future__ import annotations

import io

import pytest

from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats import subtitles as reader
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions


def _read(text: str) -> ParsedFile:
    return reader.read(io.BytesIO(text.encode()), ReadOptions())


def test_cues_become_paragraphs_with_times() -> None:
    """A paragraph ends before the cue that begins half a minute after its first."""
    cues = "".join(
        f"{n}\n00:{n * 10 // 60:02}:{n * 10 % 60:02},000 --> 00:59:00,000\n<i>word{n}</i>\n\n" for n in range(8)
    )
    parsed = _read(cues.replace("\n", "\r\n"))
    assert parsed.text == "word0 word1 word2\n\nword3 word4 word5\n\nword6 word7"
    assert [(place.kind, place.number, place.label) for place in parsed.places] == [
        ("time", 1, "00:00:00"),
        ("time", 2, "00:00:30"),
        ("time", 3, "00:01:00"),
    ]


def test_speakers_are_named_and_notes_left_out() -> None:
    """WebVTT has hours only where they are needed."""
    text = (
        "WEBVTT - A film\n\nSTYLE\n::cue { color: red }\n\nNOTE a remark\n\n"
        "intro\n01:02.500 --> 01:05.000 align:start\n<v Ada>Hello <00:01:03.000><c.red>there</c>\n\n"
        "100:00:00.000 --> 100:00:01.000\nlate\n"
    )
    parsed = _read(text)
    assert parsed.text == "Ada: Hello there\n\nlate"
    assert [place.label for place in parsed.places] == ["00:01:02", "100:00:00"]


def test_a_line_that_rolling_captions_repeat_is_said_once() -> None:
    """Captions of live speech show each line twice."""
    cues = [("a", ""), ("a", "b"), ("b", "c")]
    text = "".join(
        f"00:00:0{n}.000 --> 00:00:09.000\n{first}\n{second}\n\n" for n, (first, second) in enumerate(cues)
    )
    assert _read(text).text == "a b c"


@pytest.mark.parametrize("text", ["", "1\n2\n3", "WEBVTT\n\nNOTE only\n", "plain --> text"])
def test_a_file_without_cues_has_a_plain_reason(text: str) -> None:
    """Another file with that suffix is not read as subtitles."""
    with pytest.raises(UnreadableFile, match="no cues"):
        _read(text)
