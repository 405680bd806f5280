"""Tool packs: what is read of a folder, what is left out and why, and what templates and schemas refuse."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.tools.operator_packs.program_calls import build_call
from winnow.server.tools.operator_packs.reading import ToolPacks, load_packs, read_folder
from winnow.server.tools.operator_packs.records import PackProgram, PackRequest, ToolPack
from winnow.server.tools.operator_packs.schemas import SchemaRefused, read_schema
from winnow.server.tools.operator_packs.templates import (
    TemplateRefused,
    check_json_template,
    check_template,
    render,
)

PACK: dict[str, Any] = {
    "id": "text.count",
    "version": "1.0.0",
    "description": "Counts words.",
    "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
    "outputSchema": {"type": "object"},
    "execution": {"kind": "cli", "cmd": ["echo", "--", "{{ input.q }}"]},
}


def write_pack(folder: Path, name: str = "a", **changes: Any) -> Path:
    """A pack with these fields changed, in a folder of its own; YAML reads JSON."""
    own = folder / name
    own.mkdir(parents=True, exist_ok=True)
    (own / "x.tool.yaml").write_text(json.dumps({**PACK, **changes}))
    return own


def only_pack(read: ToolPacks) -> ToolPack:
    assert read.left_out == ()
    (pack,) = read.packs
    return pack


def reason(read: ToolPacks) -> str:
    """Why the only pack of a folder, or the folder, was left out."""
    assert read.packs == ()
    ((why),) = [each.why for each in read.left_out]
    return why


def test_a_pack_is_read_from_any_depth_with_its_defaults(tmp_path: Path) -> None:
    write_pack(tmp_path, "deep/deeper")
    pack = only_pack(read_folder(tmp_path))
    assert isinstance(pack.execution, PackProgram)
    assert (pack.id, pack.kind, pack.execution.arguments) == ("text.count", "cli", ("--", "{{ input.q }}"))
    assert (pack.network, pack.read_only, pack.destructive, pack.open_world) == ((), False, True, False)
    assert (pack.bounds.seconds, pack.bounds.input_bytes, pack.bounds.output_bytes) == (30.0, 65_536, 32_768)


def test_a_schema_is_a_file_beside_the_pack(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "in.json").write_text(json.dumps({"type": "object", "required": ["q"]}))
    write_pack(tmp_path, inputSchema={"$ref": "../schemas/in.json"})
    before = only_pack(read_folder(tmp_path))
    assert before.takes.explain({}) == "q: required"
    (tmp_path / "schemas" / "in.json").write_text(json.dumps({"type": "object"}))
    assert only_pack(read_folder(tmp_path)).digest != before.digest


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"id": "Bad Name"}, "id: String should match"),
        ({"version": "1.0"}, "version: String should match"),
        ({"surprise": 1}, "surprise: there is no field 'surprise' here"),
        ({"execution": {"kind": "php", "php": "./x.php"}}, "php is not supported; use cli"),
        ({"execution": {"kind": "cli", "cmd": ["no-such-program"]}}, "'no-such-program' is not installed"),
        ({"execution": {"kind": "cli", "cmd": ["{{ input.q }}"]}}, "the program is no template"),
        ({"execution": {"kind": "cli", "cmd": ["sh", "-c", "echo {{ input.q }}"]}}, "sh would read the input"),
        ({"execution": {"kind": "cli", "cmd": ["sh"], "stdin": "{{ input.q }}"}}, "sh would read the input"),
        ({"execution": {"kind": "cli", "cmd": ["xargs"], "stdin": "{{ input.q }}"}}, "xargs would start"),
        ({"execution": {"kind": "cli", "cmd": ["wc"], "stdin": "{{ nothing }}"}}, "stdin: 'nothing' is unknown"),
        (
            {"execution": {"kind": "cli", "cmd": ["timeout", "0.5", "sh", "-c", "echo {{ input.q }}"]}},
            "timeout would start, or run, what an input says",
        ),
        ({"execution": {"kind": "cli", "cmd": ["env", "A=x.y", "sh", "{{ input.q }}"]}}, "env would start"),
        ({"execution": {"kind": "cli", "cmd": ["echo", "{{ input.q.upper() }}"]}}, "cmd.1: call is not supported"),
        (
            {"execution": {"kind": "cli", "cmd": ["echo", "{{ env.HOME }}"]}},
            "env.HOME is not among env.passthrough",
        ),
        ({"execution": {"kind": "python", "script": "../../x.py"}}, "../../x.py: not below"),
        ({"execution": {"kind": "python"}}, "name either script or module"),
        ({"execution": {"kind": "python", "module": "no:f"}}, "there is no such file"),
        ({"execution": {"kind": "http", "url": "https://{{ input.q }}/x"}}, "a literal host"),
        ({"execution": {"kind": "http", "url": "https://me:pw@host/x"}}, "a literal host"),
        ({"execution": {"kind": "http", "url": "https://host/x"}}, "caps.network: this address needs [https]"),
        ({"execution": {"kind": "http", "url": "http://host:99999/x"}}, "a port is at most 65,535"),
        ({"execution": {"kind": "http", "url": "ftp://host/x"}}, "begins with http:// or https://"),
        (
            {
                "execution": {"kind": "http", "url": "https://h/", "headers": {"Host": "other"}},
                "caps": {"network": ["https"]},
            },
            "headers.Host: winnow sends this header itself",
        ),
        ({"env": {"passthrough": ["LD_PRELOAD"]}}, "LD_PRELOAD is never passed on"),
        ({"env": {"passthrough": ["NOT_SET_ANYWHERE"]}}, "NOT_SET_ANYWHERE is not set"),
        ({"inputSchema": {"type": "array"}}, "inputSchema: its type must be object"),
        ({"inputSchema": {"$ref": "https://example.org/s.json"}}, "nothing else is fetched"),
        ({"inputSchema": {"$ref": "../../../etc/hostname"}}, "not below"),
        ({"outputSchema": {"type": "nothing"}}, "outputSchema: type"),
        (
            {"limits": {"maxOutputBytes": 1_000_000}},
            "limits.maxOutputBytes: Input should be less than or equal to",
        ),
        ({"caps": {"read": ["relative"]}}, "caps.read: relative is not the absolute path"),
        ({"templating": {"cacheKey": "x"}}, "only answers of a tool with deterministic: true"),
        ({"onSuccess": {"path": "$..x"}}, "onSuccess.path: String should match"),
    ],
)
def test_a_pack_that_cannot_be_used_is_left_out_with_its_field(
    tmp_path: Path, changes: dict[str, Any], why: str
) -> None:
    write_pack(tmp_path, **changes)
    assert why in reason(read_folder(tmp_path))


def test_one_bad_pack_keeps_out_no_others_and_the_first_of_a_name_is_kept(tmp_path: Path) -> None:
    write_pack(tmp_path, "a")
    write_pack(tmp_path, "b", id="text.other", version="?")
    write_pack(tmp_path, "c", id="text_count")
    write_pack(tmp_path, "d", id="kb.search")
    read = load_packs([tmp_path], {"kb_search"})
    assert [pack.id for pack in read.packs] == ["text.count"]
    assert [each.why.partition(":")[0] for each in read.left_out] == ["version", "id", "id"]


def test_of_several_majors_the_newest_has_the_name_and_the_one_before_it_is_deprecated(tmp_path: Path) -> None:
    for name, version in (("a", "1.9.0"), ("b", "2.0.0"), ("c", "10.0.1"), ("d", "10.2.0"), ("e", "2.1.0")):
        write_pack(tmp_path, name, version=version)
    read = load_packs([tmp_path])
    assert [(pack.id, pack.version, pack.deprecation) for pack in read.packs] == [
        ("text.count.v2", "2.0.0", "Deprecated: call text.count instead."),
        ("text.count", "10.0.1", ""),
    ]
    assert [each.why for each in read.left_out] == [
        "version: only majors 10 and 2 of text.count are offered",
        "id: another tool already has the name text.count",
        "id: another tool already has the name text.count.v2",
    ]


def test_a_major_before_the_newest_whose_name_would_be_too_long_is_left_out(tmp_path: Path) -> None:
    for name, version in (("a", "1.0.0"), ("b", "2.0.0")):
        write_pack(tmp_path, name, id="t" * 39, version=version)
    read = load_packs([tmp_path])
    assert [pack.version for pack in read.packs] == ["2.0.0"]
    assert "has more than 40 characters" in read.left_out[0].why


def test_files_that_others_may_write_and_links_are_refused(tmp_path: Path) -> None:
    own = write_pack(tmp_path)
    (own / "helper.py").write_text("")
    (own / "helper.py").chmod(0o666)
    assert "others may write it" in reason(read_folder(tmp_path))
    (own / "helper.py").unlink()
    os.symlink("/etc/hostname", own / "helper.py")
    assert "it is a symbolic link" in reason(read_folder(tmp_path))
    (own / "helper.py").unlink()
    (own / "x.tool.yaml").rename(tmp_path.parent / "elsewhere.yaml")
    os.symlink(tmp_path.parent / "elsewhere.yaml", own / "x.tool.yaml")
    assert "it is a symbolic link" in reason(read_folder(tmp_path))


def test_an_address_keeps_its_host_apart_from_what_is_inserted(tmp_path: Path) -> None:
    url = "https://search.example:8443/find?q={{ input.q }}"
    write_pack(tmp_path, execution={"kind": "http", "url": url, "method": "GET"}, caps={"network": [8443]})
    address = only_pack(read_folder(tmp_path)).execution
    assert isinstance(address, PackRequest)
    assert (address.origin, address.path) == ("https://search.example:8443", "/find?q={{ input.q }}")


BOMBS = {
    "itself": {"$ref": "#"},
    "a circle": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    "doubling": {
        "$defs": {
            **{f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(30)},
            "a30": {"type": "string"},
        },
        "$ref": "#/$defs/a0",
    },
    "a network": {"$ref": "http://127.0.0.1/s.json"},
    "a pattern that backtracks": {"type": "string", "pattern": r"(a+)+\1$"},
    "an unknown keyword": {"type": "string", "$dynamicRef": "#a"},
    "breadth": {"enum": list(range(5_000))},
}


@pytest.mark.parametrize("name", BOMBS)
def test_schemas_that_could_cost_without_bound_are_refused(name: str) -> None:
    with pytest.raises(SchemaRefused):
        read_schema(BOMBS[name])


def test_a_schema_with_references_to_itself_is_made_flat() -> None:
    schema = read_schema(
        {"$defs": {"n": {"type": "integer", "minimum": 2}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
    )
    assert schema.document == {"properties": {"a": {"type": "integer", "minimum": 2}}}
    assert schema.explain({"a": 1}) == "a: is less than 2"


def test_a_reason_never_repeats_the_value() -> None:
    schema = read_schema({"type": "object", "properties": {"a": {"enum": ["x"]}}, "additionalProperties": False})
    assert schema.explain({"a": "secret"}) == "a: is not one of ['x']"
    nested: Any = 1
    for _ in range(100):
        nested = [nested]
    assert schema.explain(nested) == "nested more than 64 levels"


@given(st.text(max_size=50))
def test_a_value_in_a_url_is_one_part_of_it_whatever_it_says(value: str) -> None:
    written = render("/a/{{ input.q }}", {"input": {"q": value}}, in_url=True)
    assert not set(written.removeprefix("/a/")) & set("/?#&=@:\\ \r\n%".replace("%", ""))


@given(st.text(max_size=50))
def test_a_value_is_inserted_as_it_is_and_never_read_as_a_template(value: str) -> None:
    hostile = "{{ 7 * 7 }}{% for x in y %}" + value
    assert render("{{ input.items }}", {"input": {"items": hostile}}) == hostile


@pytest.mark.parametrize(
    "text", ["{{ input.missing }}", "{{ input }}", "{{ input.__class__ }}", "{{ input.q | tojson"]
)
def test_a_template_that_cannot_be_filled_in_says_so(text: str) -> None:
    with pytest.raises(TemplateRefused):
        _fill_in(text)


def _fill_in(text: str) -> str:
    check_template(text)
    return render(text, {"input": {"q": "x"}})


@pytest.mark.parametrize(
    "text",
    [
        '{"q": "{{ input.q }}"}',
        '{"q": {{ input.q }}}',
        '["{{ input.q | tojson }}"]',
        '{"q": {{ input.q | tojson | lower }}}',
        '{"q": {{ input.q | tojson if input.a else input.b }}}',
        '{"q": {{ input.q | tojson if input.a }}}',
        '{"a": "\\"{{ input.q | tojson }}"}',
        '{"a": "{% if input.a %}"{{ input.q | tojson }}{% endif %}}',
        '{"q": {% if input.a %}{{ input.q }}{% else %}1{% endif %}}',
        '{"q": "{{ input.q | tojson }}',
    ],
)
def test_a_template_of_json_that_an_input_could_extend_is_refused(text: str) -> None:
    with pytest.raises(TemplateRefused):
        check_json_template(text)


@pytest.mark.parametrize("value", ['", "admin": true, "x": "', "\\", '\\", "admin": "', "\x00\u2028", "}"])
@pytest.mark.parametrize(
    "text",
    [
        '{"a": "\\\\", "q": {{ input.q | tojson }}}',
        '{"q": {{ ("for " ~ input.q) | tojson }}, "b": "\\""}',
        '{"q": {% if input.q %}{{ input.q | tojson }}{% else %}null{% endif %}}',
        '{"q": {{ input.q | tojson if input.q else 1 | tojson }}}',
    ],
)
def test_a_value_in_json_stays_one_value_whatever_it_says(text: str, value: str) -> None:
    check_json_template(text)
    filled = json.loads(render(text, {"input": {"q": value}}))
    assert (filled["q"].removeprefix("for "), filled.keys() <= {"a", "b", "q"}) == (value, True)


@pytest.mark.parametrize(
    "execution",
    [
        {"kind": "http", "url": "http://localhost/", "body": '{"q": "{{ input.q }}"}'},
        {"kind": "cli", "cmd": ["cat"], "stdin": '{"q": "{{ input.q }}"}'},
        {"kind": "cli", "cmd": ["cat"], "stdin": '[{"q": "{{ input.q }}"}]'},
        {"kind": "cli", "cmd": ["echo", '{"q": "{{ input.q }}"}']},
        {"kind": "cli", "cmd": ["echo", '--data={"q": "{{ input.q }}"}']},
        {"kind": "cli", "cmd": ["echo", '[["{{ input.q }}"]]']},
    ],
)
def test_a_pack_whose_json_an_input_could_extend_is_left_out(tmp_path: Path, execution: dict[str, Any]) -> None:
    write_pack(tmp_path, execution=execution, caps={"network": ["http"]})
    assert "is inserted within a string of the JSON" in reason(read_folder(tmp_path))


@pytest.mark.parametrize(
    ("folder", "granted"),
    [("bin", False), (".local/bin", False), (".local/share/pythons/3.13/bin", True), ("python/bin", True)],
)
def test_an_interpreter_in_the_home_grants_no_folder_that_holds_the_home_or_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, granted: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("WINNOW_STORE", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    program = tmp_path / folder / "python3"
    program.parent.mkdir(parents=True)
    program.write_text("")
    program.chmod(0o755)
    assert (str(program.parents[1]) in _readable(tmp_path, program)) is granted
    store = program.parents[1] / "store"
    assert str(program.parents[1]) not in _readable(tmp_path, program, store)
    monkeypatch.setenv("WINNOW_STORE", str(store))
    assert str(program.parents[1]) not in _readable(tmp_path, program)


def test_a_pack_in_the_home_itself_grants_its_script_and_not_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "packs" / "a"
    for home, granted in ((tmp_path / "elsewhere", True), (own, False)):
        monkeypatch.setenv("HOME", str(home))
        readable = _readable(tmp_path, tmp_path / "python" / "bin" / "python3")
        assert (str(own) in readable, str(own / "tool.py") in readable) == (granted, True)


def test_an_environment_grants_its_own_folder_and_that_of_its_interpreter(tmp_path: Path) -> None:
    own, environment = tmp_path / "python", tmp_path / "environment"
    for each in (own, environment):
        (each / "bin").mkdir(parents=True)
    (own / "bin" / "python3").write_text("")
    (own / "bin" / "python3").chmod(0o755)
    (environment / "bin" / "python3").symlink_to(own / "bin" / "python3")
    program = environment / "bin" / "python3"
    assert str(environment) not in _readable(tmp_path, program)  # a folder with a link is no environment
    (environment / "pyvenv.cfg").write_text("")
    assert {str(environment), str(own)} <= set(_readable(tmp_path, program))
    (environment / "lib").mkdir()
    beside = set(_readable(tmp_path, program, environment / "store"))
    granted = {str(environment / name) for name in ("pyvenv.cfg", "lib")}
    assert (granted <= beside, str(environment) in beside) == (True, False)


def _readable(folder: Path, python: Path, store: Path = Path("/nowhere")) -> Sequence[str]:
    """What a pack with this interpreter may read, of a server with this store."""
    script = folder / "packs" / "a" / "tool.py"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text("")
    write_pack(folder / "packs", execution={"kind": "python", "script": "./tool.py", "python": "python3"})
    pack = only_pack(read_folder(folder / "packs"))
    assert isinstance(pack.execution, PackProgram)
    return build_call(pack, replace(pack.execution, program=python), {"q": "x"}, b"", store).readable
