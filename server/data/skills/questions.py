"""Skills about questions: which of many are answered, and what whole documents say about one."""


def coverage(questions, path=None):
    """Check which of many questions the documents answer, and which they do not.

    Returns {"answered", "partly": [{"question", "quote", "source", "id", "confidence"}], "open": [{"question",
    "missing_terms"}], "share", "not_asked"}, by the verdict of kb.retrieve_evidence. missing_terms: words that no
    document has. share: of the questions asked, those answered. not_asked: questions that a limit left out.
    """
    questions = [questions] if isinstance(questions, str) else list(questions)
    found, not_asked = {"answered": [], "partly": [], "not_found": []}, []
    filters = {"path": path} if path else None
    for number, question in enumerate(questions):
        if not_asked or not _can_go_on():
            not_asked.append(question)
            continue
        progress(f"coverage: question {number + 1} of {len(questions)}")
        try:
            page = kb.retrieve_evidence(question, max_quotes=1, filters=filters)
        except SDKError as error:
            print(f"coverage stopped: {error.message}")
            not_asked.append(question)
            continue
        found[page.verdict if page else "not_found"].append(_verdict_on(question, page))
    asked = sum(map(len, found.values()))
    share = round(len(found["answered"]) / max(1, asked), 3)
    still_open = found.pop("not_found")
    return {**found, "open": still_open, "share": share, "not_asked": not_asked}


def _verdict_on(question, page):
    if not page or page.verdict == "not_found":
        return {"question": question, "missing_terms": list(page.missing_terms)}
    best = quotes(page[:1])[0]
    return {"question": question, **best.to_dict(), "confidence": page.confidence}


def map_reduce(question, documents=3, max_quotes=12, path=None, each=None):
    """Read whole documents, one after the other, and keep the quotes that answer a question best.

    documents: how many of those that a search for the question finds; with path, of those with that path.
    Returns {"question", "answers": [{"document", "section", "quotes": [{"quote", "confidence", "id"}]}], "read":
    [file], "left_out": [file]}, best section first. left_out: documents for which the run had no budget left. each:
    a function of (text, row) for every document; then "answers" are its values: {"document", "file", "value"}.
    """
    answers, files, left_out = [], [], []
    for row in _documents_for(question, documents, path):
        text = None if left_out else _read_whole(row)
        if text is None:
            left_out.append(row.file)
            continue
        progress(f"map_reduce: read {row.file}")
        files.append(row.file)
        if each is not None:
            answers.append({"document": _document_title(row), "file": row.file, "value": each(text, row)})
        else:
            answers += _quotes_in(question, row, max_quotes)
    if each is None:
        best = sorted(dedupe(answers, by="text"), key=lambda quote: -quote.confidence)[:max_quotes]
        answers = [_answer_of(rows) for rows in group_by(best, lambda quote: quote.section_id).values()]
    return {"question": question, "answers": answers, "read": files, "left_out": left_out}


def _documents_for(question, most, path):
    """The rows of the documents to read."""
    return kb.documents(path, limit=most) if path else kb.search(question, top_k=most)


def _read_whole(row):
    """The text of a document, None if the run has no room for it."""
    if not _can_go_on():
        return None
    try:
        if kb.read(row, max_tokens=8).total_chars > budget().text_bytes.left:
            return None
        return kb.text(row)
    except SDKError as error:
        print(f"map_reduce: {row.file}: {error.message}")
        return None


def _quotes_in(question, row, max_quotes):
    """The quotes of all passages of a document."""
    found, passages = [], fetch(row.document_id, level="ids").all()
    for first in range(0, len(passages), 50):
        found += kb.extract_evidence(question, passages[first : first + 50], max_quotes=min(20, max_quotes))
    return found


def _answer_of(rows):
    told = [{"quote": row.quote, "confidence": row.confidence, "id": row.section_id} for row in rows]
    return {"document": _document_title(rows[0]), "section": rows[0].title, "quotes": told}


def _document_title(row):
    return row.title.partition(" > ")[0]


def _can_go_on():
    left = budget()
    return left.calls > 2 and left.seconds > 1 and left.text_bytes.left > 100_000
