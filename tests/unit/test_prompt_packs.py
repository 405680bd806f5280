"""Packs of prompts: what is read of a folder, what is left out, and what a filled-in prompt says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from winnow.server.commands.packs.prompts import app
from winnow.server.errors import WinnowError
from winnow.server.text.printable import printable
from winnow.server.tools.prompts.library import PromptLibrary, load_prompts
from winnow.server.tools.prompts.reading import SHIPPED, Pack, read_pack
from winnow.server.tools.prompts.records import Prompt

SPECIFICATION = """\
title: Compare two things
description: Compares two things by what the knowledge base says.
input:
  type: object
  properties:
    first: {type: string, description: one thing, maxLength: 50}
    second: {type: string, description: another thing, examples: [apples, Apricots, pears]}
    length: {type: string, description: how long, enum: [short, long]}
  required: [first, second]
"""
BODY = "Compare {{ first }} with {{ second }}{% if length %}; {{ length }}{% endif %}.\n"


fill, complete = PromptLibrary(()).fill, PromptLibrary(()).complete


def write_pack(
    folder: Path,
    *,
    registry: str = "prompts: [{id: team/compare, versions: [1]}]",
    specification: str = SPECIFICATION,
    bodies: dict[int, str] | None = None,
    parts: dict[str, str] | None = None,
) -> Path:
    own = folder / "packs" / "team"
    (own / "parts").mkdir(parents=True, exist_ok=True)
    (folder / "REGISTRY.yaml").write_text(registry)
    (own / "compare.spec.yaml").write_text(specification)
    for major, body in (bodies or {1: BODY}).items():
        (own / f"compare.v{major}.md").write_text(body)
    for name, text in (parts or {}).items():
        (own / "parts" / name).write_text(text)
    return folder


def only_prompt(pack: Pack) -> Prompt:
    assert pack.left_out == ()
    (prompt,) = pack.prompts
    return prompt


def reason(pack: Pack) -> str:
    """Why the only prompt of a folder, or the folder, was left out."""
    assert pack.prompts == ()
    ((why),) = [each.why for each in pack.left_out]
    return why


def test_the_prompts_that_come_with_winnow_are_all_read() -> None:
    pack = read_pack(SHIPPED)
    assert pack.left_out == ()
    assert [prompt.uri for prompt in pack.prompts] == [
        "mcp.prompt:winnow/answer_question@1",
        "mcp.prompt:winnow/cited-answer@1",
        "mcp.prompt:winnow/write_script@1",
        "mcp.prompt:winnow/research@1",
        "mcp.prompt:winnow/contradictions@1",
        "mcp.prompt:winnow/explore@1",
    ]


def test_a_prompt_of_a_folder_takes_several_arguments(tmp_path: Path) -> None:
    prompt = only_prompt(read_pack(write_pack(tmp_path)))
    assert fill(prompt, {"first": " tea ", "second": "coffee"}, []) == "Compare tea with coffee."
    assert fill(prompt, {"first": "tea", "second": "coffee", "length": "short"}, []).endswith("coffee; short.")
    assert prompt.listed_name == "team.compare"
    assert prompt.input_schema() == {
        "type": "object",
        "properties": {
            "first": {"type": "string", "description": "one thing", "minLength": 1, "maxLength": 50},
            "second": {
                "type": "string",
                "description": "another thing",
                "minLength": 1,
                "maxLength": 4000,
                "examples": ["apples", "Apricots", "pears"],
            },
            "length": {
                "type": "string",
                "description": "how long",
                "minLength": 1,
                "maxLength": 4000,
                "enum": ["short", "long"],
            },
        },
        "required": ["first", "second"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "arguments",
    [
        {"first": "tea"},
        {"first": "tea", "second": " \n"},
        {"first": "x" * 51, "second": "tea"},
        {"first": "tea", "second": "tea", "length": "medium"},
        {"first": "tea", "second": "tea", "third": "tea"},
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_what_the_prompt_takes(
    tmp_path: Path, arguments: dict[str, str]
) -> None:
    prompt = only_prompt(read_pack(write_pack(tmp_path)))
    with pytest.raises(WinnowError) as caught:
        fill(prompt, arguments, [])
    assert caught.value.reason == "INVALID_REQUEST"
    assert "first: one thing (1 to 50 characters)" in caught.value.message


def test_completion_offers_choices_and_examples_that_begin_with_what_is_written(tmp_path: Path) -> None:
    prompt = only_prompt(read_pack(write_pack(tmp_path)))
    assert list(complete(prompt, "second", "ap")) == ["apples", "Apricots"]
    assert list(complete(prompt, "length", "")) == ["short", "long"]
    assert list(complete(prompt, "first", "t")) == []
    with pytest.raises(WinnowError, match="it takes first: one thing"):
        complete(prompt, "fourth", "")


def test_the_newest_two_versions_are_found_by_name_and_number(tmp_path: Path) -> None:
    registry = 'prompts: [{id: team/compare, versions: [1, 2, 3], deprecated: {2: "use team.compare@3"}}]'
    earlier = "earlier:\n  2: {type: object, properties: {first: {type: string, description: one thing}}}\n"
    folder = write_pack(
        tmp_path,
        registry=registry,
        specification=SPECIFICATION + earlier,
        bodies={2: "Old: {{ first }}", 3: BODY},
    )
    library = load_prompts([folder])
    assert library.left_out == ()
    listed = [(prompt.listed_name, prompt.deprecated) for prompt in library.prompts if prompt.domain == "team"]
    assert listed == [("team.compare", ""), ("team.compare@2", "use team.compare@3")]
    found = {
        name: library.find(name, []).major
        for name in (
            "team.compare",
            "team.compare@3",
            "team.compare@2",
            "team/compare",
            "team/compare@2",
            "mcp.prompt:team/compare@2",
            "mcp.prompt:team/compare",
        )
    }
    assert list(found.values()) == [3, 3, 2, 3, 2, 2, 3]
    assert fill(library.find("team.compare@2", []), {"first": "tea"}, []) == "Old: tea"
    with pytest.raises(WinnowError, match=r"unknown prompt 'team.compare@1'; this server has: answer_question, "):
        library.find("team.compare@1", [])


def test_parts_are_shared_by_the_texts_of_a_domain(tmp_path: Path) -> None:
    body = '{% include "parts/rules.md" %}\n\n{{ first }}, {{ second }}, {{ length }}'
    folder = write_pack(tmp_path, bodies={1: body}, parts={"rules.md": "Be brief about {{ first }}."})
    filled = fill(only_prompt(read_pack(folder)), {"first": "tea", "second": "milk"}, [])
    assert filled == "Be brief about tea.\ntea, milk,"


def test_parts_of_parts_are_checked_too(tmp_path: Path) -> None:
    parts = {"outer.md": '{% include "parts/inner.md" %}', "inner.md": "{{ fourth }}"}
    folder = write_pack(tmp_path, bodies={1: '{% include "parts/outer.md" %}'}, parts=parts)
    assert "parts/inner.md: 'fourth' is neither an argument" in reason(read_pack(folder))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"registry": "prompts: {"}, "REGISTRY.yaml: line 1:"),
        ({"registry": "prompts: [{id: team/compare, versions: [0]}]"}, "prompts.0.versions.0: Input should be"),
        ({"registry": "prompts: [{id: ../compare, versions: [1]}]"}, "prompts.0.id: an id is DOMAIN/NAME"),
        ({"registry": "prompts: [{id: team/compare, versions: [4]}]"}, "packs/team/compare.v4.md is not there"),
        (
            {"registry": "prompts: [{id: team/missing, versions: [1]}]"},
            "packs/team/missing.spec.yaml is not there",
        ),
        ({"registry": "prompts: [{id: winnow/compare, versions: [1]}]"}, "the domain winnow is for"),
        (
            {"registry": "prompts: [{id: team/compare, versions: [1], deprecated: [1]}]"},
            "as {1: use team.compare}",
        ),
        (
            {"registry": "prompts: [{id: team/compare, versions: [1], deprecated: {7: x}}]"},
            "names version 7, which",
        ),
        ({"registry": "prompts: [{id: team/compare, versions: [1], title: x}]"}, "there is no field 'title' here"),
        ({"registry": "[" * 200}, "REGISTRY.yaml: nested too deeply"),
        ({"registry": "a: &a [x]\nb: {<<: *a}"}, "REGISTRY.yaml: merge keys"),
        ({"registry": "#" * 70_000}, "REGISTRY.yaml: it is larger than 64 KiB"),
        ({"registry": "# " + "ä" * 40_000}, "REGISTRY.yaml: it is larger than 64 KiB"),
        ({"specification": "title: only"}, "compare.spec.yaml: description: Field required"),
        ({"specification": SPECIFICATION.replace("[first, second]", "[fourth]")}, "names 'fourth'"),
        ({"specification": SPECIFICATION.replace("type: string", "type: integer")}, "input.properties.first.type"),
        ({"bodies": {1: "{{ fourth }}"}}, "compare.v1.md: 'fourth' is neither an argument"),
        ({"bodies": {1: "{{ explain('foo') }}"}}, "compare.v1.md: line 1: explain() knows no 'foo'"),
        ({"bodies": {1: "{{ explain(first) }}"}}, "a call is not for prompts, but of explain()"),
        ({"bodies": {1: "{% if %}"}}, "compare.v1.md: line 1: Expected an expression"),
        ({"bodies": {1: '{% include "parts/none.md" %}'}}, "includes 'parts/none.md', which is not there"),
        ({"bodies": {1: '{% include "/etc/passwd" %}'}}, "includes '/etc/passwd', which is not there"),
    ],
)
def test_what_cannot_be_used_is_left_out_with_its_reason(
    tmp_path: Path, changed: dict[str, str], why: str
) -> None:
    assert why in reason(read_pack(write_pack(tmp_path, **changed)))  # type: ignore[arg-type]


def test_a_version_that_cannot_be_used_keeps_out_no_other(tmp_path: Path) -> None:
    registry = "prompts: [{id: team/compare, versions: [1, 2]}]"
    pack = read_pack(write_pack(tmp_path, registry=registry, bodies={1: BODY, 2: "{{ fourth }}"}))
    assert [prompt.listed_name for prompt in pack.prompts] == ["team.compare@1"]
    assert [each.what.rpartition(" ")[2] for each in pack.left_out] == ["team/compare@2"]


def test_what_may_be_a_mistake_is_noted(tmp_path: Path) -> None:
    pack = read_pack(write_pack(tmp_path, bodies={1: "{{ first }} {{ second }}", 3: "not listed"}))
    assert (len(pack.prompts), pack.left_out) == (1, ())
    assert pack.notes == (
        "packs/team/compare.v1.md does not use the argument 'length'",
        "packs/team/compare.v3.md is not among the versions that REGISTRY.yaml lists",
    )


def test_prompts_that_the_registry_does_not_name_are_noted(tmp_path: Path) -> None:
    write_pack(tmp_path)
    for number in range(12):
        (tmp_path / "packs" / "team" / f"new{number:02}.v1.md").write_text("A text.")
    (tmp_path / "packs" / "team" / "new00.spec.yaml").write_text(SPECIFICATION)
    pack = read_pack(tmp_path)
    assert (len(pack.prompts), pack.left_out, len(pack.notes)) == (1, (), 11)
    assert pack.notes[0] == "packs/team/new00: REGISTRY.yaml does not name this prompt, so it is not offered"
    assert pack.notes[-1] == "REGISTRY.yaml does not name 2 further prompts"


def test_a_new_folder_of_prompts_is_one_that_is_offered(tmp_path: Path) -> None:
    made = CliRunner().invoke(app, ["new", str(tmp_path / "mine"), "--id", "docs/ask"])
    again = CliRunner().invoke(app, ["new", str(tmp_path / "mine")])
    checked = CliRunner().invoke(app, ["check", str(tmp_path / "mine"), "--json"])
    listed = CliRunner().invoke(app, ["list", "--prompt-packs", str(tmp_path / "mine"), "--json"])
    assert (made.exit_code, again.exit_code, checked.exit_code) == (0, 2, 0)
    assert json.loads(checked.stdout)["notes"] == []
    assert [prompt["id"] for prompt in json.loads(listed.stdout)["prompts"]][-1] == "docs/ask"
    assert "--prompt-packs" in made.stdout


def test_a_folder_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    assert reason(read_pack(tmp_path / "none")) == "there is no such folder"


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
@pytest.mark.parametrize("name", [".", "REGISTRY.yaml", "packs/team/compare.v1.md"])
def test_files_that_others_may_write_are_left_out(tmp_path: Path, name: str) -> None:
    folder = write_pack(tmp_path)
    path = folder / name
    path.chmod(path.stat().st_mode | 0o022)
    assert "others may write it" in reason(read_pack(folder))


@pytest.mark.parametrize("name", ["packs", "packs/team", "packs/team/parts", "packs/team/parts/a.md"])
def test_a_link_in_a_pack_leads_to_no_file(tmp_path: Path, name: str) -> None:
    """It may come with a pack of somebody else, and would show a private file to all clients."""
    folder = write_pack(tmp_path / "pack", parts={"a.md": "text"})
    link = folder / name
    moved = link.rename(tmp_path / "elsewhere")
    link.symlink_to(moved)
    assert f"it is a symbolic link: {link}" in reason(read_pack(folder))


def test_a_folder_of_a_pack_that_others_may_write_is_refused(tmp_path: Path) -> None:
    folder = write_pack(tmp_path)
    (folder / "packs" / "team").chmod(0o777)
    assert "others may write it" in reason(read_pack(folder))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("{{ first.__class__.__mro__ }}", "line 1: a getattr is not for prompts"),
        ("{{ first|attr('__class__') }}", "line 1: the filter 'attr' is not for prompts"),
        ("{{ tools.add('x') }}", "line 1: a call is not for prompts"),
        ("{{ first['__class__'] }}", "line 1: a getitem is not for prompts"),
        ("\n{{ first * 999999999 }}", "line 2: a mul is not for prompts"),
        ("{{ '%999999999s' % first }}", "line 1: a mod is not for prompts"),
        ("{{ first|center(999999999) }}", "line 1: the filter 'center' is not for prompts"),
        ("{% for a in first %}{{ a }}{% endfor %}", "line 1: a for is not for prompts"),
        ("{% set a = first %}{{ a }}", "line 1: a assign is not for prompts"),
        ("{% macro a() %}{% endmacro %}", "line 1: a macro is not for prompts"),
        ("{% include first %}", "includes None, which is not there"),
        ("{{ self }}", "'self' is neither an argument nor tools"),
    ],
)
def test_a_template_has_texts_arguments_conditions_and_parts_alone(tmp_path: Path, body: str, why: str) -> None:
    assert why in reason(read_pack(write_pack(tmp_path, bodies={1: body})))


def test_conditions_and_filters_of_texts_are_for_templates(tmp_path: Path) -> None:
    body = "{{ first|upper }}{% if 'x' in tools and not length %}, {{ second|default('-') }}{% endif %}"
    body += "{{ tools|length }}"
    prompt = only_prompt(read_pack(write_pack(tmp_path, bodies={1: body})))
    assert fill(prompt, {"first": "tea", "second": "milk"}, ["x", "y"]) == "TEA, milk2"


def test_the_filter_default_stands_for_an_argument_that_was_left_out(tmp_path: Path) -> None:
    body = "{{ first }} {{ second }} {{ length | default('of any length') }}"
    prompt = only_prompt(read_pack(write_pack(tmp_path, bodies={1: body})))
    assert fill(prompt, {"first": "tea", "second": "milk"}, []) == "tea milk of any length"
    assert fill(prompt, {"first": "tea", "second": "milk", "length": "short"}, []) == "tea milk short"


def test_parts_that_include_each_other_are_refused(tmp_path: Path) -> None:
    twice = {f"{number}.md": f'{{% include "parts/{number + 1}.md" %}}' * 2 for number in range(30)}
    endless = {"0.md": '{% include "parts/1.md" %}', "1.md": '{% include "parts/0.md" %}'}
    whys = [
        reason(read_pack(write_pack(tmp_path / name, bodies={1: '{% include "parts/0.md" %}'}, parts=parts)))
        for name, parts in (("a", {**twice, "30.md": "end"}), ("b", endless))
    ]
    assert whys == [
        "packs/team/compare.v1.md: its parts include others more than 200 times in all",
        "packs/team/compare.v1.md: parts/0.md includes itself",
    ]


def test_a_text_that_grows_too_long_is_refused_while_it_is_written(tmp_path: Path) -> None:
    prompt = only_prompt(read_pack(write_pack(tmp_path, bodies={1: "{{ first }}" * 1_000})))
    with pytest.raises(WinnowError, match=r"team/compare@1: the text is longer than 40,000 characters"):
        fill(prompt, {"first": "x" * 50, "second": "milk"}, [])


@given(st.text(min_size=1, max_size=50))
def test_an_argument_is_never_read_as_a_template(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    prompt = only_prompt(read_pack(write_pack(tmp_path_factory.getbasetemp() / "pack")))
    written = printable(f"{{{{ second }}}}{{% if x %}}{text}")[:50].strip()
    assert fill(prompt, {"first": written, "second": "milk"}, []) == f"Compare {written} with milk."


def test_of_two_prompts_with_one_id_the_first_is_kept(tmp_path: Path) -> None:
    first, second = write_pack(tmp_path / "a"), write_pack(tmp_path / "b", bodies={1: "Other: {{ first }}"})
    library = load_prompts([first, second])
    assert [each.why for each in library.left_out] == ["another prompt already has this name"]
    filled = fill(library.find("team.compare", []), {"first": "tea", "second": "milk"}, [])
    assert filled == "Compare tea with milk."
