"""Tasks: a question, its gold, and a fixed transcript for each way (arm) of asking.

They are TOML files in the folder ``tasks``, one ``[[task]]`` each:

    id = "needle-grace-period"
    class = "needle"                # needle, aggregate, multi_hop, compare
    collection = "k8s_docs"         # where it is asked; see collection.py
    question = "How long ...?"      # left out where ``query`` names one of the collection's own
    gold = { strings = ["30 seconds"] }
    full = [{ query = "...", top_k = 100, pages = 3 }]
    metadata_full = [{ query = "...", read = 3 }]
    evidence = [{ question = "...", max_quotes = 1 }]
    code = "return ..."

A transcript is a list of steps, one tool call each. The arm gives the tool and its defaults (``ARMS``); keys other
than these are arguments of the call:

* ``tool``: a tool other than the arm's;
* ``pages``: how many pages to read with ``next_cursor``;
* ``read``: then take the full text of these rows: a number, the first so many; a regular expression, those whose
  title, section or file it finds; a table ``{ first, matching }``, both;
* ``keep``: a table of names and regular expressions: the last group of each, where it first matches in this
  answer, stands for ``{name}`` in the arguments of later steps.

``{question}`` is the question; in a script it is a literal, quotes included. ``asks``, a list of searches, writes
the direct arms where they are nothing but these searches one after the other (``_ASKED``), and is ``{asks}`` in
the script.

``template = "name"`` takes the arms that a task does not write itself from the table ``[template.name]`` of its
file, with the task's own ``words`` (a table) in their places: ``{name}``, in steps, expressions and script.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from winnow.server.errors import WinnowError

TASKS = Path(__file__).parent / "tasks"

Class = Literal["needle", "aggregate", "multi_hop", "compare"]
CLASSES: tuple[str, ...] = get_args(Class)
Split = Literal["file", "section", "line"]
SPLITS: tuple[str, ...] = get_args(Split)
DIRECT = ("full", "metadata_full", "evidence")

# Arm -> its tool and default arguments. ``full`` is what most servers return: ten texts.
ARMS: Mapping[str, tuple[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "full": ("semantic_search", {"top_k": 10, "response_mode": "full"}),
        "metadata_full": ("semantic_search", {"top_k": 10}),
        "evidence": ("kb_retrieve_evidence", {}),
        "code": ("execute_code", {}),
    }
)

# The step of each direct arm for one search of ``asks``: ten texts, the two best of a listing, the best quote.
_ASKED: Mapping[str, Callable[[str], Mapping[str, Any]]] = MappingProxyType(
    {
        "full": lambda ask: {"query": ask},
        "metadata_full": lambda ask: {"query": ask, "read": 2},
        "evidence": lambda ask: {"question": ask, "max_quotes": 1},
    }
)
_TASK_KEYS = frozenset(
    {"id", "class", "collection", "question", "query", "gold", "asks", "template", "words", *ARMS}
)
_STEP_KEYS = frozenset({"tool", "pages", "read", "keep"})
_MOST_PAGES = 50
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Read:
    """The rows of a listing to read in full: the ``first`` of those that ``matching`` matches."""

    first: int = 100
    matching: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call, and what follows from its answer."""

    tool: str
    arguments: Mapping[str, Any]
    pages: int = 1
    read: Read | None = None
    keep: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Oracle:
    """A rule that finds names in the source files without any index.

    ``files``: a glob over names. A file is taken whole or cut (``split``) into sections, from one Markdown heading
    to the next, or lines; of these count the ones in which every regular expression of ``having`` finds something
    and none of ``lacking`` does. ``take`` finds the names in what is left: its first group, each time; "file"
    takes the file's name. Expressions see lines (``(?m)``) and case, unless they say ``(?i)``.
    """

    files: str
    take: str
    split: Split = "file"
    having: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gold:
    """Everything that an answer must contain.

    ``strings`` literally; ``documents``: the titles of the passages that the collection judges relevant to
    ``query``, and its own answer where it has one; ``oracle``: the names it finds. With ``count`` a script answers
    with their number, where a reader of texts counts the names before him. With ``exact`` a script's names are
    those and no others.
    """

    strings: tuple[str, ...] = ()
    documents: bool = False
    oracle: Oracle | None = None
    count: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True)
