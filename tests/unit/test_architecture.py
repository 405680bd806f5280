"""Which modules may import which. Two tables are the rule, checked against every import in the tree.

docs/architecture.md draws the same picture. A new room is a row here, a new vendor a row and a line in
docs/decisions/0002-dependencies.md.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("client_sdk", "sandbox", "security", "server")
INSTALLED_AS = "winnow."  # each of them is imported below it; the tables leave it out
ANYTHING = "*"

# Room -> the rooms it may import; its own modules are always in reach. A room is a folder, with the folders in it
# that have no row of their own; `server` is the modules directly in it. The order is that of the layers: a row
# names only rooms that stand above it.
ROOMS: Mapping[str, str] = {
    # what scripts see, and what runs them
    "client_sdk": "",
    # both sides of the trust boundary
    "sandbox.protocol": "",
    "sandbox.walls": "sandbox.protocol",
    # the trusted side (`parent` and `runners`): it does not import the child, its language or its modules
    "sandbox": "sandbox.protocol sandbox.walls",
    # the untrusted side: it does not import the parent or the runners
    "sandbox.child": "client_sdk sandbox.protocol sandbox.walls",
    # records, rules and what a process holds
    "server": "",
    "server.text": "server",
    "server.settings": "server server.text",
    "server.runtime": "server server.text server.settings",
    # the core: over protocols, never over a vendor
    "server.storage": "server server.text server.settings server.runtime",
    "server.bibliographies": "server server.text server.runtime",
    "server.retrieval": "server server.text server.runtime server.storage",
    "server.contracts": "server server.text server.retrieval",
    "server.claims": "server server.text server.runtime server.storage server.bibliographies",
    # the vendors
    "server.backends": "server server.text server.settings server.runtime server.storage server.retrieval "
    "server.claims",
    # files into the index: `readers` run in children behind the walls, `ingest` starts them, checks their answers
    "server.readers": "server server.text server.bibliographies server.retrieval server.backends",
    "server.ingest": "sandbox.protocol sandbox.walls sandbox server server.text server.runtime server.storage "
    "server.bibliographies server.retrieval server.readers",
    "server.jobs": "server server.text server.settings server.runtime server.storage server.bibliographies "
    "server.retrieval server.claims server.backends server.readers server.ingest",
    "server.projects": "server server.text server.settings server.storage server.retrieval server.claims "
    "server.backends server.readers server.ingest server.jobs",
    # the seam, and what asks it
    "server.operations": "server server.text server.settings server.runtime server.storage server.bibliographies "
    "server.retrieval server.contracts server.claims server.ingest server.jobs",
    "server.engine": "server server.text server.settings server.runtime server.storage server.bibliographies "
    "server.contracts server.backends server.readers server.ingest server.jobs server.projects server.operations",
    "server.tools": "client_sdk sandbox.protocol sandbox sandbox.child server server.text server.settings "
    "server.runtime server.storage server.bibliographies server.contracts server.jobs server.operations",
    # attacks on all of these
    "security": "client_sdk sandbox server server.readers server.ingest server.tools",
    # the outermost rooms
    "server.transports": "server server.text server.settings server.runtime server.storage server.bibliographies "
    "server.contracts server.operations server.tools",
    "server.console": "server server.text server.settings server.runtime server.storage server.contracts "
    "server.operations server.tools server.transports",
    "server.commands": ANYTHING,
}

# Third-party package -> the modules that may import it ("x." is everything below x).
VENDORS: Mapping[str, str] = {
    "mcp": "server.transports. server.commands.fastmcp_server server.commands.demonstration.client "
    "server.commands.token_benchmark. server.commands.setup.handshake",
    "mcp_types": "server.transports. server.console.",
    "starlette": "server.console. server.transports.http server.transports.origins server.transports.access. "
    "server.transports.oidc."
    " server.transports.operating. server.transports.facade.routes server.transports.extensions.server_card",
    "h11": "server.transports.connections",
    "uvicorn": "server.transports.http server.transports.connections server.transports.operating.draining",
    "RestrictedPython": "sandbox.",
    "pydantic_monty": "sandbox.child.monty_child",
    "pydantic": "server.",
    "pydantic_core": "server.contracts.parsing server.commands.terminal.flags",
    "typer": "server.commands.entry.cli server.commands.",
    "rich": "server.commands.",
    "numpy": "server.backends. server.storage.base server.claims.vectors server.claims.indexes.word_ranking "
    "server.commands.token_benchmark.statistics server.retrieval.graph.csr_graph "
    "server.retrieval.graph.traversal"
    " server.retrieval.graph.path_search server.retrieval.graph.page_rank "
    "server.retrieval.graph.merged_graph server.retrieval.graph.cooccurrence "
    "server.readers.page_pictures.drawing",
    "tiktoken": "server.text.words.tokens",
    "orjson": "server.engine.wire",
    "cachetools": "server.runtime.caches server.runtime.sessions.result_store server.runtime.sessions.owners "
    "server.runtime.sessions.saved_values"
    " server.runtime.sessions.passage_store server.transports.facade.replays"
    " server.transports.extensions.long_calls",
    "psutil": "server.commands.benchmarks.sandbox server.commands.health sandbox.runners.child_process "
    "sandbox.runners.programs "
    "security.soak",
    "packaging": "server.commands.health",
    "qdrant_edge": "server.backends.vectors.edge",
    "qdrant_client": "server.backends.vectors.qdrant",
    "neo4j": "server.backends.graphs.neo4j",
    "onnx": "server.backends.models.installed.bert_graph",
    "onnxruntime": "server.backends.models.onnx_runtime",
    "tokenizers": "server.backends.models.",
    "httpx": "server.backends.models.openai_api server.bibliographies.zotero.local_api "
    "server.tools.operator_packs.http_calls"
    " server.claims.http_notebook"
    " server.transports.oidc.issuer_keys",
    "jwt": "server.transports.oidc. security.token_issuer",
    "cryptography": "security.token_issuer",
    "re2": "server.operations.corpus.patterns server.ingest.selection.ignore_files "
    "server.tools.operator_packs.schemas",
    "watchfiles": "server.jobs.watching.events",
    "pathspec": "server.ingest.selection.ignore_files",
    "regex": "server.readers.extraction.gazetteer",
    "snowballstemmer": "server.retrieval.lexical",
    "py3langid": "server.text.words.languages",
    "semantic_text_splitter": "server.readers.chunking",
    "markdown_it": "server.readers.chunking",
    "selectolax": "server.readers.markup server.readers.page_furniture server.readers.page_roles",
    "chardetng_py": "server.readers.decoding",
    "docutils": "server.readers.markup",
    "liteparse": "server.readers.formats.pdf_liteparse",
    "pypdfium2": "server.readers.pdf. server.readers.pdf_characters. server.readers.page_pictures.",
    "mammoth": "server.readers.formats.docx",
    "python_calamine": "server.readers.formats.workbook",
    "tzdata": "sandbox.child.modules.time_zones",
    "yaml": "server.text.markup.bounded_yaml",
    "jsonschema": "server.tools.operator_packs.schemas",
    "jinja2": "server.tools.prompts.rendering server.tools.prompts.template_check "
    "server.tools.operator_packs.templates server.console.rendering",
    "bibtexparser": "server.bibliographies.formats.bibtex",
    "pylatexenc": "server.bibliographies.formats.latex",
    "rispy": "server.bibliographies.formats.ris",
    "citeproc": "server.bibliographies.csl_styles",
    "lxml": "server.bibliographies.csl_styles",
    "ir_measures": "server.retrieval.evaluation",
}

# Packages that only the doctor may import.
ONLY_FROM: Mapping[str, str] = {"security": "server.commands.doctor"}


@dataclass(frozen=True, slots=True)
class Import:
    """``importer`` (a dotted module) imports ``imported`` (a dotted name) in this line."""

    importer: str
    imported: str
    line: int

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def _modules() -> Mapping[str, Path]:
    found = {}
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        # Programs for the sandbox, not modules of ours.
        if parts[:2] != ("security", "attacks") and parts[:3] != ("server", "data", "skills"):
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = _modules()
ALL_TREES = {name: ast.parse(path.read_text("utf-8")) for name, path in MODULES.items()}


def _folders(package: str) -> list[str]:
    """Folders directly below ``package``, as the architecture page writes them."""
    found = {name.split(".")[1] for name in MODULES if name.startswith(f"{package}.")}
    return sorted(f"{folder}/" for folder in found if (ROOT / package / folder).is_dir())


@pytest.mark.parametrize("package", ["sandbox", "server"])
def test_the_map_names_each_folder_once(package: str) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition(f"## The rooms of `{package}/`")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"^\| `([\w/]+/)` \|", table, re.MULTILINE)) == _folders(package)


def _imports() -> Iterator[Import]:
    for module, path in MODULES.items():
        for node in ast.walk(ALL_TREES[module]):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield Import(module, alias.name.removeprefix(INSTALLED_AS), node.lineno)
            elif isinstance(node, ast.ImportFrom):
                origin = _absolute(node, module, path)
                for alias in node.names:
                    inside = f"{origin}.{alias.name}".removeprefix(INSTALLED_AS)
                    yield Import(module, inside if inside in MODULES else origin, node.lineno)


def _absolute(node: ast.ImportFrom, module: str, path: Path) -> str:
    if not node.level:
        return (node.module or "").removeprefix(INSTALLED_AS)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for _ in range(node.level - 1):
        package = package.rpartition(".")[0]
    return f"{package}.{node.module}" if node.module else package


IMPORTS = tuple(_imports())
OURS = tuple(i for i in IMPORTS if i.imported.split(".")[0] in PACKAGES)
NEWER_STANDARD_LIBRARY = ("annotationlib",)  # 3.14
NEAR = {"winnow", *PACKAGES, *sys.stdlib_module_names, *NEWER_STANDARD_LIBRARY}
FOREIGN = tuple(i for i in IMPORTS if i.imported.split(".")[0] not in NEAR)


def _room(module: str) -> str:
    """The room with the longest name that ``module`` starts with; a new folder in ``server/`` needs a row."""
    if module in MODULES and MODULES[module].parent == ROOT / "server":
        return "server"
    rooms = [room for room in ROOMS if room != "server" and (module == room or module.startswith(f"{room}."))]
    return max(rooms, key=len, default="")


def _is_named(module: str, names: str) -> bool:
    return any(module == name or (name.endswith(".") and module.startswith(name)) for name in names.split())


def test_every_module_has_a_room() -> None:
    """A module without a row in ROOMS has no rule, and nothing is allowed by default."""
    assert [module for module in MODULES if not _room(module)] == []


def test_rooms_import_only_what_their_row_names() -> None:
    """The table is the whole truth about first-party imports."""
    broken = []
    for each in OURS:
        here, there = _room(each.importer), _room(each.imported)
        if here != there and ROOMS[here] != ANYTHING and there not in ROOMS[here].split():
            broken.append(f"{each}: {here} may import: {ROOMS[here] or 'nothing of ours'}")
    assert broken == []


def test_a_row_names_only_rooms_above_it() -> None:
    """The order of the table is that of the layers, so no two rooms import each other."""
    order = list(ROOMS)
    named = {room: [name for name in reach.split() if name != ANYTHING] for room, reach in ROOMS.items()}
    assert [room for room, names in named.items() if not set(names) <= set(order[: order.index(room)])] == []


def test_a_room_is_a_folder() -> None:
    """No row is for a single file: what needs other rights than its neighbours is in the wrong room."""
    assert [room for room in ROOMS if sum(_room(module) == room for module in MODULES) < 2] == []


def test_no_room_imports_the_outermost_rooms() -> None:
    """Commands, transports and the composition root are not imported by other rooms."""
    rim = {room for room, reach in ROOMS.items() if reach == ANYTHING}
    broken = [str(each) for each in OURS if _room(each.imported) in rim and _room(each.importer) not in rim]
    assert broken == []


@pytest.mark.parametrize("package", ONLY_FROM)
def test_only_the_doctor_imports_the_auditor(package: str) -> None:
    """The doctor audits the host; no other module depends on the auditor."""
    readers = {
        i.importer for i in OURS if i.imported.split(".")[0] == package and i.importer.split(".")[0] != package
    }
    assert readers <= set(ONLY_FROM[package].split())


def test_access_keys_are_read_by_transports_commands_and_backups_alone() -> None:
    rooms = ("server.storage.keys", "server.transports", "server.commands", "server.projects.backup")
    readers = {each.importer for each in OURS if f"{each.imported}.".startswith("server.storage.keys.")}
    assert readers != set()
    assert [name for name in sorted(readers) if not name.startswith(rooms)] == []


def test_vendors_are_imported_in_their_own_files_only() -> None:
    """Each vendor is imported in one place: replacing it changes one file."""
    broken = [str(i) for i in FOREIGN if not _is_named(i.importer, VENDORS.get(i.imported.split(".")[0], ""))]
    assert broken == []


def test_agent_code_imports_the_standard_library_only() -> None:
    """The client SDK is loaded inside the locked child, where no other package is available."""
    assert [str(i) for i in FOREIGN if i.importer.split(".")[0] == "client_sdk"] == []


def test_every_row_of_the_tables_is_used() -> None:
    """A row without its file or vendor is deleted."""
    used = {i.imported.split(".")[0] for i in FOREIGN}
    rooms_without_modules = [room for room in ROOMS if not any(_room(module) == room for module in MODULES)]
    named = {name.rstrip(".") for names in VENDORS.values() for name in names.split()}
    assert (rooms_without_modules, sorted(set(VENDORS) - used), sorted(named - set(MODULES))) == ([], [], [])


# Import package -> the distribution that brings it, where the names differ.
BROUGHT_BY = {
    "cryptography": "PyJWT",
    "jwt": "PyJWT",
    "markdown_it": "markdown-it-py",
    "mcp_types": "mcp",
    "pydantic_core": "pydantic",
    "qdrant_edge": "qdrant-edge-py",
    "re2": "google-re2",
    "citeproc": "citeproc-py",
    "yaml": "PyYAML",
}


def test_what_is_imported_is_declared_and_what_is_declared_is_imported() -> None:
    """Every dependency is imported, and no import relies on the dependency of another package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *extras["eval"], *extras["monty"]]
    declared = {re.split(r"[^\w.-]", requirement, maxsplit=1)[0].replace("_", "-") for requirement in requirements}
    used = {i.imported.split(".")[0] for i in FOREIGN}
    assert {BROUGHT_BY.get(package, package).replace("_", "-") for package in used} == declared


