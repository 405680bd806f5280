"""Thirty tasks that need every document of a corpus: their questions, and their truth by plain Python.

Truth is computed from the files alone; nothing of winnow is used. A document is named by its file name.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import yaml

Kind = Literal["list", "count", "for-each", "extract", "compare", "not-there"]
CorpusName = Literal["k8s_docs", "stdlib"]
# File name -> text.
Corpus = Mapping[str, str]

# The pages of feature gates, and the page of the kubelet's flags.
GATES = "reference_command-line-tools-reference_feature-gates_"
KUBELET = "reference_command-line-tools-reference_kubelet.md"
_FRONT_MATTER = re.compile(r"\A---\n(.*?)^---\n", re.S | re.M)


@dataclass(frozen=True, slots=True)
class Task:
    """A task: what a user asks, the shape of the answer, and the function that computes the true answer."""

    id: str
    kind: Kind
    corpus: CorpusName
    question: str
    shape: str
    truth: Callable[[Corpus], Any]


def front_matter(text: str) -> dict[str, Any]:
    """The YAML fields at the top of a page; empty where there are none."""
    match = _FRONT_MATTER.match(text)
    # Values as written: 1.20 is a version, not a number.
    facts = yaml.load(match[1], Loader=yaml.BaseLoader) if match else None
    return facts if isinstance(facts, dict) else {}


# --- truth, by the form of the answer


def _files_with(pattern: str, prefix: str = "") -> Callable[[Corpus], list[str]]:
    return lambda corpus: [
        name for name, text in corpus.items() if name.startswith(prefix) and re.search(pattern, text)
    ]


def _distinct(pattern: str) -> Callable[[Corpus], list[str]]:
    return lambda corpus: sorted({match for text in corpus.values() for match in re.findall(pattern, text, re.M)})


def _occurrences(pattern: str) -> Callable[[Corpus], int]:
    return lambda corpus: sum(len(re.findall(pattern, text, re.M)) for text in corpus.values())


def _occurrences_by_file(pattern: str, prefix: str, least: int = 1) -> Callable[[Corpus], dict[str, int]]:
    def count(corpus: Corpus) -> dict[str, int]:
        counts = {
            name: len(re.findall(pattern, text, re.M)) for name, text in corpus.items() if name.startswith(prefix)
        }
        return {name: number for name, number in counts.items() if number >= least}

    return count


def _pages_by_word(*words: str) -> Callable[[Corpus], dict[str, int]]:
    return lambda corpus: {
        word: sum(bool(re.search(rf"\b{word}\b", text)) for text in corpus.values()) for word in words
    }


def _constant(value: Any) -> Callable[[Corpus], Any]:
    return lambda corpus: value


# --- truth, of single tasks


def _stages(corpus: Corpus) -> dict[str, list[dict[str, Any]]]:
    pages = {name: front_matter(text) for name, text in corpus.items() if name.startswith(GATES)}
    return {facts["title"]: facts["stages"] for facts in pages.values() if "stages" in facts}


def _alpha_gates(corpus: Corpus) -> list[str]:
    return sorted(
        gate
        for gate, stages in _stages(corpus).items()
        if {stage["stage"].strip() for stage in stages} == {"alpha"}
    )


def _last_stages(corpus: Corpus) -> dict[str, str]:
    return {gate: stages[-1]["stage"].strip() for gate, stages in _stages(corpus).items()}


def _first_versions(*gates: str) -> Callable[[Corpus], dict[str, str]]:
    return lambda corpus: {gate: str(_stages(corpus)[gate][0]["fromVersion"]).strip() for gate in gates}


def _tutorial_titles(corpus: Corpus) -> dict[str, str]:
    return {name: front_matter(text)["title"] for name, text in corpus.items() if name.startswith("tutorials_")}


def _required_versions(corpus: Corpus) -> dict[str, str]:
    stated = {name: front_matter(text).get("min-kubernetes-server-version") for name, text in corpus.items()}
    return {name: str(version).removeprefix("v") for name, version in stated.items() if version is not None}


def _kubelet_defaults(corpus: Corpus) -> dict[str, str]:
    text = corpus[KUBELET].replace("&nbsp;", " ")
    rows = re.findall(r"(--[\w-]+)(?: [\w/,=.]+)? +Default: ([^<]*)</td>", text)
    return {flag: value.strip().strip('"') for flag, value in rows if value.strip() not in ("", "[]")}


def _setup_releases(corpus: Corpus) -> list[str]:
    texts = [text for name, text in corpus.items() if name.startswith("setup_")]
    return sorted({found for text in texts for found in re.findall(r"\bv1\.\d+", text)})


def _both(first: str, second: str) -> Callable[[Corpus], int]:
    return lambda corpus: sum(
        all(re.search(rf"\b{word}\b", text, re.I) for word in (first, second)) for text in corpus.values()
    )


def _pages_by_section(corpus: Corpus) -> dict[str, int]:
    sections = [re.split(r"[_.]", name)[0] for name in corpus]
    return {
        name: sections.count(name)
        for name in ("concepts", "contribute", "reference", "setup", "tasks", "tutorials")
    }


def _dry_run_commands(*commands: str) -> Callable[[Corpus], dict[str, bool]]:
    page = "reference_kubectl_generated_kubectl_{}__index.md"
    return lambda corpus: {command: "--dry-run" in corpus[page.format(command)] for command in commands}


def _timeouts(corpus: Corpus) -> dict[str, str]:
    calls = [call for text in corpus.values() for call in re.findall(r"^#{2,6} (\S+)\((.*)\)$", text, re.M)]
    found = {name: re.search(r"\btimeout=([^,)]+)", arguments) for name, arguments in calls}
    return {name: match[1] for name, match in found.items() if match}


def _classes_of(*modules: str) -> Callable[[Corpus], dict[str, int]]:
    return lambda corpus: {
        module: len(re.findall(r"^#{2,6} class ", corpus[f"{module}.md"], re.M)) for module in modules
    }


def _second_parameters(*functions: str) -> Callable[[Corpus], dict[str, str]]:
    def find(corpus: Corpus) -> dict[str, str]:
        found = {}
        for function in functions:
            module = function.partition(".")[0]
            heading = re.search(rf"^#+ {re.escape(function)}\((.*)\)$", corpus[f"{module}.md"], re.M)
            assert heading is not None
            parameters = [name for name in heading[1].split(", ") if name != "/"]
            found[function] = parameters[1].partition("=")[0]
        return found

    return find


_TRUTH: Mapping[str, Callable[[Corpus], Any]] = MappingProxyType(
    {
        "list-pdb": _files_with("PodDisruptionBudget"),
        "list-drain": _files_with("kubectl drain", "tasks_"),
        "list-alpha-gates": _alpha_gates,
        "list-api-versions": _distinct(r"\b[a-z0-9.-]+\.k8s\.io/v\d+(?:(?:alpha|beta)\d+)?\b"),
        "list-deprecated": _files_with("(?i)deprecat"),
        "list-errors": _distinct(r"^#{2,6} class (\S+Error)$"),
        "count-apply": _occurrences("kubectl apply -f"),
        "count-taints": _both("taint", "toleration"),
        "count-sections": _pages_by_section,
        "count-classes": _occurrences("^#{2,6} class "),
        "count-yaml": _occurrences(r"^[ \t]*```[ \t]*yaml"),
        "each-gate": _last_stages,
        "each-tutorial": _tutorial_titles,
        "each-setup": _occurrences_by_file(r"\bkubeadm\b", "setup_"),
        "each-module": _classes_of(
            "asyncio.queues",
            "argparse",
            "csv",
            "datetime",
            "email.message",
            "enum",
            "logging",
            "pathlib",
            "queue",
            "zipfile",
        ),
        "each-account": _occurrences_by_file(r"\bServiceAccount\b", "", 10),
        "extract-kubelet": _kubelet_defaults,
        "extract-versions": _required_versions,
        "extract-releases": _setup_releases,
        "extract-timeouts": _timeouts,
        "extract-annotations": _distinct(r"(?<![\w./-])kubernetes\.io/[a-z][a-z0-9.-]*[a-z0-9]"),
        "compare-workloads": _pages_by_word("Deployment", "StatefulSet", "DaemonSet", "CronJob"),
        "compare-dry-run": _dry_run_commands(
            "annotate", "apply", "delete", "describe", "drain", "get", "logs", "scale"
        ),
        "compare-gates": _first_versions(
            "SidecarContainers",
            "InPlacePodVerticalScaling",
            "JobManagedBy",
            "UserNamespacesSupport",
            "DynamicResourceAllocation",
        ),
        "compare-compress": _second_parameters("bz2.compress", "gzip.compress", "lzma.compress", "zlib.compress"),
        "absent-price": _constant({"found": False}),
        "absent-varchar": _constant({"found": False}),
        "absent-pandas": _constant({"found": False}),
        "absent-levenshtein": _constant({"found": False}),
        "present-grace": _constant({"found": True, "answer": "30"}),
    }
)
QUESTIONS = Path(__file__).with_name("exhaustive.toml")
TASKS = tuple(
    Task(id, **row, truth=_TRUTH[id]) for id, row in tomllib.loads(QUESTIONS.read_text(encoding="utf-8")).items()
)