class BenchmarkTask:
    """A question with its gold and transcripts. ``query`` is the collection's id of the question, or ""."""

    id: str
    kind: Class
    collection: str
    question: str
    query: str
    gold: Gold
    steps: Mapping[str, tuple[Step, ...]]


def load(folder: Path = TASKS) -> tuple[BenchmarkTask, ...]:
    """The tasks of every file in ``folder``, in the order of their classes, then of files.

    Raises ``WinnowError("INVALID_REQUEST")`` with the file, the task and what is wrong with it.
    """
    tasks = [task for path in sorted(folder.glob("*.toml")) for task in _tasks(path)]
    twice = [task.id for number, task in enumerate(tasks) if task.id in {other.id for other in tasks[:number]}]
    if twice:
        raise _flaw(folder.name, twice[0], "another task has this id")
    return tuple(sorted(tasks, key=lambda task: CLASSES.index(task.kind)))


def _tasks(path: Path) -> Iterator[BenchmarkTask]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _flaw(path.name, "", str(error)) from None
    for unknown in content.keys() - {"task", "template"}:
        raise _flaw(path.name, "", f"no table {unknown!r} is known; there are [[task]] and [template.NAME]")
    templates = content.get("template", {})
    if not isinstance(templates, dict):
        raise _flaw(path.name, "", "templates are tables: [template.NAME]")
    for number, table in enumerate(content.get("task", []), start=1):
        name = str(table.get("id", f"number {number}"))
        try:
            yield _task(table, templates)
        except (AttributeError, KeyError, TypeError, ValueError, re.error) as error:
            raise _flaw(path.name, name, f"{error.args[0] if error.args else error}") from None


def _flaw(file: str, task: str, what: str) -> WinnowError:
    where = f"{file}, task {task!r}" if task else file
    return WinnowError("INVALID_REQUEST", f"{where}: {what}")


def _task(table: Mapping[str, Any], templates: Mapping[str, Any]) -> BenchmarkTask:
    _only(table, _TASK_KEYS, "task")
    _needs(table, {"id", "class", "collection", "gold"}, "task")
    if ("question" in table) == ("query" in table):
        raise ValueError("a task has either a question or the id of a query")
    arms = _arms(table, templates)
    return BenchmarkTask(
        id=table["id"],
        kind=_one_of(table["class"], CLASSES, "class"),  # type: ignore[arg-type]
        collection=table["collection"],
        question=table.get("question", ""),
        query=table.get("query", ""),
        gold=_gold(table["gold"]),
        steps={arm: _steps(arm, arms[arm]) for arm in ARMS},
    )


def _arms(table: Mapping[str, Any], templates: Mapping[str, Any]) -> Mapping[str, Any]:
    """The steps of each arm: the task's own, its template's, or those made from its searches."""
    name = table.get("template")
    if name is not None and name not in templates:
        raise ValueError(f"no template {name!r}; there are: {', '.join(templates) or 'none'}")
    asks = _texts(table.get("asks", []), "asks")
    asked = {arm: [step(ask) for ask in asks] for arm, step in _ASKED.items()} if asks else {}
    template = templates[name] if name is not None else {}
    _only(template, frozenset(ARMS), "template")
    words = {**table.get("words", {}), **({"asks": json.dumps(asks, ensure_ascii=False)} if asks else {})}
    arms = fill_placeholders({**asked, **template, **{key: table[key] for key in ARMS if key in table}}, words)
    _needs(arms, set(ARMS), "task")
    return arms  # type: ignore[no-any-return]


