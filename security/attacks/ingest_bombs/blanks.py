# surface: held
# 200,000 blanks: a pattern for paragraphs scans them once from each position.
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest, hangs


def bomb(path):
    path.write_text(" " * 200_000)


def control():
    bomb(Path("bomb"))
    return hangs("import re; list(re.finditer(r'[^\\n]*\\S[^\\n]*', open('bomb').read()))", "-I")


def surface():
    return breaks_ingest(bomb, "b.txt", documents=3, is_reported=False)
