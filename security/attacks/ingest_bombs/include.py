# surface: held
# A reST page that includes a file of the host.
from pathlib import Path

from docutils.core import publish_string

from winnow.security.bomb_ingest import STORE, breaks_ingest
from winnow.security.surface import winnow


def bomb(path):
    path.write_text("Title\n=====\n\n.. include:: /etc/passwd\n")


def control():
    bomb(Path("bomb"))
    return "root:" in publish_string(Path("bomb").read_text()).decode()


def surface():
    is_broken = breaks_ingest(bomb, "b.rst", documents=3, is_reported=False)
    found = winnow("search", "root", *STORE, "--json")
    return is_broken or b"root:" in found.stdout
