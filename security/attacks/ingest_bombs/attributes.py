# surface: held
# An element of 150,000 attributes, each of which is compared with all before it.
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest, hangs


def bomb(path):
    path.write_text(f"<p {' '.join(f'a{n}=1' for n in range(150_000))}>words</p>")


def control():
    bomb(Path("bomb"))
    return hangs("from selectolax.lexbor import LexborHTMLParser; LexborHTMLParser(open('bomb').read())")


def surface():
    return breaks_ingest(bomb, "b.html", documents=2, is_reported=True, seconds=200)
