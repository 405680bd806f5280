"""The command ``winnow``: the table of its commands, each a module in ``server.commands``.

A command's module is imported when it is called, so that ``winnow serve`` answers its client before anything
heavy is loaded.
"""

from __future__ import annotations

import difflib
import errno
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

import typer

# command -> (module in winnow.server.commands, one line of help); the order is the order of `winnow --help`
COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "demo": ("demo", "index this Python's documentation and answer from it over MCP"),
        "setup": ("setup", "set up Claude, VS Code, Cursor and other clients on this machine"),
        "ingest": ("ingest", "put files and collections into the index"),
        "zotero": ("zotero", "list libraries of Zotero, and put them into the index"),
        "watch": ("watching.watch", "keep the index up to date while files change"),
        "sources": ("watching.sources", "add, list and remove the folders that are watched"),
        "project": ("projects.project", "create, show, change, rename and delete projects"),
        "claims": ("claims.notebooks", "list, show, check, export and back up the claims that agents wrote"),
        "job": ("jobs", "list, show and cancel the ingests that agents asked for"),
        "reindex": ("reindex", "embed everything anew, with another model or the same"),
        "search": ("search", "search from the shell"),
        "why": ("corpus.why", "explain a ranking, and why a document did not come"),
        "scan": ("corpus.scan", "list every match of a pattern or a quoted sentence, or count them"),
        "documents": ("corpus.documents", "list documents, or count them by a field"),
        "read": ("corpus.read", "read a document"),
        "quote": ("quote", "quote what answers a question"),
        "open": ("corpus.open_page", "show the page that a citation is about, with the quote marked"),
        "cite": ("corpus.cite", "cite passages, works and documents of a bibliography"),
        "exec": ("exec", "run a retrieval script in the sandbox"),
        "serve": ("serve", "serve MCP clients on stdio or HTTP"),
        "console": ("console", "show a store in the browser: searches, documents, scripts, claims"),
        "key": ("serving.keys", "add, list, revoke, rotate and remove the keys of HTTP clients"),
        "engine": ("engine", "show or end the process that several servers of a store share"),
        "cache": ("serving.cache", "forget the rankings and answers that servers keep"),
        "stats": ("stats", "count what a store holds and what a running server answered"),
        "migrate": ("migrate", "copy an index to another folder or to a server"),
        "backup": ("backups.backup", "write one file with all that cannot be made again from documents"),
        "restore": ("backups.restore", "bring a backup back into a store"),
        "doctor": ("doctor", "check this installation and say what to do"),
        "prompt": ("packs.prompts", "list, show and check prompts"),
        "pack": ("packs.tools", "list, check and run your own tools"),
        "model": ("model", "install or show the embedding model"),
        "graph": ("graph", "look at the knowledge graph, draw it again, move it elsewhere"),
        "audit": ("audit", "show what scripts did on this store"),
        "eval": ("eval", "measure how well a collection is searched and quoted"),
        "bench": ("bench", "measure speed, and the tokens that answers cost"),
        "config": ("config", "show the settings in force and where they came from"),
        "completion": ("shell.completion", "complete commands and options in bash, zsh and fish"),
        "man": ("shell.man", "print the manual page"),
    }
)


# A near word -> the command that it means: words of other programs, which edit distance does not find.
_MEANT: Mapping[str, str] = MappingProxyType(
    {
        "index": "ingest",
        "add": "ingest",
        "install": "setup",
        "mcp": "setup",
        "keys": "key",
        "prompts": "prompt",
        "projects": "project",
        "key show": "key list",
        "key delete": "key revoke",
        "sources rm": "sources remove",
        "sources delete": "sources remove",
        "project new": "project create",
        "project add": "project create",
        "project remove": "project delete",
        "project rm": "project delete",
        "zotero list": "zotero libraries",
    }
)


def _usage() -> str:
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:<{width}}  {help_line}" for name, (_, help_line) in COMMANDS.items())
    return (
        "winnow: agents take only the grain of your knowledge base\n\n"
        f"usage: winnow COMMAND [OPTIONS]\n\n{rows}\n\n"
        "winnow COMMAND --help shows its options and examples, winnow --version the\nversion.\n"
    )


# What the system says where a write has no room or its device fails. Errors of named files are told by commands.
_NOT_WRITTEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def main() -> None:
    """Entry point of the console script."""
    try:
        try:
            _run(sys.argv[1:])
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in _NOT_WRITTEN or error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is flushed again at the end
        sys.stderr.write(f"winnow: the output could not be written: {error.strerror}\n")
        raise SystemExit(1) from None


def _run(arguments: Sequence[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(_usage())
        raise SystemExit(0 if arguments else 2)
    if arguments[0] in ("--version", "-V"):
        from winnow import __version__

        sys.stdout.write(f"winnow {__version__}\n")
        raise SystemExit(0)
    name = arguments[0]
    _refuse_near_words(arguments)
    if name not in COMMANDS:
        sys.stderr.write(f"winnow: no command {name!r}\n\n{_usage()}")
        raise SystemExit(2)
    if name != "config":  # it shows them itself
        _report_ignored_settings()
    module = importlib.import_module(f"winnow.server.commands.{COMMANDS[name][0]}")
    app: typer.Typer = module.app
    app(args=list(arguments[1:]), prog_name=f"winnow {name}")


def _refuse_near_words(arguments: Sequence[str]) -> None:
    """Exit with the command that was meant, if the first one or two words are near to one."""
    name = arguments[0]
    said = next((words for words in (name, " ".join(arguments[:2])) if words in _MEANT), name)
    meant = _MEANT.get(said, "")
    if not meant and name not in COMMANDS:
        meant = next(iter(difflib.get_close_matches(name, COMMANDS, n=1)), "")
    if meant:
        sys.stderr.write(f"winnow: no command {said!r}; did you mean: winnow {meant}\n")
        raise SystemExit(2)


def _report_ignored_settings() -> None:
    """Report ignored values of configuration files on stderr. The command itself reports invalid settings."""
    from winnow.server.errors import WinnowError
    from winnow.server.settings.loading import load

    with suppress(WinnowError):
        sys.stderr.writelines(f"winnow: {line}\n" for line in load().ignored_lines())