# --- conventions of every module: one name for one thing, a first line that says what it is, imports at the top

# Public class name -> why two modules may define it.
SAME_NAME: Mapping[str, str] = {"KnowledgeBase": "scripts import the SDK's under the name that they know"}
# Agents read the docstrings of these: their words are part of the interface.
QUESTIONS_IN = ("client_sdk", "server.contracts", "server.data")
MAX_MODULES = 16
# Folder -> why it may hold more modules than that.
LARGE_FOLDERS: Mapping[str, str] = {}
# Module, or folder with a dot at its end -> why it imports inside functions.
LATE_IMPORTS: Mapping[str, str] = {
    "server.claims.library": "a server that shares an engine does without numpy",
    "server.claims.indexes.words": "numpy, which a server that shares an engine does without",
    "server.operations.claims.table": "few servers have their notebooks elsewhere, and do without an HTTP library",
    # composition: a command starts without the modules that only other commands need
    "server.commands.entry.cli": "winnow serve answers before anything large is loaded",
    "server.commands.entry.app": "a server that shares an engine opens nothing itself",
    "server.ingest.children.page_drawing": "readers, which a handshake does not wait for",
    "server.backends.opening": "factories: each vendor takes long to import, and only one is wanted",
    "server.commands.health": "a check that cannot import its subject must not take the others with it",
    "server.commands.health.notebooks": "a check that cannot import its subject must not take the others with it",
    "server.commands.health.walls": "a check that cannot import its subject must not take the others with it",
    "server.commands.": "a command imports what it runs once its arguments are known",
    "server.transports.access.http_access": "what verifies tokens is large, and few servers have an issuer",
    "server.engine.process": "the supervisor must stay small; only the engine imports what is large",
    # factories
    "sandbox.runners.availability": "tables of the walls, on Linux only",
    "sandbox.runners.programs": "tables of the walls, on Linux only",
    "sandbox.runners.runner_table": "factories: one runner is wanted",
    "server.backends.models.embedders": "factories: one model's runtime is wanted",
    "server.backends.models.onnx_runtime": "the quantiser, which only a conversion needs",
    "server.backends.models.installed.loading": "converting the model needs an optional package",
    "server.backends.vectors.index_build": "the build runs in a process of its own",
    # large or optional packages
    "sandbox.child.monty_child": "walls and limits of one kernel: not every system has the modules",
    "sandbox.child.modules.class_factories": "a module of Python 3.14",
    "server.storage.base": "numpy, which a server that shares an engine does without",
    "server.jobs.target": "Zotero's libraries and an HTTP library, which an ingest of files does without",
    "server.jobs.ingesting": "Zotero's libraries and an HTTP library, which an ingest of files does without",
    "server.readers.pdf.ocr": "the runtime of the models, which readers without OCR do without",
    "server.ingest.children.reader_pool": "tables of the walls, on Linux only",
    "server.bibliographies.citing": "a processor of styles, which few calls need",
    "server.retrieval.evaluation": "an optional package",
    "server.retrieval.lexical": "the stemmers, which English does without",
    "server.text.words.languages": "the model, which a project in one language does without",
}
CODE = {name: path for name, path in MODULES.items() if name.split(".")[0] != "security"}
TREES = {name: ALL_TREES[name] for name in CODE}


