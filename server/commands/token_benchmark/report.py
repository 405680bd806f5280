"""The figures as text: tables for a terminal, and a page for the documentation. Pure.

Losses come first: where a script costs more than the cheapest tool that gives the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from winnow.server.commands.token_benchmark.measuring import Trial

ARM_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "full": "full search",
        "documents": "whole documents",
        "metadata_full": "metadata, then full",
        "evidence": "kb_retrieve_evidence",
        "code": "execute_code",
    }
)
CLASS_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "needle": "needle",
        "aggregate": "filter and aggregate",
        "multi_hop": "several hops",
        "compare": "compare, list all",
        "all": "all",
    }
)
_PAIR_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "code_vs_full": "execute_code of full search",
        "code_vs_documents": "execute_code of whole documents",
        "code_vs_best_direct": "execute_code of the cheapest tool that answers",
        "evidence_vs_full": "kb_retrieve_evidence of full search",
        "evidence_vs_documents": "kb_retrieve_evidence of whole documents",
    }
)
_CLIENT_NAMES: Mapping[str, str] = MappingProxyType({"text": "text only", "structured": "structure only"})


def describe_trial(trial: Trial) -> str:
    """The answers that each arm of a task got, word for word, and their cost."""
    task = trial.measured
    lines = [f"=== {task.id} ({task.kind}, {task.collection})"]
    for arm, run in task.runs.items():
        lacks = ", ".join(run.missing[:20]) or run.trouble
        cost = run.cost
        lines += [
            "",
            f"--- {arm}: {'answered' if run.answered else f'NOT answered; lacks {lacks}'}",
            f"    {cost.of('text'):,} tokens as text, {cost.of('structured'):,} as structure: {cost.calls} calls, "
            f"{cost.written:,} written, {cost.text:,} or {cost.structured:,} read; {run.seconds:.2f} s",
            *trial.texts.get(arm, ()),
        ]
    return "\n".join(lines) + "\n\n"


def text(figures: Mapping[str, Any], clients: Sequence[str]) -> str:
    """The report for a terminal: losses and unsolved tasks, then classes, shares, and clients."""
    parts = [
        *_head_lines(figures),
        "",
        *_table(("arm", "class", "answered", "median", "mean", "p95"), _summary_rows(figures)),
        "",
        *_table(
            ("share of tokens, on tasks that both answer", "class", "tasks", "share", "95 %"), _share_rows(figures)
        ),
        "",
        *_table(("client", "reduction", "of the cheapest", "losses"), _client_rows(figures, clients)),
        "",
        *_note_lines(figures),
    ]
    return "\n".join(parts) + "\n"


def markdown(figures: Mapping[str, Any]) -> str:
    """The page of the documentation."""
    return "\n".join((*_opening(figures), *_sections(figures))) + "\n"


def _opening(figures: Mapping[str, Any]) -> list[str]:
    return [
        "# What answers cost in tokens",
        "",
        "<!-- Written by `winnow bench tokens --write`. Run it again instead of changing this. -->",
        "",
        f"`winnow bench tokens`: {len(figures['tasks'])} tasks, each asked in every way over real MCP frames.",
        f"Counted is what a model writes and reads, in {figures['tokenizer']} tokens, for a client that hands on",
        f"{_CLIENT_NAMES[figures['client']].removesuffix(' only')} alone. What is compared, and how, is in",
        "[decision 14](../decisions/0014-token-benchmark.md). Ways are compared on tasks that both answer. winnow",
        f"{figures['version']}, model and graph as by default. The collection stdlib is the documentation of",
        f"Python {figures['python']}; others have other figures.",
        "",
        "![Median tokens of an answer, by class and way](tokens.svg)",
        "",
        *_overall_lines(figures["overall"]),
        "",
    ]


def _sections(figures: Mapping[str, Any]) -> list[str]:
    return [
        "## Where a script loses",
        "",
        *_loss_lines(figures),
        "",
        "## Not answered",
        "",
        *_unsolved_lines(figures),
        "",
        "## Tokens by class",
        "",
        *markdown_table(
            ("class", "way", "answered", "median", "mean", "p95"), _summary_rows(figures, class_first=True)
        ),
        "",
        "## Shares",
        "",
        "Of the tokens of the other, summed over the tasks that both answer.",
        "",
        *markdown_table(("", "class", "tasks", "share", "95 %", "median task"), _share_rows(figures, median=True)),
        "",
        "## By collection",
        "",
        "What a script takes of the tokens of the other. hotpot100 and 2wiki are single paragraphs.",
        "",
        *markdown_table(
            ("class", "collection", "tasks", "of full search", "of the cheapest tool that answers"),
            _collection_rows(figures),
        ),
        "",
        "## By client",
        "",
        *markdown_table(
            ("client hands on", "less than full search", "less than the cheapest tool", "losses"),
            _client_rows(figures, tuple(_CLIENT_NAMES)),
        ),
        "",
        "## Definitions of tools",
        "",
        *_note_lines(figures),
        "",
        "## Every task",
        "",
        "Tokens; in brackets where the answer lacked something.",
        "",
        *markdown_table(("task", "collection", *ARM_NAMES.values()), _task_rows(figures)),
    ]


def _overall_lines(overall: Mapping[str, Any]) -> Iterator[str]:
    shares = {name: _percent(value) for name, value in overall.items()}
    yield "Summed over the tasks that both answer, a script takes"
    yield f"{shares['reduction_vs_full']} less than full search (95 %: {shares['reduction_ci_low']} to"
    yield f"{shares['reduction_ci_high']}; the median task {shares['median_reduction_vs_full']}),"
    yield f"{shares['reduction_vs_documents']} less than the whole documents of the same hits, and"
    yield f"{shares['reduction_vs_best_direct']} less than the cheapest tool that answers. It answered"
    yield f"{shares['answer_rate_code']} of the tasks, full search {shares['answer_rate_full']}."


def _head_lines(figures: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"skipped: {count} tasks of {name}" for name, count in figures.get("skipped", {}).items())
    yield from _loss_lines(figures)
    yield from _unsolved_lines(figures)


def _loss_lines(figures: Mapping[str, Any]) -> Iterator[str]:
    losses = figures["losses"]
    if not losses:
        yield "On no task does a script cost more than the cheapest tool that answers it."
        return
    tasks = len(figures["tasks"])
    yield f"On {len(losses)} of {tasks} tasks a script costs more than the cheapest tool that answers:"
    yield ""
    for loss in losses:
        yield f"* {loss['id']}: {loss['code']:,} tokens, {ARM_NAMES[loss['arm']]} {loss['best_direct']:,}"


def _unsolved_lines(figures: Mapping[str, Any]) -> Iterator[str]:
    for arm, tasks in figures["unsolved"].items():
        yield f"* {ARM_NAMES[arm]}: {', '.join(tasks) or 'all are answered'}"


def _summary_rows(figures: Mapping[str, Any], *, class_first: bool = False) -> Iterator[tuple[str, ...]]:
    for kind, arms in figures["summary"].items():
        for arm, row in arms.items():
            names = (CLASS_NAMES[kind], ARM_NAMES[arm])
            numbers = (f"{row[f'tokens_{figure}']:,.0f}" for figure in ("median", "mean", "p95"))
            yield (*(names if class_first else names[::-1]), f"{row['answered']} of {row['tasks']}", *numbers)


def _share_rows(figures: Mapping[str, Any], *, median: bool = False) -> Iterator[tuple[str, ...]]:
    for pair, name in _PAIR_NAMES.items():
        for kind, pairs in figures["comparisons"].items():
            row = pairs[pair]
            if row["tasks"]:
                cells = (f"{1 - row['reduction']:.1%}", f"{1 - row['ci_high']:.1%} to {1 - row['ci_low']:.1%}")
                last = (f"{1 - row['median_reduction']:.1%}",) if median else ()
                yield (name, CLASS_NAMES[kind], str(row["tasks"]), *cells, *last)


def _collection_rows(figures: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, pairs in figures["by_collection"].items():
        kind, _, collection = name.partition(" ")
        row, best = pairs["code_vs_full"], pairs["code_vs_best_direct"]
        if row["tasks"]:
            shares = (f"{1 - one['reduction']:.1%}" for one in (row, best))
            yield (CLASS_NAMES[kind], collection, str(row["tasks"]), *shares)


def _client_rows(figures: Mapping[str, Any], clients: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for client in clients:
        row = figures["by_client"][client]
        reductions = (row["overall"][name] for name in ("reduction_vs_full", "reduction_vs_best_direct"))
        yield (_CLIENT_NAMES[client], *map(_percent, reductions), str(row["losses"]))


def _note_lines(figures: Mapping[str, Any]) -> Iterator[str]:
    definitions = figures["definitions"]
    names = ", ".join(
        f"{ARM_NAMES[arm]} {count:,}" for arm, count in definitions["by_arm"].items() if arm != "documents"
    )
    with_them = _percent(definitions["overall_with_them"]["reduction_vs_full"])
    yield f"Definitions of all tools take {definitions['all']:,} tokens; of those that a way uses: {names}."
    yield f"If every task paid for those of its way, a script would take {with_them} less than full search."


def _task_rows(figures: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for task in figures["tasks"]:
        cells = (
            f"{run['tokens'][figures['client']]:,}"
            if run["answered"]
            else f"({run['tokens'][figures['client']]:,})"
            for run in task["arms"].values()
        )
        yield (task["id"], task["collection"], *cells)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _table(head: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    """Columns of equal width, for a terminal."""
    lines = [tuple(head), *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def markdown_table(head: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    """The lines of a table in Markdown."""
    for line in (tuple(head), ("---",) * len(head), *rows):
        yield f"| {' | '.join(line)} |"
