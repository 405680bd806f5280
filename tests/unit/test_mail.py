"""Messages and mailboxes become Markdown: who wrote what when, whatever the encodings."""

from __future__ import annotations

import io
import mailbox
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats import mail as reader
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions


def _read(data: bytes) -> ParsedFile:
    return reader.read(io.BytesIO(data), ReadOptions())


def _message(subject: str = "Grüße", text: str = "Hello\n") -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = subject
    message["From"] = "Jörg Müller <joerg@example.org>"
    message["To"] = "Ada <ada@example.org>"
    message["Date"] = "Mon, 23 Nov 2026 08:30:00 +0100"
    message.set_content(text)
    return message


def test_a_message_has_its_subject_people_date_and_text() -> None:
    """Encoded words are decoded; the sender and the date are facts of the document."""
    parsed = _read(bytes(_message()))
    assert parsed.text == (
        "# Grüße\n\nFrom: Jörg Müller <joerg@example.org>\nTo: Ada <ada@example.org>\n"
        "Date: 2026-11-23 08:30+01:00\n\nHello"
    )
    assert (parsed.title, parsed.facts) == (
        "Grüße",
        {"author": "Jörg Müller", "created": "2026-11-23T08:30:00+01:00"},
    )
    assert [(place.kind, place.number, place.label) for place in parsed.places] == [("message", 1, "Grüße")]


def test_plain_text_is_preferred_and_attachments_are_named() -> None:
    """The HTML alternative is not read twice."""
    message = _message(text="plain words")
    message.add_alternative("<p>html words</p>", subtype="html")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="Zähler.pdf")
    parsed = _read(bytes(message))
    assert ("plain words" in parsed.text, "html words" in parsed.text) == (True, False)
    assert parsed.reading.attachments == ("Zähler.pdf",)


def test_html_is_read_where_there_is_no_plain_text() -> None:
    """Tables and lists of newsletters are kept."""
    message = _message()
    message.clear_content()
    message.set_content("<h2>News</h2><ul><li>one</li></ul>", subtype="html")
    assert _read(bytes(message)).text.endswith("## News\n\n- one")


def test_a_forwarded_message_is_part_of_the_text() -> None:
    """With its own subject and people."""
    message = _message("Outer")
    message.add_attachment(_message("Inner", "inner words"))
    text = _read(bytes(message)).text
    assert "Forwarded message: Inner\nFrom: Jörg Müller" in text
    assert text.endswith("inner words")


def test_a_row_of_dashes_makes_no_heading() -> None:
    """Signatures begin with dashes, quoted mail with equals signs and hash marks."""
    text = _read(bytes(_message(text="Best\n--\nAda\n# no heading\n"))).text
    assert text.endswith("Best\n\n--\nAda\n\\# no heading")


def test_raw_and_wrong_encodings_are_read() -> None:
    """Bytes that are not what their header says become letters where any encoding fits."""
    head = "Subject: Raw ü\nContent-Type: text/plain; charset={}\n\n"
    utf8 = _read(head.format("no-such-charset").encode() + "größer".encode())
    latin = _read(head.format("utf-8").encode("cp1252") + "größer".encode("cp1252"))
    assert (utf8.title, utf8.text[-6:]) == ("Raw ü", "größer")
    assert (latin.title, latin.text[-6:]) == ("Raw ü", "größer")


def test_a_mailbox_has_a_place_for_each_message(tmp_path: Path) -> None:
    """A line that begins with From does not part a message."""
    box = mailbox.mbox(tmp_path / "box.mbox")
    for number in range(3):
        box.add(_message(f"Subject {number}", f"text {number}\nFrom here on, more\n"))
    box.close()
    parsed = _read((tmp_path / "box.mbox").read_bytes())
    assert [(place.number, place.label) for place in parsed.places] == [(n + 1, f"Subject {n}") for n in range(3)]
    assert parsed.text.count("\nFrom here on, more") == 3


def test_a_mailbox_is_read_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out is said."""
    monkeypatch.setattr(reader, "_MOST_MESSAGES", 2)
    data = b"".join(b"From a@b Mon Jan  1 00:00:00 2026\nSubject: s\n\ntext\n\n" for _ in range(4))
    parsed = _read(data)
    assert (len(parsed.places), parsed.reading.notes) == (2, ("only the first 2 messages were read",))


def test_a_message_without_end_of_parts_or_date_is_read() -> None:
    """Truncated multipart messages keep the text that is there."""
    data = (
        b"Subject: s\nDate: yesterday\nContent-Type: multipart/mixed; boundary=x\n\n"
        b"--x\nContent-Type: text/plain\n\nhello\n"
    )
    assert _read(data).text == "# s\n\nDate: yesterday\n\nhello"


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", "does not begin with a header"), (b"just text, no header", "does not begin with a header")],
)
def test_a_file_that_is_no_message_has_a_plain_reason(data: bytes, reason: str) -> None:
    """Any text would otherwise be a message without headers."""
    with pytest.raises(UnreadableFile, match=reason):
        _read(data)


def test_deeply_nested_parts_have_a_plain_reason() -> None:
    """Two thousand levels of parts are more than the parser's recursion bears."""
    data = b"Subject: deep\n" + b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(2000)
    )
    with pytest.raises(UnreadableFile, match="nested too deeply"):
        _read(data + b"\n\ntext")


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """No header, charset or part raises anything else."""
    for start in (b"Subject: ", b"Content-Type: multipart/mixed; boundary=\n\n--\n", b"From \nContent-Type: "):
        try:
            _read(start + data)
        except UnreadableFile:
            continue