def test_no_two_public_classes_have_one_name() -> None:
    """A reader who meets a class in a traceback or a search must not find another one."""
    homes: dict[str, list[str]] = {}
    for module, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(module)
    assert {name: where for name, where in homes.items() if len(where) > 1 and name not in SAME_NAME} == {}
    assert {name for name in SAME_NAME if len(homes.get(name, ())) < 2} == set()


def test_every_module_begins_with_a_sentence_about_it() -> None:
    """The first line of the docstring is what a list of modules shows."""
    first = {name: (ast.get_docstring(tree) or "").partition("\n")[0] for name, tree in TREES.items()}
    assert {name: line for name, line in first.items() if not re.fullmatch(r"\S.+[.?:]", line)} == {}


def test_a_table_of_modules_names_each_module_of_its_package() -> None:
    """The docstring of a package may have such a table; it names every module and folder, and nothing else."""
    tables = {
        package: doc
        for package, path in MODULES.items()
        if path.name == "__init__.py" and "\n====" in (doc := ast.get_docstring(ALL_TREES[package]) or "")
    }
    named = {package: sorted(re.findall(r"^``(\w+)`` ", doc, re.MULTILINE)) for package, doc in tables.items()}
    held = {
        package: sorted(
            {name.split(".")[package.count(".") + 1] for name in MODULES if name.startswith(f"{package}.")}
        )
        for package in tables
    }
    assert {"server.engine", "server.jobs", "server.jobs.watching"} <= set(tables)
    assert named == held


