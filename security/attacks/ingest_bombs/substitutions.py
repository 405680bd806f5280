# surface: held
# A reST substitution of 5,000 characters, used a thousand times.
import os
from pathlib import Path

from docutils.core import publish_string

from winnow.security.bomb_ingest import breaks_ingest


def bomb(path):
    path.write_text(f".. |a| replace:: {'x' * 5_000}\n\n" + "|a|\n\n" * 1_000)


def control():
    bomb(Path("bomb"))
    with open(os.devnull, "w") as silence:
        page = publish_string(Path("bomb").read_text(), settings_overrides={"warning_stream": silence})
    return len(page) > 100 * Path("bomb").stat().st_size


def surface():
    return breaks_ingest(bomb, "b.rst", documents=2, is_reported=True)
