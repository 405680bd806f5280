"""A small knowledge base in one function: what scripts ask in these tests, in the sandbox and in plain CPython."""

SUBJECTS = ["Retry policy", "Timeouts, retries", "Backup encryption", "Backup rotation", "Network proxies", "Guide"]
DOCUMENTS = [
    {
        "id": f"doc{number}",
        "title": f"{subject}, part {part}",
        "score": round(0.95 - 0.07 * number, 2),
        "section": f"Part {part}",
        "type": "markdown" if number % 3 else "text",
        "vendor": "acme",
        "file": f"guide/{subject.split()[0].lower()}.md",
        "created": f"2026-01-{number + 1:02}",
        "preview": f"{subject} matters after {number + 2} seconds.",
        "content": f"This guide: {subject} is kept for {number * 10} days and tried {number + 1} times, {number}.5 seconds.",
    }
    for number, (subject, part) in enumerate((subject, part) for part in (1, 2) for subject in SUBJECTS)
]
FIELDS = {
    "ids_only": ["id"],
    "metadata": ["id", "title", "score", "section", "type", "vendor", "file", "created"],
    "preview": ["id", "title", "score", "file", "preview"],
    "full": ["id", "title", "score", "file", "content"],
}


def answer(method, params):
    """The reply to one call."""
    if method == "fetch":
        found = [document for document in DOCUMENTS if document["id"] in params["ids"]]
        return page(found, params["level"])
    if method in ("kb.read_excerpt", "kb.expand_excerpt"):
        return excerpt(params)
    if method == "kb.extract_evidence":
        return quotes([document for document in DOCUMENTS if document["id"] in params["passage_ids"]], params)
    query = params.get("query") or params.get("question") or ""
    if len(query) < 2:
        return refusal("INVALID_REQUEST", "query: too short")
    words = {word.rstrip("s") for word in query.lower().split()}
    found = [document for document in DOCUMENTS if any(word in document["content"].lower() for word in words)]
    found = [document for document in found if document["score"] >= params.get("min_score", 0)]
    if method == "kb.retrieve_evidence":
        return quotes(found[: params["top_k"]], params)
    start = int(params.get("cursor") or 0)
    mode = "preview" if method == "kb.search" else params["response_mode"]
    reply = page(found[start : start + params["top_k"]], mode)
    if start + params["top_k"] < len(found):
        reply["ok"]["next_cursor"] = str(start + params["top_k"])
    return reply


def refusal(kind, message):
    """A call that is not answered."""
    return {"error": {"type": kind, "message": message, "hint": None, "limit": False}}


def citation(document):
    """Where a quote or an excerpt comes from."""
    address = f"winnow://scratch/session/{document['id']}"
    return {"section_id": document["id"], "title": document["title"], "uri": address}


def quotes(found, params):
    """Of each document its sentence."""
    rows = [
        {"quote": document["preview"], "passage_id": document["id"], **citation(document), "confidence": 0.5}
        for document in found[: params["max_quotes"]]
    ]
    return {"ok": {"count": len(rows), "quotes": rows, "next_cursor": None, "partial": False}}


def excerpt(params):
    """As many words of a document as there are tokens, from a character on."""
    known = {document["id"]: document for document in DOCUMENTS}
    if params["passage_id"] not in known:
        return refusal("NOT_FOUND", f"no passage {params['passage_id']!r} in this session")
    document = known[params["passage_id"]]
    start, tokens = params.get("start_char", 0), params.get("max_tokens", 800)
    text = " ".join(document["content"][start:].split(" ")[:tokens])
    end = start + len(text)
    is_cut = end < len(document["content"])
    return {
        "ok": {
            "count": 1,
            "passage_id": document["id"],
            "excerpt": text,
            "start_char": start,
            "truncated": is_cut,
            "next_start_char": end if is_cut else None,
            "citation": citation(document),
        }
    }


def page(found, mode):
    """Documents at one level."""
    rows = [{name: document[name] for name in FIELDS[mode]} for document in found]
    return {"ok": {"mode": mode, "count": len(rows), "results": rows}}
