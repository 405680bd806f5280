# surface: held
# Wrong fields and values ask for those that exist, among them those of documents outside the scope.
from pathlib import Path

from winnow.security.corpus_store import WORD, ingest_pages, names_hidden


def control():
    ingest_pages()
    fields = {line.split(":")[0] for file in Path("documents").rglob("*.md") for line in file.open() if ":" in line}
    return any(WORD in field for field in fields)


def surface():
    return names_hidden(
        [
            ("documents", "--where", "hiddnfield=x"),
            ("documents", "--where", "vendor=hiddnvendor"),
            ("documents", "--where", "stage=hiddnvalue"),
            ("documents", "--group-by", "hiddnfield"),
        ]
    )
