"""Output of every command: text for people, one JSON document for programs, errors with an exit code."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from winnow.server.commands.terminal.advice import complete_commands
from winnow.server.commands.terminal.option_hints import hint_at
from winnow.server.errors import ErrorCode, WinnowError, own_words
from winnow.server.text.printable import printable, visible_json
from winnow.server.text.suggestions import suggest

Json = Annotated[bool, typer.Option("--json", help="print one JSON document instead of text")]
StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="DIR", help="folder of the index", show_default=False)
]
ProjectOption = Annotated[
    str | None, typer.Option("--project", metavar="NAME", help="project in the store", show_default=False)
]

EmbedderOption = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="MODEL",
        help="embedding model: minilm (default), bge-small, multilingual, fastembed:MODEL, onnx:FOLDER or "
        "openai:URL#MODEL",
        show_default=False,
    ),
]

RunnerOption = Annotated[
    str | None,
    typer.Option(
        "--sandbox",
        metavar="NAME",
        help="what runs scripts: auto (default, kernel walls; Linux only) or monty (a smaller language)",
        show_default=False,
    ),
]

WeakerSandboxOption = Annotated[
    str | None,
    typer.Option(
        "--allow-weaker-sandbox",
        metavar="TIER|WALLS",
        help="accept a lesser tier (container, namespaces), or exactly the walls that are missing: A,B",
        show_default=False,
    ),
]

LimitsOption = Annotated[
    str | None,
    typer.Option(
        "--limits",
        metavar="NAME",
        help="what one script may take: standard (default) or strict, about a tenth",
        show_default=False,
    ),
]


def examples(*commands: str) -> str:
    """The examples in a command's help: one on a line, continued after a backslash where it is long."""
    lines = (line for command in commands for line in _continued(command))
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _continued(command: str) -> Iterator[str]:
    line, *flags = re.split(r" (?=--\w)", command)
    for flag in flags:
        if len(line) + len(flag) + 1 > _EXAMPLE_CHARS:
            yield f"{line} \\"
            line = "   "
        line += f" {flag}"
    yield line


# Of a line of help on a terminal of 80 columns, without its indentation and a backslash.
_EXAMPLE_CHARS = 72


def _refuse_repeated_options(line: TyperCommand | TyperGroup, ctx: Any, args: list[str]) -> None:
    """Refuse an option that takes one value and is given twice: only one of them would count."""
    _, _, given = line.make_parser(ctx).parse_args(args=list(args))
    for option, times in Counter(param for param in given if param.param_type_name == "option").items():
        is_switch = getattr(option, "is_flag", False) and not option.secondary_opts
        if times > 1 and not (option.multiple or getattr(option, "count", False) or is_switch):
            name = "/".join(max(names, key=len) for names in (option.opts, option.secondary_opts) if names)
            raise typer.BadParameter(f"{name} takes one value, and is given {times} times", ctx=ctx)


# Options that a command printed in a message gets from the command that prints it, and their parameters.
_PASSED_ON = {"--store": "store", "--project": "project"}
_GIVEN: ContextVar[Mapping[str, str]] = ContextVar("given", default=MappingProxyType({}))


def complete(text: str) -> str:
    """The text with the store and the project, where the user gave them, in the commands that it names."""
    given = _GIVEN.get()
    return complete_commands(text, given) if given else text


# What typer raises for a command line that it cannot read. It exports the class of wrong values alone.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


@contextmanager
def _hinting(line: TyperCommand | TyperGroup) -> Iterator[None]:
    """Around reading a command line: an unknown option is refused with a hint at one that there is."""
    try:
        yield
    except _UsageError as error:
        option = getattr(error, "option_name", "")  # also of one that the command has, without its value
        names = {name for each in line.params for name in (*each.opts, *each.secondary_opts)}
        known = {name for name in names if name.startswith("--")}
        if not option.startswith("--") or option in known:
            raise
        raise _UsageError(
            f"No such option: {option}; {hint_at(option, known)}", getattr(error, "ctx", None)
        ) from None


class CheckedCommand(TyperCommand):
    """A command that refuses values in the words of their checks; typer puts the kind of exception before them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            with _hinting(self):
                _refuse_repeated_options(self, ctx, args)
                rest = super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = own_words(error.message)
            raise
        given = {option: ctx.params.get(name) for option, name in _PASSED_ON.items()}
        _GIVEN.set({option: str(value) for option, value in given.items() if value and isinstance(value, str)})
        return rest


class _Group(TyperGroup):
    """A command with subcommands, whose list has the whole first sentence of each."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _hinting(self):
            _refuse_repeated_options(self, ctx, args)
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the subcommand; the error for any other word names the one that was meant, or all."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            ctx.fail(f"No such command {name!r}; {suggest(name, known, 'there are ' + ', '.join(known))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _summarize(self.commands[name].help)) for name in self.list_commands(ctx)])


def _summarize(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())


class _CommandLine(typer.Typer):
    def command(self, *about: Any, **options: Any) -> Any:
        return super().command(*about, **{"cls": CheckedCommand, **options})


def command(**about: Any) -> typer.Typer:
    """An empty command line: plain help, plain tracebacks, no shell completion."""
    return _CommandLine(
        cls=_Group, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, **about
    )


_BREAKS = re.compile(r"[\t\n]")
USAGE, UNAVAILABLE, FAILED = 2, 4, 1
_EXIT_CODES = {
    ErrorCode.INVALID_ARGUMENT: USAGE,
    ErrorCode.SCOPE_VIOLATION: USAGE,
    ErrorCode.BACKEND_UNAVAILABLE: UNAVAILABLE,
}


def print_json(value: Any) -> None:
    """Print one JSON document on stdout, UTF-8, with a newline at the end; invisible characters are escaped."""
    sys.stdout.write(visible_json(json.dumps(value, ensure_ascii=False, indent=2)) + "\n")


def print_json_line(value: Any) -> None:
    """Print one JSON document on one line of stdout, for programs that read while the command runs."""
    sys.stdout.write(visible_json(json.dumps(value, ensure_ascii=False)) + "\n")
    sys.stdout.flush()


def print_text(text: str) -> None:
    """Print text of several lines on stdout as it is, without what is not printable."""
    sys.stdout.write(printable(text))
    sys.stdout.flush()


def print_lines(*lines: str) -> None:
    """Print each of ``lines`` as one printable line on stdout, at once, for programs that read meanwhile."""
    sys.stdout.writelines(map(_format_line, lines))
    sys.stdout.flush()


def print_to_stderr(*lines: str) -> None:
    """Print each of ``lines`` as one printable line on stderr: errors, warnings, progress."""
    sys.stderr.writelines(_format_line(complete(line)) for line in lines)
    sys.stderr.flush()


def _format_line(text: str) -> str:
    return _BREAKS.sub(" ", printable(text)) + "\n"


def exit_with_error(error: WinnowError, *, as_json: bool) -> NoReturn:
    """Print the error, as JSON on stdout or as text on stderr, and exit with its code."""
    if as_json:
        envelope = error.envelope()
        print_json({"error": {**envelope, "message": complete(error.message)}})
    else:
        print_to_stderr(f"winnow: {error.message}")
    raise typer.Exit(_EXIT_CODES.get(error.code, FAILED))


@contextmanager
def report_errors(*, as_json: bool) -> Iterator[None]:
    """Turn a WinnowError into its message and exit code; anything else is a bug and keeps its traceback."""
    try:
        yield
    except WinnowError as error:
        exit_with_error(error, as_json=as_json)
