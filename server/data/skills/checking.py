"""Skills that check: in order of time, against each other, and against a list of questions."""

import re
from itertools import combinations

_MONTHS = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
           "december"]
_ISO = re.compile(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")
_WRITTEN = re.compile(rf"\b(?:(\d{{1,2}})\s+)?({'|'.join(_MONTHS)})(?:\s+(\d{{1,2}}),?)?\s+(\d{{4}})\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:in|since|until|by|from)\s+(\d{4})\b", re.IGNORECASE)


def timeline(topic, top_k=20):
    """Put what is said of a topic in order of the dates that the sentences name.

    Returns [{"date", "quote", "source"}], earliest first; dates are as exact as the sentence: 2024, 2024-05,
    2024-05-17. top_k: passages to look through, at most 20.
    """
    rows = []
    for question in (topic, f"{topic} date year"):
        rows += list(kb.retrieve_evidence(question, top_k=top_k, max_quotes=20, max_quote_tokens=120,
                                          include_context_tokens=0))
    events = []
    for one in quotes(rows):
        for date in _dates_in(one.quote):
            events.append({"date": date, "quote": one.quote, "source": one.source})
    return sorted(events, key=lambda event: event["date"])


def _dates_in(text):
    found = ["-".join(filter(None, match.groups())) for match in _ISO.finditer(text)]
    for match in _WRITTEN.finditer(text):
        day, month, later_day, year = match.groups()
        date = f"{year}-{_MONTHS.index(month.lower()) + 1:02}"
        number = day or later_day
        found.append(f"{date}-{int(number):02}" if number else date)
    if not found:
        found = [match[1] for match in _YEAR.finditer(text)]
    return list(dict.fromkeys(found))


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*\s*%?")
_NOT = re.compile(r"\b(?:not|never|no|cannot|without|must not|don't|doesn't|isn't|aren't)\b|n't\b", re.IGNORECASE)
_WORDS = re.compile(r"[a-z]{4,}", re.IGNORECASE)


def find_contradictions(topic, top_k=20, overlap=0.5):
    """Find pairs of sentences that say the same thing with other numbers, or one with "not" and one without.

    Returns [{"why", "first", "second", "sources"}], the most alike first. A pair is worth reading, not proof.
    overlap: the share of words that two sentences must have in common.
    """
    rows = kb.retrieve_evidence(topic, top_k=top_k, max_quotes=20, max_quote_tokens=100, include_context_tokens=0)
    pairs = []
    for first, second in combinations(quotes(rows), 2):
        alike = _alike(first.quote, second.quote)
        why = _conflict(first.quote, second.quote) if overlap <= alike < 1.01 else None
        if why:
            sources = [first.source, second.source]
            pairs.append((alike, {"why": why, "first": first.quote, "second": second.quote, "sources": sources}))
    return [pair for _, pair in sorted(pairs, key=lambda found: -found[0])]


def _alike(first, second):
    one, other = ({word.lower() for word in _WORDS.findall(text)} for text in (first, second))
    return len(one & other) / max(1, min(len(one), len(other)))


def _conflict(first, second):
    numbers = [set(_NUMBER.findall(text)) for text in (first, second)]
    if all(numbers) and not numbers[0] & numbers[1]:
        return "other numbers"
    if bool(_NOT.search(first)) != bool(_NOT.search(second)):
        return "one is denied"
    return None


def coverage(questions, min_confidence=0.5):
    """Check which of many questions the documents answer, and which they do not.

    Returns {"answered": [{"question", "quote", "source", "confidence"}], "open": [question], "share"}.
    min_confidence: the share of a question's words that the best quote must have.
    """
    answered, still_open = [], []
    for question in questions:
        rows = sorted(kb.retrieve_evidence(question, max_quotes=3), key=lambda row: -row.confidence)
        if rows and rows[0].confidence >= min_confidence:
            best = quotes(rows[:1])[0]
            told = {"question": question, "quote": best.quote, "source": best.source, "confidence": rows[0].confidence}
            answered.append(told)
        else:
            still_open.append(question)
    return {"answered": answered, "open": still_open, "share": round(len(answered) / max(1, len(questions)), 3)}
