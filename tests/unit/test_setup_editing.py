"""Configuration files of clients as text: one entry comes and goes, and every other byte stays."""

from __future__ import annotations

import json
import tomllib
from functools import partial
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from winnow.server.commands.setup.editing import config_text
from winnow.server.commands.setup.editing.config_text import (
    ConfigFormat,
    Editor,
    find_entry,
    read_config_text,
    with_entry,
    without_entry,
)
from winnow.server.commands.setup.editing.edits import Edit, apply_edits, newline_of
from winnow.server.errors import WinnowError

ENTRY = {"command": '/home/m e/.venv/bin/"winnow"', "args": ["serve", "--store", "C:\\data # 1"]}
JSONC, JSON, TOML, YAML = ConfigFormat.JSONC, ConfigFormat.JSON, ConfigFormat.TOML, ConfigFormat.YAML
PATHS = {JSONC: ("mcpServers", "winnow"), JSON: ("mcpServers", "winnow"), TOML: ("mcp_servers", "winnow")}
PATHS[YAML] = ("extensions", "winnow")


def both_ways(text: str, form: ConfigFormat) -> str:
    """The text after the entry was put in, found, and taken out again."""
    added = with_entry(text, form, PATHS[form], ENTRY)
    assert find_entry(read_config_text(added, form), PATHS[form]) == ENTRY
    return without_entry(added, form, PATHS[form])


OTHERS_KEPT = {
    "a line for each": '{\n  "mcpServers": {\n    "a": {"command": "x"}\n  }\n}\n',
    "tabs": '{\n\t"mcpServers": {\n\t\t"a": {}\n\t},\n\t"z": [1, 2.50, "\\u00e9"]\n}',
    "one line": '{"mcpServers":{"a":{"command":"x"}},"z":1e5}',
    "no servers yet": '{"z": 1, "mcpServers": {}}',
    "Windows": '{\r\n    "mcpServers": {\r\n        "a": {}\r\n    }\r\n}\r\n',
}
WITH_COMMENTS = {
    "a comment behind the last server": '{\n  "mcpServers": {\n    "a": {} // why\n  } /* and */\n}',
    "a trailing comma": '{\n  // all\n  "mcpServers": {\n    "a": {}, // why\n  },\n}\n',
    "a trailing comma on one line": '{"mcpServers": {"a": {},},}',
    "a line comment on one line": '{"mcpServers": {"a": 1 // why\n}}',
    "a comment that has the name": '{\n  /* "mcpServers": {"winnow": 1} */\n  "mcpServers": {"a": "// no"}\n}',
    "an empty object with a comment": '{"mcpServers": { /* none yet */ }}',
}
IN_TOML = {
    "nothing": "",
    "other servers": '# mine\n[mcp_servers.a] # first\ncommand = "x"\nargs = [\n  "1", # ]\n]\n',
    "a head inside of a string": 'a = """\n[mcp_servers.winnow]\n"""\n\n',
    "a quoted name": "[mcp_servers.\"a.b\"]\ncommand = 'x'\n\n",
    "inline servers": '[mcp_servers]\na = { command = "x" }\n[z]\n',
    "Windows": "[z]\r\na = 1\r\n",
}
IN_YAML = {
    "other servers": "# all\nextensions: # mine\n    # first\n    a:\n        enabled: true # on\n\n"
    "    b: {c: 1}\n# end\nz: 1\n",
    "none, in braces": "extensions: {}\nz: 1\n",
    "in braces": "extensions: {a: {b: 1}}\n",
    "in braces, over lines": "extensions: {\n    a: {b: 1}}\n",
    "a block of text": "extensions:\n  a:\n    b: |\n      winnow:\n        c: 1\nz: >\n  folded\n",
    "Windows": "extensions:\r\n  a:\r\n    b: 1\r\n",
}


@pytest.mark.parametrize(
    ("text", "form"),
    [
        *((text, form) for text in OTHERS_KEPT.values() for form in (JSON, JSONC)),
        *((text, JSONC) for text in WITH_COMMENTS.values()),
        *((text, TOML) for text in IN_TOML.values()),
        *((text, YAML) for text in IN_YAML.values()),
    ],
)
def test_an_entry_that_comes_and_goes_leaves_the_text_byte_for_byte(text: str, form: ConfigFormat) -> None:
    assert both_ways(text, form) == text


