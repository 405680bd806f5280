"""``kb.count``: numbers alone, of the matches of a pattern or of documents."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts.corpus.counting import Count
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.corpus.patterns import Pattern, compile_pattern
from winnow.server.operations.corpus.tallies import Tally
from winnow.server.operations.corpus.walking import ScannedDocument, Walk
from winnow.server.operations.declaration import Operation, Script
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.runtime.deadlines import check_deadline

_STOPPED = (
    "the time of this call ended before all text was looked through; the numbers are of the part that was: narrow "
    "with path and add up, or use scan with group_by, which has a cursor"
)


def count(context: RequestContext, request: Count) -> Answer:
    """Answer with the number of matches, passages and documents, or without a pattern of documents alone."""
    filters = filters_of(context, request.scope, request.filters, request.path, request.where)
    if request.pattern is not None:
        pattern = compile_pattern(request.pattern, literal=request.literal, word=request.word, case=request.case)
        return _count_matches(Walk(context, filters, needed=pattern.needed), pattern)
    documents = passages = tokens = 0
    for chunks, size in context.index.catalogue.sizes_within(filters):
        check_deadline()
        documents, passages, tokens = documents + 1, passages + chunks, tokens + size
    return _build_answer({"documents": documents, "passages": passages, "tokens": tokens, "complete": True})


def _count_matches(walk: Walk, pattern: Pattern) -> Answer:
    total = Tally()

    def look(scanned: ScannedDocument) -> None:
        tally = Tally()
        for found in walk.matches(scanned, pattern):
            tally.add(found)
        total.merge(tally)

    walk.run(look)
    payload = {**total.to_dict(), "scanned": walk.scanned, "complete": walk.is_complete}
    return _build_answer(payload, () if walk.is_complete else (_STOPPED,))


def _build_answer(payload: dict[str, Any], warnings: tuple[str, ...] = ()) -> Answer:
    return Answer(payload, "metadata", 0, 0, warnings)


_KB_COUNT_DOC = """\
Numbers alone: of the matches of a pattern, or without one of the documents in scope.

    print(count("backup", word=True, case=False).documents)
    whole = count(path="guides/*")
    print(whole.documents, whole.passages, whole.tokens)

With a pattern: matches, passages, documents, scanned and complete; without: documents, passages, tokens. The
rest as in scan.
"""
KB_COUNT = Operation(
    "kb.count",
    Count,
    count,
    script=Script(
        "pattern * literal word case path where filters scope",
        _KB_COUNT_DOC,
        name="count",
        is_row=True,
        types={"pattern": "str | re.Pattern[str] | None"},
    ),
)
