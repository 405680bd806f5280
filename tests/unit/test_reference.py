"""Reference texts for agents: bounded, and limited to the tools that the server lists."""

from __future__ import annotations

import re

import pytest

from winnow import client_sdk
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.text.words.tokens import count_tokens
from winnow.server.tools.help import _TEXT_TOKENS
from winnow.server.tools.prompts.library import load_prompts
from winnow.server.tools.prompts.rendering import render
from winnow.server.tools.reference.guides import instructions, playbook, recipes
from winnow.server.tools.reference.schemas import answer_table, arguments_table
from winnow.server.tools.reference.sdk import SDK, explain, list_functions, sdk_index, sdk_reference
from winnow.server.tools.table import TOOLS

KB = ("kb_search", "kb_retrieve_evidence", "kb_read_excerpt", "kb_expand_excerpt", "kb_extract_evidence")
GRAPH = ("graph_describe", "graph_expand", "graph_paths", "graph_parents", "graph_children")
PROMPTS = load_prompts(())
BY_NAME = {prompt.name: prompt for prompt in PROMPTS.prompts}
WILD = [tool.name for tool in TOOLS if tool.pack == "claims"]
ALL = (*KB, "semantic_search", *GRAPH, "execute_code", "help", *WILD)


def test_the_playbook_takes_no_more_than_1200_tokens() -> None:
    assert count_tokens(playbook()) <= 1200


def test_there_are_thirteen_recipes_which_help_gives_in_one_portion() -> None:
    assert re.findall(r"^## (.+)$", recipes(), re.MULTILINE) == [
        "List all",
        "Count by",
        "For every page",
        "A table of defaults",
        "Find repeats",
        "Compare",
        "A glossary",
        "Follow links",
        "Sample and classify",
        "Read a document whole",
        "Read code, tables and links of many documents",
        "Verify a quote",
        "Carry on from the last script",
    ]
    assert recipes().count("```python\n") == 13
    assert count_tokens(recipes()) <= 1_500


