"""YAML: the mapping of one server is put in, changed or taken out, and every other byte stays.

A new server goes before the others, on the lines below the key that holds them: there the indentation is certain,
and no comment of another server comes in between. Values are written as JSON, which is YAML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from winnow.server.commands.setup.editing.edits import (
    Edit,
    apply_edits,
    indent_of,
    newline_of,
    syntax_error,
    unsupported,
)
from winnow.server.text.markup.bounded_yaml import YamlMisread, YamlRefused, compose_yaml, parse_yaml

_MAPPING = "tag:yaml.org,2002:map"
_NULL = "tag:yaml.org,2002:null"
# YAML is read by Python code, several times for an edit: this much takes some seconds. Goose's file has some KiB.
_MOST_CHARS = 64 * 1024
# A password that begins with * ! or & is read as one of these.
_NAMED = re.compile(r"(alias|anchor|tag) '[^']*'")


def parse_yaml_text(text: str) -> Any:
    """The value of the text, {} where it has none. Raises ``WinnowError`` with line and column."""
    if len(text) > _MOST_CHARS:
        raise unsupported(f"YAML of more than {_MOST_CHARS:,} characters takes too long to edit")
    if _compose(text) is None:
        return {}
    with _map_errors(text):
        return parse_yaml(text)


def put_yaml(text: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    """The text with the mapping of a server: changed, or new. ``path``: the key that holds it, then its name."""
    holder, name = path
    root = _compose(text)
    if (found := _find(root, path)) is not None:
        edits = _changes(text, found[1], entry)
        if edits is not None:
            return apply_edits(text, edits)
        text = take_out_yaml(text, path)
        root = _compose(text)
    pair = _pair(root, holder) if root is not None else None
    newline, unit = newline_of(text), indent_of(text)
    if pair is None:
        start = text if not text or text.endswith("\n") else f"{text}{newline}"
        return f"{start}{_name(holder)}:{newline}{_block(name, entry, unit, unit, newline)}"
    key, value = pair
    if value.tag == _MAPPING and not value.flow_style:
        indent = " " * value.start_mark.column
        return _insert_below(text, key, _block(name, entry, indent, unit, newline))
    if value.tag == _MAPPING and not value.value:
        below = f"{newline}{_block(name, entry, unit, unit, newline).removesuffix(newline)}"
        return apply_edits(text, [Edit(value.start_mark.index, value.end_mark.index, below)])
    if value.tag == _MAPPING:
        inside = value.start_mark.index + 1
        return apply_edits(text, [Edit(inside, inside, f"{_name(name)}: {_json(dict(entry))}, ")])
    if value.tag == _NULL and not value.value:
        return _insert_below(text, key, _block(name, entry, unit, unit, newline))
    raise unsupported(f"{holder} holds no mapping")


def take_out_yaml(text: str, path: Sequence[str]) -> str:
    """The text without a server's mapping, which is there; a key that it leaves without a value gets ``{}``."""
    root = _compose(text)
    holder, found = _find(root, path[:1]), _find(root, path)
    assert holder is not None
    assert found is not None
    key, value = found
    if holder[1].flow_style:
        return apply_edits(text, [_cut_from_flow(text, holder[1], key, value)])
    lines = Edit(_line_start(text, key.start_mark.index), _next_line(text, _last(key, value)))
    if len(holder[1].value) > 1:
        return apply_edits(text, [lines])
    colon = text.index(":", holder[0].end_mark.index) + 1
    end = _next_line(text, colon)
    rest = text[colon:end].rstrip("\r\n")
    return apply_edits(text, [Edit(colon, colon + len(rest), f" {{}}{rest if rest.strip() else ''}"), lines])


def _cut_from_flow(text: str, holder: Any, key: Any, value: Any) -> Edit:
    """The deletion of one pair of a mapping in braces, with one comma."""
    start, end = key.start_mark.index, value.end_mark.index
    number = [each for each, _ in holder.value].index(key)
    if number + 1 < len(holder.value):
        after = text.index(",", end) + 1
        return Edit(start, after + text.startswith(" ", after))
    return Edit(holder.value[number - 1][1].end_mark.index if number else start, end)