def test_a_new_entry_is_written_in_the_style_of_its_neighbours() -> None:
    text = '{\n\t"mcpServers": {\n\t\t"a": {} // why\n\t}\n}'
    assert with_entry(text, JSONC, PATHS[JSONC], {"command": "w"}) == (
        '{\n\t"mcpServers": {\n\t\t"a": {}, // why\n\t\t"winnow": {\n\t\t\t"command": "w"\n\t\t}\n\t}\n}'
    )
    assert with_entry('{"mcpServers": {"a": {}}}', JSON, PATHS[JSON], {"command": "w"}) == (
        '{"mcpServers": {"a": {}, "winnow": {"command": "w"}}}'
    )
    assert with_entry("extensions:\n    a: {}\n", YAML, PATHS[YAML], {"cmd": "w"}) == (
        'extensions:\n    winnow:\n        cmd: "w"\n    a: {}\n'
    )


@pytest.mark.parametrize("form", list(ConfigFormat))
def test_a_file_that_is_empty_gets_the_entry_alone(form: ConfigFormat) -> None:
    text = with_entry("", form, PATHS[form], ENTRY)
    holder, name = PATHS[form]
    parse: Any = {TOML: tomllib.loads, YAML: yaml.safe_load}.get(form, json.loads)
    assert (parse(text), text.endswith("\n")) == ({holder: {name: ENTRY}}, True)


@pytest.mark.parametrize(
    ("text", "form", "changed"),
    [
        (
            '{"mcpServers": {"winnow": {\n  "quiet": true, // for now\n  "args": [],\n'
            '  "command": "w" /* here */\n}}}',
            JSONC,
            '{"mcpServers": {"winnow": {\n  "quiet": true, // for now\n  "args": [\n    "serve"\n  ],\n'
            '  "command": "w" /* here */\n}}}',
        ),
        (
            '[mcp_servers.winnow] # mine\nquiet = true\nargs = [] # none\ncommand = "w"\n',
            TOML,
            '[mcp_servers.winnow] # mine\nquiet = true\nargs = ["serve"] # none\ncommand = "w"\n',
        ),
        (
            "extensions:\n  winnow: # mine\n    quiet: true\n    args: [] # none\n    command: w\n",
            YAML,
            'extensions:\n  winnow: # mine\n    quiet: true\n    args: ["serve"] # none\n    command: w\n',
        ),
    ],
)
def test_a_changed_value_is_replaced_and_what_stands_beside_it_stays(
    text: str, form: ConfigFormat, changed: str
) -> None:
    entry = {"quiet": True, "args": ["serve"], "command": "w"}
    assert with_entry(text, form, PATHS[form], entry) == changed
    assert with_entry(changed, form, PATHS[form], entry) == changed


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('[mcp_servers]\nwinnow = { command = "old" }\n', TOML),
        ('[mcp_servers.winnow]\ncommand = "old"\n[mcp_servers.winnow.env]\nA = "b"\n[z]\n', TOML),
        ("extensions: {winnow: {cmd: old}, a: {}}\n", YAML),
        ("extensions:\n  winnow:\n    args:\n      - old\n  a: {}\n", YAML),
    ],
)
def test_an_entry_in_another_form_is_written_anew(text: str, form: ConfigFormat) -> None:
    found = read_config_text(with_entry(text, form, PATHS[form], ENTRY), form)
    others = read_config_text(without_entry(text, form, PATHS[form]), form)
    assert find_entry(found, PATHS[form]) == ENTRY
    assert {key: value for key, value in found.items() if key == "z"} == {
        key: value for key, value in others.items() if key == "z"
    }


