# surface: held
# A pattern of an ignore file that a backtracking matcher tries in billions of ways.
from winnow.security.bomb_ingest import hangs
from winnow.security.watched_folder import add_notes, count_documents, make_folders, watch_once

PATTERN = "*a" * 60 + "b"
NAME = "a" * 120 + ".md"


def control():
    return hangs(
        "from pathspec import GitIgnoreSpec\n"
        f"GitIgnoreSpec.from_lines([{PATTERN!r}], backend='simple').match_file({NAME!r})"
    )


def surface():
    notes, _ = make_folders()
    (notes / ".winnowignore").write_text(PATTERN + "\n")
    (notes / NAME).write_text("A note with a long name.\n")
    add_notes()
    code, _ = watch_once()
    return code != 0 or count_documents() != 3
