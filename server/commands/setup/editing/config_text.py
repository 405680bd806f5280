"""One server's entry in the text of a configuration file, in each format, and the proof that nothing else changed.

Each edit is checked by reading the result again: it has the entry that it should have, and all else as before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Any

from winnow.server.commands.setup.editing.edits import unsupported
from winnow.server.commands.setup.editing.json_text import parse_json, put_json, take_out_json
from winnow.server.commands.setup.editing.toml_text import parse_toml, put_toml, take_out_toml
from winnow.server.commands.setup.editing.yaml_text import parse_yaml_text, put_yaml, take_out_yaml
from winnow.server.errors import WinnowError

Entry = Mapping[str, Any]
_DEEPEST = 200  # Python compares and prints some hundred levels


class ConfigFormat(StrEnum):
    """The formats of configuration files. JSONC is JSON with comments and trailing commas."""

    JSON = "JSON"
    JSONC = "JSONC"
    TOML = "TOML"
    YAML = "YAML"


@dataclass(frozen=True, slots=True)
class Editor:
    """The functions of one format."""

    parse: Callable[[str], Any]
    put: Callable[[str, Sequence[str], Any], str]
    take_out: Callable[[str, Sequence[str]], str]


def _parse_json(text: str, *, comments: bool) -> Any:
    return parse_json(text, comments=comments) if text.strip() else {}


def _put_json(text: str, path: Sequence[str], entry: Entry, *, comments: bool) -> str:
    """The text with each value of the entry that differs; a comment inside the entry stays."""
    if not text.strip():
        return put_json("{}\n", path, dict(entry), comments=comments)
    before = _find(_parse_json(text, comments=comments), path)
    if not isinstance(before, dict):
        return put_json(text, path, dict(entry), comments=comments)
    for key, value in entry.items():
        if key not in before or before[key] != value:
            text = put_json(text, (*path, key), value, comments=comments)
    return text


def _json_editor(*, comments: bool) -> Editor:
    functions = (_parse_json, _put_json, take_out_json)
    return Editor(*(partial(each, comments=comments) for each in functions))


_EDITORS: Mapping[ConfigFormat, Editor] = MappingProxyType(
    {
        ConfigFormat.JSON: _json_editor(comments=False),
        ConfigFormat.JSONC: _json_editor(comments=True),
        ConfigFormat.TOML: Editor(parse_toml, put_toml, take_out_toml),
        ConfigFormat.YAML: Editor(parse_yaml_text, put_yaml, take_out_yaml),
    }
)


def read_config_text(text: str, form: ConfigFormat) -> dict[str, Any]:
    """The value of the file. Raises ``WinnowError``: INVALID_REQUEST with line and column, or UNSUPPORTED."""
    value = _EDITORS[form].parse(text)
    if not isinstance(value, dict):
        raise unsupported("the file holds no object")
    _refuse_deep(value)
    return value


def _refuse_deep(value: Any) -> None:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            child
            for each in level
            if isinstance(each, dict | list)
            for child in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise unsupported("it is nested too deeply")


def find_entry(config: Mapping[str, Any], path: Sequence[str]) -> Any:
    """The value at the path; None where there is none."""
    return _find(config, path)


def with_entry(text: str, form: ConfigFormat, path: Sequence[str], entry: Entry) -> str:
    """The text with this entry at the path. Raises ``WinnowError`` as ``read_config_text`` does."""
    expected = read_config_text(text, form)
    holder = expected
    for key in path[:-1]:
        # An empty value stands for an empty list of servers: YAML writes it so.
        holder[key] = {} if holder.get(key) is None else holder[key]
        holder = holder[key]
        if not isinstance(holder, dict):
            raise unsupported(f"{key} holds no object")
    holder[path[-1]] = dict(entry)
    return _checked(_EDITORS[form].put(text, path, entry), form, expected)


def without_entry(text: str, form: ConfigFormat, path: Sequence[str]) -> str:
    """The text without the entry at the path, which is there. Raises as ``read_config_text`` does."""
    expected = read_config_text(text, form)
    holder = _find(expected, path[:-1])
    del holder[path[-1]]
    return _checked(_EDITORS[form].take_out(text, path), form, expected)


def _checked(text: str, form: ConfigFormat, expected: Mapping[str, Any]) -> str:
    """The text, if it means what it should. An empty table of servers is as good as none."""
    try:
        found = _without_empty(read_config_text(text, form))
    except WinnowError:  # the edit broke it; its line and column are not those of the file
        found = None
    if found != _without_empty(expected):
        raise unsupported("it is written in a form that setup cannot change safely")
    return text


def _without_empty(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if value not in ({}, None)}


def _find(config: Any, path: Sequence[str]) -> Any:
    for key in path:
        if not isinstance(config, dict):
            return None
        config = config.get(key)
    return config
