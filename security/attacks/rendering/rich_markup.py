# surface: held
# Markup in a name colours the screen, or ends the command with an error.
import io

from rich.console import Console
from rich.tree import Tree
from winnow.server.commands.graph import _build_tree
from winnow.server.commands.graph.portrait import Portrait
from winnow.server.commands.terminal.screen import Screen
from winnow.server.retrieval.graph.records import Node

NAME = "[red]a[/red][/bold]\x1b[2K\x9b31m\u202e"


def _printed(console_of, shown):
    stream = io.StringIO()
    console_of(file=stream, width=200, color_system=None).print(shown)
    return stream.getvalue()


def control():
    return "[red]" not in _printed(Console, Tree("[red]a[/red]"))


def surface():
    node = Node("n", "Entity", "identifier", NAME)
    said = _printed(Screen, _build_tree(Portrait(node, (), (node,))))
    return "[red]a[/red]" not in said or any(one in said for one in "\x1b\x9b\u202e")