def test_a_docstring_opens_with_the_thing() -> None:
    """Not with a question about it: "The number of rows", not "How many rows"."""
    held = {
        name: tree for name, tree in ALL_TREES.items() if not name.removeprefix("winnow.").startswith(QUESTIONS_IN)
    }
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    opening = {
        f"{name}:{node.body[0].lineno}": (ast.get_docstring(node) or "-").split()[0]
        for name, tree in held.items()
        for node in ast.walk(tree)
        if isinstance(node, kinds) and node.body
    }
    assert {place: word for place, word in opening.items() if word in {"What", "How", "Where", "Who"}} == {}


def test_no_folder_holds_more_modules_than_a_reader_can_survey() -> None:
    """A folder that grows past the limit is two rooms."""
    counts: dict[str, int] = {}
    for path in CODE.values():
        folder = path.parent.relative_to(ROOT).as_posix()
        counts[folder] = counts.get(folder, 0) + 1
    assert {folder for folder, count in counts.items() if count > MAX_MODULES} <= set(LARGE_FOLDERS)


def test_imports_inside_functions_have_a_reason() -> None:
    """All other imports are at the top of the module."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    late = {
        module
        for module, tree in TREES.items()
        for function in ast.walk(tree)
        if isinstance(function, functions)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert {module for module in late if not _is_named(module, " ".join(LATE_IMPORTS))} == set()
    assert {name for name in LATE_IMPORTS if not any(_is_named(module, name) for module in late)} == set()
