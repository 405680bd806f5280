# surface: held
# A manual page of a kilobyte whose macros call each other: ten to the power of twelve lines of text.
from itertools import islice
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest

HEIGHT, WIDTH = 12, 10


def bomb(path):
    levels = [".de x0\nwords\n..\n"]
    for level in range(1, HEIGHT + 1):
        levels.append(f".de x{level}\n" + f".x{level - 1}\n" * WIDTH + "..\n")
    path.write_text(".TH BOMB 1\n" + "".join(levels) + f".x{HEIGHT}\n")


def lines(macros, name):
    """What a reader without bounds prints of a macro."""
    for line in macros[name]:
        if line.startswith("."):
            yield from lines(macros, line[1:])
        else:
            yield line


def control():
    bomb(Path("bomb"))
    parts = Path("bomb").read_text().split(".de ")[1:]
    macros = {part.split("\n")[0]: part.split("\n..")[0].split("\n")[1:] for part in parts}
    return sum(1 for _ in islice(lines(macros, f"x{HEIGHT}"), 100_000)) == 100_000


def surface():
    return breaks_ingest(bomb, "b.1", documents=2, is_reported=True)
