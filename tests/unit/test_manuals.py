"""Manual pages in roff as Markdown: what ``man`` shows of them, and what hostile ones may cost."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from winnow.server.readers.documents import RawDocument, UnreadableFile
from winnow.server.readers.manuals.characters import character
from winnow.server.readers.manuals.manual import is_manual, manual_to_markdown
from winnow.server.readers.reading import read

pytestmark = pytest.mark.both_users

MAN = r""".\" A comment
'\" t
.TH COPY 1 "2024" "tools 1.0" "User Commands"
.SH NAME
copy \- copies \fIfiles\fR
.SH DESCRIPTION
.B copy
copies each
.IR file ,
and says \(lqdone\(rq \(em if
it can.
.PP
A second paragraph\c
, which goes on.
.TP
.BR \-a ", " \-\-all
Copy all of them.
.IP
With hidden ones.
.TP
\fB\-n\fR \fINUM\fR
Copy so many:
.RS
.IP \(bu 2
at least one
.IP 2. 3
at most ten
.RE
.SS "Two words"
.EX
if true; then
    copy a\-b
fi
.EE
.TS
tab(;) box;
l l.
Path;Meaning
_
/etc;T{
where settings
.B are
T}
\&.bashrc;.a file
.TE
"""

MDOC = r""".Dd May 1, 2024
.Dt SEND 8
.Os
.Sh NAME
.Nm send
.Nd send messages
.Sh SYNOPSIS
.Nm
.Op Fl av
.Op Fl f Ar file
.Ar host Ns : Ns Ar port
.Sh DESCRIPTION
The
.Nm
utility reads
.Pa /etc/send.conf ,
see
.Xr send.conf 5 .
.Bl -tag -width Ds
.It Fl f Ar file , Fl -file Ns = Ns Ar file
Read
.Dq a file .
.It Xo
.Fl x
.Ar y
.Xc
Several lines.
.El
.Bl -enum
.It
One.
.It
Two.
.El
.Bl -column a b
.It Sy Name Ta Sy Value
.It one Ta 1
.El
.Bd -literal
a  b
.Ed
"""


def markdown(*lines: str) -> str:
    return manual_to_markdown(".TH X 1\n" + "\n".join(lines))[1].removeprefix("# X(1)\n\n")


def test_a_page_of_man_is_what_its_reader_sees() -> None:
    assert manual_to_markdown(MAN) == (
        "COPY(1)",
        "# COPY(1)\n\n## NAME\n\ncopy - copies files\n\n## DESCRIPTION\n\n"
        "copy copies each file, and says “done” — if it can.\n\nA second paragraph, which goes on.\n\n"
        "- -a, --all\n  Copy all of them.\n\n  With hidden ones.\n\n"
        "- -n NUM\n  Copy so many:\n\n  - at least one\n\n  2. at most ten\n\n"
        "### Two words\n\n```\nif true; then\n    copy a-b\nfi\n```\n\n"
        "| Path | Meaning |\n| --- | --- |\n| /etc | where settings are |\n| .bashrc | .a file |",
    )


def test_a_page_of_mdoc_is_what_its_reader_sees() -> None:
    assert manual_to_markdown(MDOC) == (
        "SEND(8)",
        "# SEND(8)\n\n## NAME\n\nsend — send messages\n\n## SYNOPSIS\n\nsend [-av] [-f file] host:port\n\n"
        "## DESCRIPTION\n\nThe send utility reads /etc/send.conf, see send.conf(5).\n\n"
        "- -f file, --file=file\n  Read “a file”.\n\n- -x y\n  Several lines.\n\n"
        "1. One.\n\n2. Two.\n\n| Name | Value |\n| --- | --- |\n| one | 1 |\n\n```\na  b\n```",
    )


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ((r".ds X in\-put", r"the \*X and \*[X]"), "the in-put and in-put"),
        ((".nr n 3", r".nr n +2", r"\nn"), "5"),
        ((".de QQ", r"\\(lq\\$1\\(rq\\$2", "..", '.QQ "two words" .'), "“two words”."),
        ((".ie n shown", ".el hidden"), "shown"),
        ((r".if t \{\ ".rstrip(), "hidden", r".if n \{ hidden \}", r".\}", "shown"), "shown"),
        ((r".if '\*(.T'utf8' shown",), "shown"),
        ((".if !d nothing shown",), "shown"),
        ((".ig", "hidden", "..", "shown"), "shown"),
        (("one\\", " two"), "one two"),
        ((r"a\h'-2'b\h'3n'c\v'1'd\s+2e\s0\f[BI]f\*[none]g",), "ab cdefg"),
        ((r"\[u00E9]\['e]\('e\[e aa]\[rs]\e",), "éééé\\\\"),
        ((".tr *-", "a*b"), "a-b"),
        ((".UR http://a.example/", "the page", ".UE ."), "the page ⟨http://a.example/⟩."),
        ((".unknown words", "text"), "text"),
        (("# not a heading",), "\\# not a heading"),
        ((".nf", "```", ".fi"), "````\n```\n````"),
        ((".so man1/other.1",), "See man1/other.1."),
    ],
)
def test_a_request_or_an_escape_prints_what_roff_prints(lines: tuple[str, ...], text: str) -> None:
    assert markdown(*lines) == text


def test_special_characters_are_known_by_name_code_and_composition() -> None:
    assert [character(name) for name in ("em", "u2014", "u0065_0301", "a ho", "char65", "uD800", "nonsense")] == [
        "—", "—", "é", "ą", "A", "", ""
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.1", MAN, "manual"),
        ("a.3pm", MAN, "manual"),
        ("a.man", MDOC, "manual"),
        ("b.1", ".so man1/a.1\n", "manual"),
        ("c.1", "COPY(1)  already formatted\n", "text"),
        ("c.txt", MAN, "text"),
        ("d.2", ".gitignore and .TH are words\n", "text"),
    ],
)
def test_name_and_content_together_make_a_manual_page(tmp_path: Path, name: str, text: str, kind: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    (raw,) = read(tmp_path / name, name)
    assert isinstance(raw, RawDocument)
    assert raw.type == kind


def test_a_preamble_of_definitions_does_not_hide_the_page() -> None:
    assert is_manual(".de Sp\n.if t .sp\n..\n" * 500 + ".TH X 3\n")


@pytest.mark.parametrize(
    "text",
    [
        ".de x\n.x\n..\n.x\n",
        ".de x\n.y\n.y\n..\n.de y\n.x\n.x\n..\n.x\n",
        ".ds a \\\\*[a]\\\\*[a]\n\\*[a]\n",
        ".ds a aaaaaaaaaaaaaaaaaaaa\n" + ".as a \\*a\n" * 60 + "\\*a\n",
        ".de x\nwords and words and words\n..\n" + "".join(
            f".de x{n + 1}\n" + f".x{n or ''}\n" * 10 + "..\n" for n in range(12)
        ) + ".x12\n",
        ".if " + "(" * 100_000 + "\n",
        ".nr a " + "-" * 400 + "1\n",
        ".als a b\n.als b a\n.a\n.rn a b\n.de a\n.b\n..\n.a\n",
    ],
    ids=["itself", "each other", "string of itself", "doubled string", "tower", "brackets", "signs", "aliases"],
)  # fmt: skip
def test_a_page_that_grows_without_end_is_refused_in_time(text: str) -> None:
    began = time.monotonic()
    with pytest.raises(UnreadableFile):
        manual_to_markdown(f".TH X 1\n{text}")
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    "text",
    [
        "\\", "\\*", "\\n[", "\\[", "\\(", "\\h'", "\\w'", ".if", ".ie", ".el", ".de", ".ds", ".nr", ".tr", ".so",
        ".TS", ".IP", ".TP", ".SH", ".RE", ".UE", ".\\}", ".if \\{", ".TS\nT{", "\\N'999999999999'", ".nr a 1/0",
        ".rn a b", ".return", ".shift", ".ex\nx", "\\$1", "\\n(.$", ".TQ\nx", ".TQ\n.TQ",
        ".Dd x\n.El\n.It\n.Ed\n.Fc\n.Re\n.Ta\n.Xc\n.Oc\n.Nm\n.Fl",
        ".Xr\n.Fn\n.Lb\n.Ex\n.Rv\n.Bl -column\n.Ta\n.It Ta",
        ".RS\n" * 5000 + ".IP 1. 2\n" * 50, "\\(" * 50_000, "\"" * 100_000,
    ],
)  # fmt: skip
def test_what_is_left_open_ends_with_the_page(text: str) -> None:
    for package in (".TH X 1", ".Dd May\n.Dt X 1", ""):
        manual_to_markdown(f"{package}\n{text}\n")
