# surface: held
# The reader puts the place of its file on this machine into the text, from the request.
from pathlib import Path

from winnow.security.reader_attack import behind_walls
from winnow.server.readers.formats.format_table import Format
from winnow.server.readers.formats.parsed_file import ReadOptions
from winnow.server.readers.failures import ChildFailed
from winnow.server.ingest.children.parser import ParserProcess

CODE = "found = request.decode()"


class Recorder:
    """In place of children: it keeps the request that an ingest makes."""

    request = {}

    def ask(self, request, seconds, document):
        self.request = request
        raise ChildFailed("recorded")


def control():
    children = Recorder()
    try:
        ParserProcess(ReadOptions())._ask_reader(children, "read", "attack", Path("0.attack"), None, 1.0)
    except ChildFailed:
        pass
    return str(Path.cwd()) in str(children.request)


def surface():
    (told,) = behind_walls(CODE)
    if "reader" not in told:
        raise RuntimeError(f"the file did not run: {told}")
    return str(Path.cwd()) in told