def fill_placeholders(value: Any, words: Mapping[str, str]) -> Any:
    """Plain data with placeholders replaced by words. Other braces stay."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda match: words.get(match[1], match[0]), value)
    if isinstance(value, Mapping):
        return {name: fill_placeholders(inner, words) for name, inner in value.items()}
    return [fill_placeholders(inner, words) for inner in value] if isinstance(value, list | tuple) else value


def _gold(table: Mapping[str, Any]) -> Gold:
    _only(table, frozenset({"strings", "documents", "oracle", "count", "exact"}), "gold")
    if not table.keys() & {"strings", "documents", "oracle"}:
        raise ValueError("gold needs strings, documents or an oracle")
    return Gold(
        strings=_texts(table.get("strings", []), "gold.strings"),
        documents=bool(table.get("documents", False)),
        oracle=_oracle(table["oracle"]) if "oracle" in table else None,
        count=bool(table.get("count", False)),
        exact=bool(table.get("exact", False)),
    )


def _oracle(table: Mapping[str, Any]) -> Oracle:
    _only(table, frozenset({"files", "take", "split", "having", "lacking"}), "oracle")
    _needs(table, {"files", "take"}, "oracle")
    oracle = Oracle(
        files=table["files"],
        take=table["take"],
        split=_one_of(table.get("split", "file"), SPLITS, "oracle.split"),  # type: ignore[arg-type]
        having=_texts(table.get("having", []), "oracle.having"),
        lacking=_texts(table.get("lacking", []), "oracle.lacking"),
    )
    for pattern in (*oracle.having, *oracle.lacking):
        re.compile(pattern)
    if oracle.take != "file" and re.compile(oracle.take).groups < 1:
        raise ValueError('oracle.take needs a group, or is "file"')
    return oracle


def _steps(arm: str, value: Any) -> tuple[Step, ...]:
    if arm == "code":
        if not isinstance(value, str) or not value.strip():
            raise ValueError("code is a script")
        return (Step(ARMS["code"][0], {"code": value.strip("\n")}),)
    if not isinstance(value, list) or not value:
        raise ValueError(f"{arm} is a list of steps")
    return tuple(_step(arm, table) for table in value)


def _step(arm: str, table: Mapping[str, Any]) -> Step:
    tool, defaults = ARMS[arm]
    given = {name: value for name, value in table.items() if name not in _STEP_KEYS}
    named = table.get("tool", tool)
    keep = dict(table.get("keep", {}))
    for pattern in keep.values():
        if re.compile(pattern).groups < 1:
            raise ValueError(f"keep: {pattern!r} needs a group")
    pages = table.get("pages", 1)
    if not isinstance(pages, int) or not 1 <= pages <= _MOST_PAGES:
        raise ValueError(f"pages is 1 to {_MOST_PAGES}")
    arguments = given if named != tool else {**defaults, **given}
    return Step(named, arguments, pages, _read(table["read"]) if "read" in table else None, keep)


def _read(value: Any) -> Read:
    if isinstance(value, int) and value > 0:
        return Read(first=value)
    if isinstance(value, str):
        value = {"matching": value}
    if not isinstance(value, dict):
        raise ValueError("read is a number above 0, a regular expression, or a table of both")
    _only(value, frozenset({"first", "matching"}), "read")
    re.compile(value.get("matching", ""))
    return Read(**value)


def _texts(value: Any, what: str) -> tuple[str, ...]:
    if (
        not isinstance(value, Sequence)
        or isinstance(value, str)
        or not all(isinstance(item, str) for item in value)
    ):
        raise ValueError(f"{what} is a list of texts")
    return tuple(value)


def _one_of(value: Any, allowed: tuple[str, ...], what: str) -> str:
    if value not in allowed:
        raise ValueError(f"{what} {value!r} is none of: {', '.join(allowed)}")
    return str(value)


def _only(table: Mapping[str, Any], allowed: frozenset[str], what: str) -> None:
    for unknown in sorted(table.keys() - allowed):
        raise ValueError(f"{what} has no {unknown!r}; it has: {', '.join(sorted(allowed))}")


def _needs(table: Mapping[str, Any], names: set[str], what: str) -> None:
    for missing in sorted(names - table.keys()):
        raise ValueError(f"{what} lacks {missing!r}")
