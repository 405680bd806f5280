"""Reads subtitles (SRT, WebVTT): cues become paragraphs of about half a minute, each with the time it begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from winnow.server.models import Reading
from winnow.server.readers.common.markdown_draft import LARGEST_TEXT_BYTES, MarkdownDraft, one_line, plain_text
from winnow.server.readers.decoding import decode
from winnow.server.readers.documents import UnreadableFile, clean_text
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions

_PARAGRAPH_SECONDS = 30
_TIMING = re.compile(
    r"^[ \t]*(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,]\d{1,3}[ \t]*-->[ \t]*(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
)
# Tags of style and of speakers; {\an8} places a cue.
_VOICE = re.compile(r"<v(?:\.[^ >]{0,50})?[ ]+([^>\n]{1,200})>")
_TAG = re.compile(r"</?[A-Za-z0-9.:][^<>\n]{0,300}>|\{\\[^{}\n]{0,100}\}")
_PASSED_OVER = ("NOTE", "STYLE", "REGION", "WEBVTT")
_BLOCK_END = re.compile(r"\n[ \t]*\n+")


@dataclass(frozen=True, slots=True)
class _Cue:
    seconds: int
    text: str


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read subtitles. Raises ``UnreadableFile`` for a file without a single cue."""
    data = file.read(LARGEST_TEXT_BYTES + 1)
    if len(data) > LARGEST_TEXT_BYTES:
        raise UnreadableFile(f"is larger than {LARGEST_TEXT_BYTES >> 20} MiB")
    cues = list(_cues(clean_text(decode(data)).removeprefix("\ufeff")))
    if not cues:
        raise UnreadableFile("has no cues: it is not a file of subtitles")
    draft = MarkdownDraft()
    for number, paragraph in enumerate(_paragraphs(cues), 1):
        draft.begin("time", number, _label(paragraph[0].seconds))
        draft.add(plain_text(" ".join(cue.text for cue in paragraph)))
    return ParsedFile(draft.text, Reading("subtitles"), "", draft.places)


def _cues(text: str) -> Iterator[_Cue]:
    """The cues with words. Text that two successive cues share is kept once: rolling captions repeat it."""
    last: list[str] = []
    for block in _BLOCK_END.split(text):
        lines = block.strip("\n").split("\n")
        at = next((index for index, line in enumerate(lines[:3]) if _TIMING.match(line)), None)
        if at is None or lines[0].startswith(_PASSED_OVER):
            continue
        said = [line for each in lines[at + 1 :] if (line := _words(each))]
        new = [line for line in said if line not in last]
        last = said
        if new:
            yield _Cue(_seconds(lines[at]), " ".join(new))


def _words(line: str) -> str:
    return one_line(_TAG.sub("", _VOICE.sub(r"\1: ", line)))


def _seconds(timing: str) -> int:
    match = _TIMING.match(timing)
    hours, minutes, seconds = (int(part or 0) for part in match.groups()) if match else (0, 0, 0)
    return hours * 3600 + minutes * 60 + seconds


def _paragraphs(cues: list[_Cue]) -> Iterator[list[_Cue]]:
    """Cues in a row that begin within half a minute."""
    held = [cues[0]]
    for cue in cues[1:]:
        if abs(cue.seconds - held[0].seconds) >= _PARAGRAPH_SECONDS:
            yield held
            held = []
        held.append(cue)
    yield held


def _label(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
