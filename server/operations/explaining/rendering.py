"""An explanation of a ranking as lines of a terminal, aligned and a screen long for the first rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from winnow.server.text.printable import one_line
from winnow.server.text.sizes import count_of

_LEGS = ("dense", "lexical")
_STEP_NAMES: Mapping[str, str] = {
    "fusion": "legs",
    "graph": "graph",
    "reranker": "reranker",
    "boosts": "boosts",
    "phrases": "phrases",
    "diversity": "diversity",
}
_RANK, _SCORE, _SHARE = 7, 9, 7  # widths of a leg's columns
_ABOUT_COLUMNS = (
    "of each leg: the rank in it (~ where it did not return the passage), its score, its share of the row's score"
)


def render_explanation(payload: Mapping[str, Any], rows: int) -> list[str]:
    """The search, the verdict, its first rows, and the document that was asked for, if any."""
    legs = [leg["leg"] for leg in payload["legs"]]
    shown = payload["results"][:rows]
    return [
        *_search_lines(payload),
        "",
        *(("no rows",) if not payload["results"] else ()),
        *((_ABOUT_COLUMNS, *_table(shown, legs)) if shown else ()),
        *_rest(len(payload["results"]), rows),
        *(["", *_document_lines(payload["document"], legs)] if payload["document"] else ()),
    ]


def _rest(of_all: int, rows: int) -> Iterator[str]:
    if of_all > rows:
        yield f"... {of_all - rows} {'more' if rows else 'rows'}: --rows {of_all}"


def _search_lines(payload: Mapping[str, Any]) -> Iterator[str]:
    fusion: Mapping[str, Any] = next((step for step in payload["steps"] if step["step"] == "fusion"), {})
    how = (
        payload["search_mode"] if payload["fusion"] == "none" else f"{payload['search_mode']}, {payload['fusion']}"
    )
    weight = fusion.get("lexical_weight")
    weights = f" (lexical {weight:g}, dense {1 - weight:g})" if weight is not None else ""
    what = "passages read by" if payload["tool"] == "kb_retrieve_evidence" else "rows of"
    yield (
        f"{len(payload['results'])} {what} {payload['tool']} in project {payload['project']}, of "
        f"{count_of(payload['ranked'], 'passage')} ranked: {how}{weights}{_graph_words(payload)}"
    )
    query = payload["query"]
    if query["filters"]:
        yield f"filters in the query: {' '.join(query['filters'])}; ranked by: {one_line(query['text'], 200)}"
    for leg in payload["legs"]:
        scores = f", scores {leg['best']:.3f} to {leg['last']:.3f}" if leg["returned"] else ""
        yield f"{leg['leg']:<8} {leg['returned']:>5,} of at most {count_of(leg['depth'], 'passage')}{scores}"
    yield from _verdict_lines(payload["verdict"])
    within = "that passes the filters has" if query["filters"] else "searched has"
    for word in payload["missing_words"]:
        near = f"; did you mean {' or '.join(word['nearest'])}?" if word["nearest"] else ""
        yield f"no document {within} {one_line(word['word'], 60)!r}{near}"
    if query["corrected"]:
        yield f"next: search for {one_line(query['corrected'], 200)!r}"


def _graph_words(payload: Mapping[str, Any]) -> str:
    for step in payload["steps"]:
        if step["step"] == "graph":
            return f", graph {step['weight']:g} from {count_of(step['documents_walked_from'], 'document')}"
    return ""


def _verdict_lines(verdict: Mapping[str, Any]) -> Iterator[str]:
    parts = "  ".join(
        f"{signal['signal']} {signal['value']:.2f} {signal['part']:+.2f}"
        if signal["signal"] != "offset"
        else f"offset {signal['part']:+.2f}"
        for signal in verdict["signals"]
    )
    yield f"verdict  {verdict['verdict'].replace('_', ' ')} (confidence {verdict['confidence']:.3f}): {parts}"
    if verdict["unstated"]:
        yield f"         no passage states the {verdict['unstated']} that is asked for"


def _table(rows: Sequence[Mapping[str, Any]], legs: Sequence[str]) -> Iterator[str]:
    """A line of ranks, scores and shares for each passage, and one of its place and the later steps."""
    heads = "".join(f"{leg:>{_RANK + 2}}{'score':>{_SCORE}}{'share':>{_SHARE}}" for leg in legs)
    yield f"{'':>6} {'score':>6}{heads}"
    for row in rows:
        number = f"{row['rank']}." if row["rank"] else f"({row['ranked']:,})" if row["ranked"] else "(-)"
        score = f"{row['score']:.3f}" if row["score"] is not None else "-"
        yield f"{number:>6} {score:>6}" + "".join(_leg_cell(row, leg) for leg in legs) + _quotes(row)
        yield f"       {' | '.join(filter(None, (row['file'], row['place'])))}"
        if later := "; ".join(_later_steps(row)):
            yield f"       {later}"


def _leg_cell(row: Mapping[str, Any], leg: str) -> str:
    found = next((each for each in row["legs"] if each["leg"] == leg), None)
    if found is None or found["score"] is None:
        return f"{'-':>{_RANK + 2}}{'':>{_SCORE + _SHARE}}"
    rank = f"{found['rank']:,}" if found["rank"] else "~"
    share = f"{found['share']:+.3f}" if found["share"] is not None else ""
    return f"{rank:>{_RANK + 2}}{found['score']:>{_SCORE}.3f}{share:>{_SHARE}}"


def _quotes(row: Mapping[str, Any]) -> str:
    return "" if row["quotes"] is None else f"  {count_of(row['quotes'], 'quote')}"


def _later_steps(row: Mapping[str, Any]) -> Iterator[str]:
    """The steps after the fusion: the parts of the score, and the rank and the score that they gave."""
    for step in row["steps"]:
        if step["step"] == "fusion":
            continue
        if step["step"] == "boosts":
            parts = " ".join(f"{name} x{factor:g}" for name, factor in step["parts"].items() if factor != 1)
        else:
            parts = " ".join(f"{_STEP_NAMES.get(name, name)} {part:+.3f}" for name, part in step["parts"].items())
        yield f"{step['step']}: {parts or 'no part'} = {step['score']:.3f}, rank {step['rank']:,}"


def _document_lines(document: Mapping[str, Any], legs: Sequence[str]) -> Iterator[str]:
    yield f"document {one_line(document['file'] or document['asked'], 200)}"
    yield f"  {document['sentence']}"
    if document["next"]:
        yield f"  next: {document['next']}"
    if document["words"]:
        yield f"  it has {', '.join(one_line(word, 60) for word in document['words'])}"
    if document["passages"]:
        yield "  its best passages (in brackets: the rank among all of one that did not come):"
        yield from _table(document["passages"], legs)
