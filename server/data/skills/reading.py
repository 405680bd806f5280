"""Skills that read: over a section tree, side by side, and term by term."""

import re


def map_reduce(question, documents=3, max_quotes=12):
    """Answer a question section by section over the documents that speak of it, and keep what answers best.

    Returns {"question", "answers": [{"document", "section", "quotes": [{"quote", "confidence", "id"}]}]}, best
    section first. documents: how many to read; max_quotes: how many quotes in all.
    """
    pages = kb.search(question, top_k=documents)
    found = []
    for page in pages:
        progress(f"reading {page.title}")
        found += list(kb.extract_evidence(question, _sections_of(page), max_quotes=max_quotes))
    best = sorted(dedupe(found, by="text"), key=lambda row: -row.confidence)[:max_quotes]
    answers = []
    for section, rows in group_by(best, lambda row: row.section_id).items():
        told = [{"quote": row.quote, "confidence": row.confidence, "id": section} for row in rows]
        answers.append({"document": rows[0].title.partition(" > ")[0], "section": rows[0].title, "quotes": told})
    return {"question": question, "answers": answers}


def _sections_of(page):
    """The passages of the page's document: by the graph where there is one, else those a search finds near it."""
    try:
        row = fetch(page.id, level="preview")[0]
        passages = [child.id for child in graph.children(row.document_id, hops=5, page_size=50) if child.label == "Section"]
    except (SDKError, AttributeError, IndexError):
        passages = []
    known = [page.id] + [one for one in passages if one != page.id]
    return known[:50]


def compare(entities, aspects, per=1):
    """Compare things aspect by aspect: the sentences that say it, side by side.

    Returns {aspect: {entity: [{"quote", "source"}]}}; an empty list where nothing is said. per: quotes for each.
    """
    table = {}
    for aspect in aspects:
        progress(f"comparing {aspect}")
        table[aspect] = {entity: _said_of(entity, aspect, per) for entity in entities}
    return table


def _said_of(entity, aspect, per):
    rows = kb.retrieve_evidence(f"{entity} {aspect}", max_quotes=6, include_context_tokens=0)
    named = [row for row in rows if entity.lower() in f"{row.quote} {row.title}".lower()]
    return [{"quote": one.quote, "source": one.source} for one in quotes(named[:per])]


_SAYS = r"(?:is|are|means|refers to|stands for|denotes|describes|is called)"


def glossary(terms, max_chars=240):
    """Say what terms mean, in the documents' own sentences.

    Returns {term: {"definition", "source"}}, with None where no sentence defines it. terms: a list of them.
    """
    defined = {}
    for term in terms:
        rows = kb.retrieve_evidence(f"what is {term}", max_quotes=8, include_context_tokens=0)
        pattern = re.compile(rf"\b{re.escape(term)}s?(?: \([^)]*\))?,? {_SAYS}\b", re.IGNORECASE)
        said = [row for row in rows if pattern.search(row.quote)]
        best = quotes(said[:1], max_chars=max_chars)
        defined[term] = {"definition": best[0].quote, "source": best[0].source} if best else None
    return defined