def test_every_line_of_code_in_the_reference_of_the_sdk_is_in_a_block_of_code() -> None:
    outside = re.sub(r"^```.*?^```$", "", sdk_reference(), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^(?:\w+ = .*|print\(.*|for \w+ in .*)$", outside, re.MULTILINE) == []


def test_a_server_with_every_tool_teaches_the_whole_playbook() -> None:
    assert playbook(ALL) == playbook()


@pytest.mark.parametrize("missing", ["kb_", "graph_", "execute_code"])
def test_a_playbook_says_nothing_of_tools_that_are_not_listed(missing: str) -> None:
    text = playbook([tool for tool in ALL if not tool.startswith(missing)])
    assert missing in playbook()
    assert missing not in text
    assert "semantic_search" in text


@pytest.mark.parametrize(
    ("changed", "absent"),
    [
        ({"kb_v2_enabled": False}, "kb_"),
        ({"execute_code": "off"}, "execute_code"),
        ({"tool_names": "dotted"}, "kb_"),
        ({"tool_names": "dotted"}, "graph_"),
        ({"graph": "off"}, "graph_"),
        ({"kb_v2_enabled": False}, "graph_"),
    ],
)
def test_instructions_follow_the_settings(changed: dict[str, object], absent: str) -> None:
    assert absent in instructions(load_settings())
    assert absent not in instructions(load_settings(**changed))


def test_hosts_that_cut_instructions_at_2048_characters_cut_none_of_ours() -> None:
    assert len(instructions(Settings())) < 2000


@pytest.mark.parametrize(
    ("count", "chars", "named"), [(2, 8, 1), (10, 8, 9), (12, 8, 9), (40, 40, 2), (1000, 64, 1)]
)
def test_instructions_name_as_many_projects_as_hosts_show(count: int, chars: int, named: int) -> None:
    names = [f"{number:04}".rjust(chars, "p") for number in range(count)]
    told = instructions(Settings(project=names[0], projects=tuple(names)))
    assert len(told) < 2000
    assert sum(name in told for name in names[1:]) == named
    assert 'scope {"project_id": NAME}' in told


@pytest.mark.parametrize("others", [(), ("a" * 64, "b" * 64)])
def test_instructions_name_the_notebook_where_it_is_on(others: tuple[str, ...]) -> None:
    told = instructions(load_settings(tools="all,claims", projects=("default", *others)))
    assert ("wild_search(query)" in told, len(told) < 2000) == (True, True)
    assert "wild_" not in instructions(load_settings(tools="all,research,core"))


def test_dotted_servers_spell_the_ladder_with_dots() -> None:
    told = instructions(load_settings(tool_names="dotted"))
    assert [call for call in ("kb.retrieve_evidence(question)", "graph.expand(ids") if call not in told] == []


def test_a_prompt_is_offered_where_its_tool_is() -> None:
    assert [prompt.name for prompt in PROMPTS.offered(ALL)] == list(BY_NAME)
    of_claims = ["research", "contradictions", "explore"]
    assert list(BY_NAME) == ["answer_question", "cited-answer", "write_script", *of_claims]
    assert [prompt.name for prompt in PROMPTS.offered(KB)] == ["answer_question", "cited-answer"]


@pytest.mark.parametrize("name", BY_NAME)
def test_a_prompt_carries_what_was_asked_and_stays_short(name: str) -> None:
    (argument,) = BY_NAME[name].arguments
    text = render(BY_NAME[name], {argument.name: "how are backups encrypted"}, ALL)
    assert "how are backups encrypted" in text
    assert count_tokens(text) < 1000


def test_the_prompt_of_a_server_without_the_ladder_does_not_name_it() -> None:
    prompt = BY_NAME["answer_question"]
    assert "kb_" in render(prompt, {"question": "x"}, ALL)
    assert "kb_" not in render(prompt, {"question": "x"}, ["semantic_search"])


def test_the_sdk_reference_explains_every_function_and_class_a_script_is_given() -> None:
    reference = sdk_reference()
    told_elsewhere = {"KnowledgeBase", "KnowledgeGraph", "ClaimNotebook", "MissingField", "kb", "graph", "claims"}
    assert set(client_sdk.__all__) - told_elsewhere == {name for name in SDK if "." not in name}
    for owner in ("kb", "graph", "claims"):
        methods = {name for name in dir(getattr(client_sdk, owner)) if not name.startswith("_")}
        assert methods <= {name.removeprefix(f"{owner}.") for name in SDK}
    headings = re.findall(r"^## (.+)$", reference, re.MULTILINE)
    assert headings == ["What one run may use", *SDK, "What a script may import"]
    for name in SDK:
        assert explain(name) in reference


def test_the_index_of_the_sdk_is_one_page_with_a_line_for_each_name() -> None:
    index = sdk_index(SDK)
    lines = [line for line in index.splitlines() if line.startswith("- ")]
    assert [re.match(r"- ([\w.]+)", line)[1] for line in lines] == [*SDK]  # type: ignore[index]
    assert "- scan(pattern, …): Every match of a regular expression in all text in scope" in lines
    assert "- budget(): What this run may still use" in lines
    assert [line for line in lines if len(line) > 160] == []
    assert count_tokens(index) <= _TEXT_TOKENS
    assert "smaller Python" in sdk_index(list_functions("monty"), "monty")


def test_a_table_shows_bounds_defaults_and_what_may_be_null() -> None:
    schema = {
        "properties": {
            "query": {"type": "string", "minLength": 2, "maxLength": 1000, "description": "a | b"},
            "top_k": {"type": "integer", "minimum": 1, "maximum": 100, "default": 5},
            "scope": {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}},
        },
        "required": ["query"],
    }
    assert arguments_table(schema).splitlines()[2:] == [
        "| `query` | string | required | 2 to 1,000 characters | a \\| b |",
        "| `top_k` | integer | `5` | 1 to 100 |  |",
        "| `scope` | object |  |  |  |",
        "| `scope.tags` | list of string |  |  |  |",
    ]
    nullable = {"anyOf": [{"type": "string", "maxLength": 200}, {"type": "null"}]}
    assert answer_table({"properties": {"anchor": nullable}}).splitlines()[2:] == [
        "| `anchor` | string or null | at most 200 characters |"
    ]
