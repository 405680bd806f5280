"""Graphs of source code: definitions, imports and calls."""

from __future__ import annotations

import ast

import pytest

from tests.graphs import Corpus
from winnow.server.readers.extraction.code import module_name, read_code

WALK = '''"""Walks."""

import os.path
import numpy as np
from . import records
from .base import Store as Base, open_store
from ..errors import Trouble


class Walker(Base):
    """Walks."""

    def step(self) -> None:
        self.rest()
        helper(np.zeros(3))
        unknown.thing()

    def rest(self) -> None:
        raise Trouble(open_store())


def helper(matrix):
    def inner():
        return helper(matrix)
    return records.Node(matrix), inner()


async def later():
    return os.path.join("a", "b")
'''


def test_a_python_file_defines_its_module_classes_functions_and_methods() -> None:
    code = read_code("server/graph/walk.py", WALK)
    assert (code.module, {(one.type, one.name, one.short) for one in code.definitions}) == (
        "server.graph.walk",
        {
            ("module", "server.graph.walk", ""),
            ("class", "server.graph.walk.Walker", "Walker"),
            ("function", "server.graph.walk.Walker.step", ""),
            ("function", "server.graph.walk.Walker.rest", ""),
            ("function", "server.graph.walk.helper", "helper"),
            ("function", "server.graph.walk.helper.inner", ""),
            ("function", "server.graph.walk.later", "later"),
        },
    )


def test_imports_are_by_full_name_wherever_they_start() -> None:
    code = read_code("server/graph/walk.py", WALK)
    assert {use.target for use in code.uses if use.kind == "IMPORTS"} == {
        "os.path",
        "numpy",
        "server.graph",
        "server.graph.base",
        "server.errors",
    }


def test_a_call_counts_where_the_file_itself_says_whose_it_is() -> None:
    code = read_code("server/graph/walk.py", WALK)
    walker = "server.graph.walk.Walker"
    assert {(use.source, use.target) for use in code.uses if use.kind == "CALLS"} == {
        (f"{walker}.step", f"{walker}.rest"),
        (f"{walker}.step", "server.graph.walk.helper"),
        (f"{walker}.step", "numpy.zeros"),
        (f"{walker}.rest", "server.errors.Trouble"),
        (f"{walker}.rest", "server.graph.base.open_store"),
        ("server.graph.walk.helper.inner", "server.graph.walk.helper"),
        ("server.graph.walk.helper", "server.graph.records.Node"),
        ("server.graph.walk.later", "os.path.join"),
    }


def test_a_module_is_named_by_its_path_below_what_is_no_package() -> None:
    uris = ("pkg/mod.py", "src/pkg/mod.py", "lib/pkg/__init__.py", "mod.pyi", "__init__.py", "src.py")
    assert [module_name(uri) for uri in uris] == ["pkg.mod", "pkg.mod", "pkg", "mod", "__init__", "src"]


OTHERS = {
    "app.go": (
        "func (s *Server) Start(a int) {\n}\n\ntype Server struct {\n}\n",
        {"Start": "function", "Server": "identifier"},
    ),
    "app.rs": ("pub struct Pool;\n\npub async fn run() {}\n", {"Pool": "class", "run": "function"}),
    "app.ts": ("export default class Shop {}\n\nexport interface Cart {}\n", {"Shop": "class", "Cart": "class"}),
    "app.proto": ("service Orders {\n}\n\nmessage Order {\n}\n", {"Orders": "identifier", "Order": "identifier"}),
    "old.py": ('def f():\n    print "two"\n\nclass Two:\n    pass\n', {"f": "function", "Two": "class"}),
    "nothing.css": ("a { color: red }\n", {}),
}


@pytest.mark.parametrize(("uri", "text", "expected"), [(uri, *row) for uri, row in OTHERS.items()], ids=OTHERS)
def test_other_languages_and_python_that_does_not_parse_are_read_by_their_words(
    uri: str, text: str, expected: dict[str, str]
) -> None:
    code = read_code(uri, text)
    assert ({one.short: one.type for one in code.definitions}, code.uses) == (expected, ())


@pytest.mark.parametrize("text", ["(" * 5000, "-" * 50_000 + "1", "x = \0", "def f(:", "\ufeffimport os", "'\\d'"])
def test_python_that_the_parser_refuses_is_no_error(text: str) -> None:
    assert read_code("a.py", text).module in ("", "a")


def test_a_project_of_files_is_one_graph_of_modules_and_names() -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/a.py": "from pkg.b import run\n\n\ndef main():\n    run()\n",
        "pkg/b.py": "def run():\n    return 1\n",
        "guide.md": "# Guide\n\nCall `pkg.b.run` first; `run` alone is enough.",
    }
    corpus = Corpus(files)
    assert corpus.edges_by_name("IMPORTS") == {("pkg.a", "pkg.b")}
    assert corpus.edges_by_name("CALLS") == {("pkg.a.main", "pkg.b.run")}
    assert corpus.edges_by_name("ALIAS_OF") == {("main", "pkg.a.main"), ("run", "pkg.b.run")}
    assert corpus.edges_by_name("MENTIONS") == {("¶Guide", "pkg.b.run"), ("¶Guide", "run")}
    assert ("¶b.py", "pkg.b.run") in corpus.edges_by_name("DEFINES")


def test_evidence_for_a_definition_is_the_chunk_that_holds_it() -> None:
    files = {"a.py": "\n\n".join(f"def f{n}():\n    return '{'word ' * 60}'\n" for n in range(9))}
    corpus = Corpus(files)
    shown = {
        corpus.name(edge.target): [corpus.name(id) for id in edge.evidence] for edge in corpus.edges("DEFINES")
    }
    assert [shown[f"a.f{n}"] for n in range(9)] == [[f"¶f{n}"] for n in range(9)]


def test_a_source_that_cpython_fails_to_parse_at_first_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread that parses at the same time can make ``ast.parse`` fail for a valid source."""
    whole = read_code("server/graph/walk.py", WALK)
    parse, failures = ast.parse, [SystemError("AST constructor recursion depth mismatch")] * 2

    def fail_twice(source: str) -> ast.Module:
        if failures:
            raise failures.pop()
        return parse(source)

    monkeypatch.setattr("winnow.server.readers.extraction.code.ast.parse", fail_twice)
    assert (read_code("server/graph/walk.py", WALK), failures) == (whole, [])