def _changes(text: str, node: Any, entry: Mapping[str, Any]) -> list[Edit] | None:
    """The edit of each value that changes; None where one is missing, or stands over several lines."""
    if node.tag != _MAPPING:
        return None
    before = {key.value: value for key, value in node.value}
    edits = []
    for key, value in entry.items():
        if key not in before:
            return None
        start, end = before[key].start_mark.index, _last(before[key], before[key])
        written = text[start:end]
        if parse_yaml(f"[{written}]") == [value] if "\n" not in written else False:
            continue
        if "\n" in written or not written:
            return None
        edits.append(Edit(start, end, _json(value)))
    return edits


def _compose(text: str) -> Any:
    """The root, a mapping; None for a text without a value."""
    with _map_errors(text):
        root = compose_yaml(text)
    if root is None or root.tag == _NULL:
        return None
    if root.tag != _MAPPING:
        raise unsupported("the file holds no mapping")
    _refuse_aliases(root)
    return root


@contextmanager
def _map_errors(text: str) -> Iterator[None]:
    try:
        yield
    except YamlMisread as error:
        raise syntax_error(text, error.position, _NAMED.sub(r"\1", error.reason)) from None
    except YamlRefused as error:
        raise unsupported(str(error)) from None
    except ValueError as error:
        raise syntax_error(text, 0, str(error)) from None


def _refuse_aliases(root: Any) -> None:
    """Refuse a node that stands in two places: what is changed in one changes in the other."""
    seen, waiting = set(), [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            raise unsupported(f"line {node.start_mark.line + 1}: anchors and aliases are not edited")
        seen.add(id(node))
        if isinstance(node.value, list):
            waiting += [each for item in node.value for each in (item if isinstance(item, tuple) else (item,))]


def _find(node: Any, path: Sequence[str]) -> tuple[Any, Any] | None:
    """The key and the value at a path; None where there are none."""
    pair = None
    for key in path:
        if node is None or node.tag != _MAPPING:
            return None
        pair = _pair(node, key)
        if pair is None:
            return None
        node = pair[1]
    return pair


def _pair(node: Any, key: str) -> tuple[Any, Any] | None:
    found = [(each, value) for each, value in node.value if each.value == key]
    if len(found) > 1:
        raise unsupported(f"{key} stands there {len(found)} times, of which one counts")
    return found[0] if found else None


def _last(key: Any, value: Any) -> int:
    """The end of the text of a value. The end of a block includes the blanks and comments behind it."""
    while isinstance(value.value, list) and value.value and not value.flow_style:
        item = value.value[-1]
        key, value = item if isinstance(item, tuple) else (item, item)
    empty = value.start_mark.index == value.end_mark.index
    return int(key.end_mark.index if empty else value.end_mark.index)


def _insert_below(text: str, key: Any, block: str) -> str:
    below = _next_line(text, key.end_mark.index)
    start = "" if text[:below].endswith("\n") else newline_of(text)
    return apply_edits(text, [Edit(below, below, f"{start}{block}")])


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _next_line(text: str, position: int) -> int:
    """The beginning of the next line; a block scalar ends there itself."""
    if text.endswith("\n", 0, position):
        return position
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _block(name: str, entry: Mapping[str, Any], indent: str, unit: str, newline: str) -> str:
    lines = [f"{indent}{unit}{_name(key)}: {_json(value)}" for key, value in entry.items()]
    return newline.join([f"{indent}{_name(name)}:", *lines, ""])


def _name(key: str) -> str:
    return key if key.isidentifier() and key.isascii() else _json(key)


def _json(value: Any) -> str:
    # YAML takes a character outside of the basic plane as it is, and not as the two halves that JSON escapes.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\x7f").replace("\x85", "\\x85")
