# surface: held
# Names within an archive act on the terminal, or forge lines of the answer, when it is refused or imported.
from winnow.security.project_archives import PAGE, import_archive, write_archive

HOSTILE = "a\x1b[2J\x9b31m\x1b]0;t\x07\u202e\nown: 9,999 documents imported"


def control():
    return "\x1b[2J" in f"{HOSTILE} is no path below a folder"


def surface():
    said = ""
    for changes in (
        {"documents": [{**PAGE, "uri": f"/{HOSTILE}"}]},
        {"documents": [{**PAGE, "title": HOSTILE, "uri": f"b{HOSTILE}.md"}]},
        {"entries": {HOSTILE: b""}},
        {"manifest": {"project": HOSTILE}},
        {"manifest": {"version": HOSTILE}},
        {"project": {HOSTILE: 1}},
        {"project": {"sources": [{"id": HOSTILE, "paths": [HOSTILE]}]}, "manifest": {"project": "second"}},
    ):
        write_archive(**changes)
        said += import_archive()
    forged = [line for line in said.splitlines() if line.startswith("own: 9,999")]
    return bool(forged) or any(sign in said for sign in "\x1b\x9b\x07\u202e")