@pytest.mark.parametrize(
    ("text", "form", "left"),
    [
        ('{"mcpServers": {// c\n"winnow": {}}}', JSONC, '{"mcpServers": {// c\n}}'),
        ('{"mcpServers": {// c\n"winnow": {}, "a": 1}}', JSONC, '{"mcpServers": {// c\n "a": 1}}'),
        ('{"mcpServers": {"winnow": {} /* mine */, "a": 1}}', JSONC, '{"mcpServers": { "a": 1}}'),
        ('{"mcpServers": {"a": 1, // one\n  "winnow": {}\n}}', JSONC, '{"mcpServers": {"a": 1 // one\n}}'),
        ("a = 1\n[mcp_servers.winnow]\nb = 1\n[z]\n", TOML, "a = 1\n[z]\n"),
        ("a = 1\n\n[mcp_servers.winnow]\nb = 1 # mine\n\n[z]\n", TOML, "a = 1\n\n[z]\n"),
        ("[mcp_servers.winnow]\nb = 1\n# of z\n[z]\n[mcp_servers.winnow.env]\nc = 1\n", TOML, "# of z\n[z]\n"),
        ("[[mcp_servers.winnow]]\nb = 1\n", TOML, ""),
        (
            "extensions:\n  a: 1\n  winnow:\n    b: 1 # mine\n  # of c\n  c: 1\n",
            YAML,
            "extensions:\n  a: 1\n  # of c\n  c: 1\n",
        ),
        ("extensions: {a: 1, winnow: {b: 1}}\n", YAML, "extensions: {a: 1}\n"),
        ("extensions: {winnow: {b: 1}}\n", YAML, "extensions: {}\n"),
    ],
)
def test_an_entry_that_a_person_wrote_is_taken_out_with_what_is_inside_of_it(
    text: str, form: ConfigFormat, left: str
) -> None:
    assert without_entry(text, form, PATHS[form]) == left


