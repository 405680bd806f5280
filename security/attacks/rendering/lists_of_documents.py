# surface: held
# Matches, keys, titles, fields and paths of documents write to the terminal, or add rows and cursors to a list.
from pathlib import Path

from winnow.security.surface import winnow

ESCAPES = "\x1b[2J\x1b]0;t\x07\x9b31m\u202e\u200b"
FORGED = "next_cursor: 9.9.9"
PAGE = (
    '---\ntitle: "T\\e[31m\\n{forged}\\u2028{forged}"\nowner: "o\\x9b31m\\n{forged}"\n"st\\u202eage\\n": beta\n---\n\n'
    "# Heading {escapes}\n\nThe lantern {escapes}\u2028{forged}\n{forged}\n"
)
CALLS = (
    ("scan", "lantern"),
    ("scan", "(?s)lantern.{1,200}", "--group-by", "match"),
    ("scan", "lantern", "--group-by", "section"),
    ("scan", "lantern", "--group-by", "file"),
    ("scan", "lantern", "--path", "zz"),
    ("documents",),
    ("documents", "--group-by", "owner"),
    ("documents", "--group-by", "nothing"),
    ("documents", "--where", "owner=zz"),
    ("read", "b.md"),
    ("read", "zz"),
)


def _harms(said):
    lines = said.splitlines()
    return any(part in said for part in "\x1b\x07\x9b\u202e\u200b\u2028\r") or any(
        line.startswith(FORGED) for line in lines
    )


def control():
    page = PAGE.format(escapes=ESCAPES, forged=FORGED)
    return _harms(page) and any(line.startswith(FORGED) for line in f"T\n{FORGED}".splitlines())


def surface():
    Path("documents").mkdir()
    for name in (f"a\x1b[2Jb\n{FORGED}\r.md", "b.md"):
        Path("documents", name).write_text(PAGE.format(escapes=ESCAPES, forged=FORGED), "utf-8")
    ingested = winnow("ingest", "documents", "--store", "store")
    assert ingested.returncode == 0, ingested.stderr
    said = []
    for command, *options in CALLS:
        for form in ((), ("--json",)):
            done = winnow(command, "--store", "store", *options, *form)
            said.append((done.stdout + done.stderr).decode("utf-8", "surrogateescape"))
    assert "lantern" in said[0], said[0]
    return any(map(_harms, said))
