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
    query = params.get("query") or ""
    if len(query) < 2:
        return {"error": {"type": "INVALID_REQUEST", "message": "query: too short", "hint": None, "limit": False}}
    words = {word.rstrip("s") for word in query.lower().split()}
    found = [document for document in DOCUMENTS if any(word in document["content"].lower() for word in words)]
    found = [document for document in found if document["score"] >= params.get("min_score", 0)]
    start = int(params.get("cursor") or 0)
    mode = "preview" if method == "kb.search" else params["response_mode"]
    reply = page(found[start : start + params["top_k"]], mode)
    if start + params["top_k"] < len(found):
        reply["ok"]["next_cursor"] = str(start + params["top_k"])
    return reply


def page(found, mode):
    """Documents at one level."""
    rows = [{name: document[name] for name in FIELDS[mode]} for document in found]
    return {"ok": {"mode": mode, "count": len(rows), "results": rows}}