def test_an_edit_that_would_change_more_than_the_entry_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No form that reaches this is known; what an editor returns is read again all the same."""
    wrong = Editor(json.loads, lambda text, path, entry: '{"a": 2}', lambda text, path: '{"a": 2}')
    monkeypatch.setattr(config_text, "_EDITORS", {JSON: wrong})
    for edit in (partial(with_entry, entry=ENTRY), without_entry):
        with pytest.raises(WinnowError, match="in a form that setup cannot change safely"):
            edit('{"a": 1, "mcpServers": {"winnow": {}}}', JSON, PATHS[JSON])


@pytest.mark.parametrize(
    ("text", "form", "place", "why"),
    [
        ('{\n  "a": {,\n}', JSON, (2, 9), "a name in double quotes is wanted"),
        ('{\n  "a": 1, // no\n}', JSON, (2, 11), "a comment, which this client does not read"),
        ('{"a": 1,}', JSON, (1, 9), "a comma before '}', which this client does not read"),
        ("{'a': 1}", JSONC, (1, 2), "no JSON"),
        ('{"a": 01}', JSONC, (1, 7), "no JSON"),
        ('{"a": "\\x"}', JSONC, (1, 7), "an escape that JSON does not have"),
        ('{"a": 1} x', JSONC, (1, 10), "no JSON"),
        ('{"a": NaN}', JSON, (1, 7), "no JSON"),
        ('{"a": 1', JSONC, (1, 8), "'the end' where '}' is wanted"),
        ("[a]\nb = \n", TOML, (2, 5), "invalid value"),
        ("a = 1\na = 2\n", TOML, (2, 6), "cannot overwrite a value"),
        ("a: [1\nb: 2\n", YAML, (2, 2), "expected ',' or ']'"),
        ("a:\n\tb: 1\n", YAML, (2, 1), "found character '\\t' that cannot start any token"),
    ],
)
def test_a_text_that_does_not_parse_is_refused_with_line_and_column(
    text: str, form: ConfigFormat, place: tuple[int, int], why: str
) -> None:
    with pytest.raises(WinnowError) as refused:
        with_entry(text, form, PATHS[form], ENTRY)
    error = refused.value
    assert (error.reason, (error.details["line"], error.details["column"])) == ("INVALID_REQUEST", place)
    assert f"line {place[0]}, column {place[1]}: " in error.message
    assert why in error.message


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("[1]", JSONC),
        ('{"mcpServers": []}', JSON),
        ('{"mcpServers": {}, "mcpServers": {}}', JSON),
        ('{"mcpServers": {"winnow": 1, "winnow": 2}}', JSON),
        ("[" * 300 + "]" * 300, JSONC),
        ("mcp_servers = { a = { command = 'x' } }\n", TOML),
        ("mcp_servers = 3\n", TOML),
        ("- a\n", YAML),
        ("extensions: [a]\n", YAML),
        ("a: &x {b: 1}\nextensions: {c: *x}\n", YAML),
        ("a: &x {b: 1}\nextensions: {c: {<<: *x}}\n", YAML),
        (f"a: {'[' * 300}{']' * 300}\n", YAML),
        (f'{{"a": {"[" * 800}{"]" * 800}}}', JSON),
        (f"{'.'.join('a' * 3000)} = 1\n", TOML),
        (f"a: {'x' * 70_000}\n", YAML),
        ("extensions: {a: 1}\n...\n---\n", YAML),
    ],
)
def test_a_form_that_is_not_edited_safely_is_refused(text: str, form: ConfigFormat) -> None:
    with pytest.raises(WinnowError) as refused:
        with_entry(text, form, PATHS[form], ENTRY)
    assert refused.value.reason in {"UNSUPPORTED", "INVALID_REQUEST"}


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('{"env": {"KEY": "sk-secret" "x"}}', JSON),
        ('{"env": {"KEY" "sk-secret"}}', JSONC),
        ('{"env": {"KEY": "sk-secret\\x"}}', JSONC),
        ('{"env": "KEY"} "sk-secret"', JSON),
        ("env: {KEY: *sk-secret}\n", YAML),
        ("env: {KEY: !sk-secret x}\n", YAML),
        ("[env]\nKEY = 'sk-secret' 'x'\n", TOML),
    ],
)
def test_an_error_does_not_show_a_value_of_the_file(text: str, form: ConfigFormat) -> None:
    with pytest.raises(WinnowError) as refused:
        with_entry(text, form, PATHS[form], ENTRY)
    assert (refused.value.reason, "secret" in str(refused.value.envelope())) == ("INVALID_REQUEST", False)


@pytest.mark.parametrize(
    ("text", "form"),
    [("mcp_servers = {a = {command = 'x'}}\n", TOML), ("? extensions\n: a: 1\n", YAML)],
)
def test_a_valid_file_that_an_edit_would_break_is_not_said_to_be_broken(text: str, form: ConfigFormat) -> None:
    with pytest.raises(WinnowError, match="in a form that setup cannot change safely") as refused:
        with_entry(text, form, PATHS[form], ENTRY)
    assert (refused.value.reason, "line" in refused.value.details) == ("UNSUPPORTED", False)


# --- any text -----------------------------------------------------------------------------------------------

_names = st.text(min_size=1, max_size=5)
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=12,
)
_configs = st.dictionaries(_names, _values, max_size=4)
_blanks = st.sampled_from(["", " ", "\n", "\r\n", "\t", ' // a } " comment\n', "/* { , */", "\n\n  "])


@st.composite
def _jsonc_texts(draw: st.DrawFn) -> str:
    """Objects with servers, and with blanks, comments and trailing commas wherever they may be."""

    def write(value: Any) -> str:
        if isinstance(value, dict):
            members = [f"{blank()}{json.dumps(key)}{blank()}:{write(each)}" for key, each in value.items()]
            return f"{{{listed(members)}{blank()}}}"
        if isinstance(value, list):
            return f"[{listed([write(each) for each in value])}{blank()}]"
        return f"{blank()}{json.dumps(value, ensure_ascii=draw(st.booleans()))}{blank()}"

    def blank() -> str:
        return draw(_blanks)

    def listed(parts: list[str]) -> str:
        return ",".join(parts) + ("," if parts and draw(st.booleans()) else "")

    config = draw(_configs)
    servers = draw(st.none() | st.dictionaries(_names.filter(lambda name: name != "winnow"), _values, max_size=3))
    if servers is not None:
        config["mcpServers"] = servers
    return f"{blank()}{write(config)}{blank()}"


@given(_jsonc_texts())
@example('{"mcpServers":{// c\n}}')
@example('{"mcpServers":{"a":1// c\n,}}')
def test_any_json_with_comments_keeps_all_but_the_entry(text: str) -> None:
    before = read_config_text(text, JSONC)
    assume(isinstance(before.get("mcpServers", {}), dict))
    added = with_entry(text, JSONC, PATHS[JSONC], ENTRY)
    after = read_config_text(added, JSONC)
    assert after == {**before, "mcpServers": {**before.get("mcpServers", {}), "winnow": ENTRY}}
    comments = ("// a }", "/* { , */")
    assert [added.count(comment) for comment in comments] == [text.count(comment) for comment in comments]
    if before.get("mcpServers"):
        assert without_entry(added, JSONC, PATHS[JSONC]) == text


@given(st.text(max_size=60) | st.text(alphabet='{}[]",:/*\\ \n1a', max_size=60))
def test_any_text_at_all_is_edited_or_refused_in_plain_words(text: str) -> None:
    for form in ConfigFormat:
        try:
            added = with_entry(text, form, PATHS[form], ENTRY)
        except WinnowError as error:
            refused = error.reason
        else:
            refused = ""
            assert find_entry(read_config_text(added, form), PATHS[form]) == ENTRY
        assert refused in {"", "INVALID_REQUEST", "UNSUPPORTED"}


@given(_configs)
def test_our_parser_of_json_reads_what_the_standard_library_writes(config: dict[str, Any]) -> None:
    for indent in (None, 2, "\t"):
        text = json.dumps(config, indent=indent)
        assert read_config_text(f"// for ours\n{text}", JSONC) == json.loads(text)


_toml_lines = st.lists(
    st.sampled_from(
        [
            "",
            "# a [mcp_servers.winnow] comment",
            'a{n} = "x # no comment"',
            "b{n} = '''\n[mcp_servers.winnow]\n'''",
            "c{n} = [\n  1, # ]\n  [2],\n]",
            "d{n}.e.f = {{ g = [1], \"h i\" = '}}' }}",
            "[t{n}]",
            "[t{n}.u] # mine",
            '[mcp_servers."s{n}"]\ncommand = "x"',
            "[[l{n}]]\nx = 1",
        ]
    ),
    max_size=8,
)


@given(_toml_lines, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_toml_keeps_every_byte(lines: list[str], newline: str, ends: bool) -> None:
    body = "\n".join(line.format(n=number) for number, line in enumerate(lines))
    text = (body + ("\n" if ends and body else "")).replace("\n", newline)
    # The last line is ended; the copy that setup keeps of a file tells whether it was.
    ended = text if text.endswith("\n") or not text else text + newline_of(text)
    assert both_ways(text, TOML) == ended


@given(
    st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), _values, max_size=4),
    st.dictionaries(
        st.from_regex(r"s[a-z]{1,4}", fullmatch=True),
        st.dictionaries(st.just("k"), _values),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from([True, False, None]),
    st.integers(2, 6),
)
def test_any_yaml_keeps_every_byte(
    config: dict[str, Any], servers: dict[str, Any], style: bool | None, indent: int
) -> None:
    text = yaml.safe_dump(
        {**config, "extensions": servers}, default_flow_style=style, indent=indent, allow_unicode=True
    )
    try:
        before = read_config_text(text, YAML)
    except WinnowError:
        return  # aliases, or a number that YAML reads in another way
    assume(isinstance(before["extensions"], dict))
    try:
        added = with_entry(text, YAML, PATHS[YAML], ENTRY)
    except WinnowError:
        added = ""
    if not added:  # a file that is one mapping in braces
        assert text[:1] == "{"
        return
    assert without_entry(added, YAML, PATHS[YAML]) == text


def test_edits_are_applied_from_the_left() -> None:
    assert apply_edits("abcdef", [Edit(4, 5, "E"), Edit(0, 1), Edit(2, 2, "-")]) == "b-cdEf"
