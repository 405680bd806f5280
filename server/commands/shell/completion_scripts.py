"""Completion scripts for bash, zsh and fish, written from the tree of commands.

A script holds every command, option and word as a table, so that a shell completes without starting Python. It
completes ``winnow-mcp`` too, the command's name for uvx and pipx.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from winnow.server.commands.shell.command_tree import PROGRAM, CommandNode, CommandOption

_FILES, _ANYTHING = ":files", ":anything"

_BASH = r"""# Completion of winnow for bash; written by: winnow completion bash
_winnow_commands() {
    case "$1" in
@COMMANDS@
    esac
}

_winnow_options() {
    case "$1" in
@OPTIONS@
    esac
}

_winnow_values() {
    case "$1" in
@VALUES@
    esac
}

_winnow_reply() {
    local line
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$@" -- "$current")
}

_winnow() {
    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}" at=winnow word values
    for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
        case " $(_winnow_commands "$at") " in *" $word "*) at="$at $word" ;; esac
    done
    case "$current $previous" in  # bash makes a word of the sign in --option=value
    "= "*) current='' ;;
    *" =") previous="${COMP_WORDS[COMP_CWORD - 2]}" ;;
    esac
    COMPREPLY=()
    values="$(_winnow_values "$at $previous")"
    if [[ -z $values && $current == -* ]]; then values="$(_winnow_options "$at")"; fi
    if [[ -z $values ]]; then values="$(_winnow_commands "$at")"; fi
    case "$values" in
    :anything) ;;
    :files | '') compopt -o filenames 2>/dev/null; _winnow_reply -f ;;
    *) _winnow_reply -W "$values" ;;
    esac
}

complete -F _winnow winnow winnow-mcp
"""

_ZSH = r"""#compdef winnow winnow-mcp
# Completion of winnow for zsh; written by: winnow completion zsh
_winnow_commands() {
    reply=()
    case "$1" in
@COMMANDS@
    esac
}

_winnow_options() {
    reply=()
    case "$1" in
@OPTIONS@
    esac
}

_winnow_values() {
    reply=()
    case "$1" in
@VALUES@
    esac
}

_winnow() {
    local at=winnow word
    local -a reply
    for word in "${(@)words[2,CURRENT-1]}"; do
        _winnow_commands "$at"
        if (( ${reply[(I)${(b)word}:*]} )); then at="$at $word"; fi
    done
    _winnow_values "$at ${words[CURRENT-1]}"
    case "${reply[1]}" in
    :anything) return 1 ;;
    :files) _files; return ;;
    ?*) compadd -a reply; return ;;
    esac
    if [[ ${words[CURRENT]} == -* ]]; then
        _winnow_options "$at"
        _describe -o option reply
        return
    fi
    _winnow_commands "$at"
    if (( $#reply )); then _describe command reply; else _files; fi
}

if [[ ${funcstack[1]} == _winnow ]]; then _winnow "$@"; else compdef _winnow winnow winnow-mcp; fi
"""

_FISH = r"""# Completion of winnow for fish; written by: winnow completion fish
set -g __winnow_commands \
@COMMANDS@

function __winnow_at
    set -l at winnow
    for word in (commandline -opc)[2..-1]
        if contains -- "$at $word" $__winnow_commands
            set at "$at $word"
        end
    end
    test "$at" = "$argv"
end

complete -c winnow -f
@LINES@
complete -c winnow-mcp -w winnow
"""


def bash_script(tree: Sequence[CommandNode]) -> str:
    """The script for bash: words without their help."""
    groups = [_case(node.path, _quoted(" ".join(name for name, _ in node.below))) for node in tree if node.below]
    options = [_case(node.path, _quoted(" ".join(_spellings(node)))) for node in tree]
    values = [_case(key, _quoted(" ".join(words))) for key, words in _values(tree)]
    return _fill(_BASH, COMMANDS=_echo(groups), OPTIONS=_echo(options), VALUES=_echo(values))


def _echo(rows: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"    {key}) echo {words} ;;" for key, words in rows)


def zsh_script(tree: Sequence[CommandNode]) -> str:
    """The script for zsh: each word with its help."""
    groups = [_case(node.path, " ".join(_described(node.below))) for node in tree if node.below]
    options = [_case(node.path, " ".join(_described(_rows(node)))) for node in tree]
    values = [_case(key, " ".join(map(_quoted, words))) for key, words in _values(tree)]
    return _fill(_ZSH, COMMANDS=_reply(groups), OPTIONS=_reply(options), VALUES=_reply(values))


def _reply(rows: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"    {key}) reply=({words}) ;;" for key, words in rows)


def _described(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    for word, help_line in rows:
        yield _quoted(f"{word.replace(':', chr(92) + ':')}:{help_line}")


def fish_script(tree: Sequence[CommandNode]) -> str:
    """The script for fish: one line for each command and option."""
    paths = " \\\n".join(f"    {_fish_quoted(node.path)}" for node in tree)
    return _fill(_FISH, COMMANDS=paths, LINES="\n".join(line for node in tree for line in _fish_lines(node)))


def _fish_lines(node: CommandNode) -> Iterator[str]:
    opening = f"complete -c {PROGRAM} -n {_fish_quoted(f'__winnow_at {node.path}')}"
    for name, help_line in node.below:
        yield f"{opening} -a {name} -d {_fish_quoted(help_line)}"
    if not node.below:
        yield f"{opening} -F"
    for option in node.options:
        names = " ".join(
            f"-l {each[2:]}" if each.startswith("--") else f"-s {each[1:]}" for each in option.spellings
        )
        yield f"{opening} {names}{_fish_value(option)} -d {_fish_quoted(option.help_line)}"


def _fish_value(option: CommandOption) -> str:
    if not option.placeholder:
        return ""
    if option.choices:
        return f" -x -a {_fish_quoted(' '.join(option.choices))}"
    return " -r -F" if option.is_path else " -x"


def _values(tree: Sequence[CommandNode]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Command and option -> the words of the value, or the sign for files or for anything."""
    for node in tree:
        for option in (option for option in node.options if option.placeholder):
            for spelling in option.spellings:
                yield f"{node.path} {spelling}", option.choices or ((_FILES,) if option.is_path else (_ANYTHING,))


def _spellings(node: CommandNode) -> Iterator[str]:
    for option in node.options:
        yield from option.spellings


def _rows(node: CommandNode) -> list[tuple[str, str]]:
    return [(spelling, option.help_line) for option in node.options for spelling in option.spellings]


def _case(key: str, words: str) -> tuple[str, str]:
    return _quoted(key), words


def _quoted(text: str) -> str:
    """The text as one word of bash and zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fill(script: str, **parts: str) -> str:
    for name, text in parts.items():
        script = script.replace(f"@{name}@", text)
    return script


SCRIPTS: Mapping[str, Callable[[Sequence[CommandNode]], str]] = MappingProxyType(
    {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
)
