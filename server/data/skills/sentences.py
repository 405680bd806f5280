"""Skills over all sentences: they scan the whole text in scope and rank nothing."""

import re
from collections import namedtuple
from itertools import combinations

# A character of a sentence, also of one that is wrapped over lines; a list item, heading or table row is a line.
_INNER = r"(?:[^\n.!?]|[.!?][^\s]|\n[^\s#|>*+`~\d-])"
_END = r"[.!?]?"
_MOST = 5_000  # sentences of one scan
_COMMON = set(
    "the and for are was were with from that this what which when where who how why does did has have had not its "
    "their there into onto over under than then they them you your our can may will would should could about".split()
)
_SUFFIXES = ("ations", "ation", "ions", "ion", "ings", "ing", "ers", "ed", "es", "s", "e")


def glossary(terms, max_chars=240, path=None):
    """Say what terms mean, in the documents' own sentences; for one term or for hundreds.

    Returns {term: {"definition", "source", "file", "id"}}, None for a term without a definition. A sentence of a page
    with the term as its title is preferred, then the beginning of such a page, then a defining sentence elsewhere.
    If a limit of the run is reached, the terms that were not looked up are missing in the result, and printed.
    """
    terms = _names_in(terms)
    defined, pages = {}, _titled_pages(path)
    for first in range(0, len(terms), 50):
        batch = terms[first : first + 50]
        rows = _scan(_defining(batch), path) if _can_go_on() else None
        if rows is None:
            break
        progress(f"glossary: {first + len(batch)} of {len(terms)} terms")
        sentences = {}
        for row in rows:
            sentences.setdefault(_key(row.groups[0]), []).append(row)
        for term in batch:
            found = _define(_key(term), sentences.get(_key(term), []), pages, max_chars)
            if found == "limit":
                break
            defined[term] = found
    missing = [term for term in terms if term not in defined]
    if missing:
        print(f"glossary: a limit of this run left out {len(missing)} terms: {', '.join(missing)[:300]}")
    return defined


def _key(term):
    return _singular(" ".join(re.findall(r"\w+", term.lower())))


def _singular(term):
    return term[:-1] if term.endswith("s") and not term.endswith("ss") else term


def _titled_pages(path):
    """Documents by the key of their title, without text in brackets."""
    pages = {}
    try:
        for row in documents(path).all():
            pages.setdefault(_key(re.sub(r"\(.*?\)", "", row.title or "")), []).append(row)
    except SDKError as error:
        print(f"glossary: titles of pages are not known: {error.message}")
    return pages


_IS = r"(?:is|are) (?:an?|the|one|any|used|how|what|where|when|responsible)\b|are [^\n.!?]{3,60} (?:that|which)\b"
_SAYS = rf"(?:,? (?:{_IS}|means?\b|refers? to\b|stands? for\b|denotes?\b)|:\s|\s[–—-]\s)"


def _defining(terms):
    """The pattern of sentences that begin with one of the terms and say what it is."""
    names = "|".join(_pattern_of(term) for term in sorted(terms, key=len, reverse=True))
    start = r"(?:^|[.!?]\s+|^\s*(?:[-*+]|\d+[.)])\s+)(?:In [^\n.!?]{1,40}, )?(?:(?:An?|The) )?[*_`\"'“]*"
    return rf"(?m){start}({names})[*_`\"'”]*(?: \([^)\n]{{1,80}}\))?[*_`]*{_SAYS}{_INNER}+{_END}"


def _define(key, rows, pages, max_chars):
    """The best definition, None without one, "limit" where the run cannot take in more text."""
    best = max(rows, key=lambda row: _score(key, row), default=None)
    titled = pages.get(key, [])
    if best is not None and (_score(key, best) >= 10 or not titled):
        return _found(
            re.sub(r"^(?:[.!?]\s+|\s*(?:[-*+]|\d+[.)])\s+)", "", best.match), best, max_chars, "definition"
        )
    for page in titled[:3]:
        if not _can_go_on():
            return "limit"
        opening = _opening_of(page)
        if opening:
            return _found(opening, page, max_chars, "definition")
    return _found(best.match, best, max_chars, "definition") if best is not None else None


def _score(key, row):
    says = re.search(r"\b(?:is|are|means?|refers? to|stands? for|denotes?)\b", row.match[:160])
    place = 10 * (_key(re.sub(r"\(.*?\)", "", row.title or "")) == key) + 3 * (_key(_heading_of(row)) == key)
    return place + 2 * bool(says) - (row.start or 0) / 10_000_000 - 2 * bool(_KEY_LINE.match(row.match))


def _heading_of(row):
    return (row.section or "").rpartition(" > ")[2]


def _opening_of(page):
    """The first paragraph of a page that is prose, or its description."""
    try:
        text = read(page, max_tokens=600).text
    except SDKError:
        text = ""
    body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->|```.*?```", "", body, flags=re.DOTALL)
    body = re.sub(r"^[ \t]*{{[<%][^\n]*[>%]}}[ \t]*$", "", body, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n", body):
        is_prose = not re.match(r"\s*(?:#|[|>*+<-]|\d+\.|import |export )", paragraph)
        if is_prose and len(paragraph.split()) >= 5 and re.search(r"[.!?:]\s*\Z", paragraph):
            return paragraph
    fields = page.get("fields") or {}
    return fields.get("short_description") or fields.get("description") or ""


_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if name != "may" else "may" for name in _MONTHS)
_DATES = (
    rf"\b(?:\d{{4}}-\d{{2}}(?:-\d{{2}})?|(?:{_MONTH})\.?\s+(?:\d{{1,2}}(?:st|nd|rd|th)?,?\s+)?\d{{4}}"
    r"|(?:in|since|until|by|from|before|after)\s+(?:1[6-9]|20)\d{2})\b"
)
_ISO = re.compile(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")
_WRITTEN = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?\s+)?({_MONTH})\.?(?:\s+(\d{{1,2}})(?:st|nd|rd|th)?,?)?\s+(\d{{4}})\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:in|since|until|by|from|before|after)\s+((?:1[6-9]|20)\d{2})\b", re.IGNORECASE)
_DATE_LINE = re.compile(r"\s*[\w-]*date[\w-]*: ", re.IGNORECASE)  # of front matter
_REFERS_BACK = re.compile(r"(?:it|they|this|that|these|those)\b", re.IGNORECASE)


def timeline(topic, limit=100, path=None):
    """Put the sentences about a topic in order of the dates that they name.

    Returns [{"date", "quote", "source", "file", "id"}], earliest first; dates are as exact as the sentence: 2024,
    2024-05, 2024-05-17. A sentence with a date counts if the words of the topic are in the sentence, its section or
    the title. limit: events; those whose sentences have more words of the topic are kept.
    """
    words, events = _topic_words(topic), []
    for row in _scan(rf"{_INNER}*{_DATES}{_INNER}*{_END}", path, context=150) or []:
        quote = _line_with(row.match, _DATES).strip()
        if not _is_prose(quote) and not _DATE_LINE.match(quote):
            continue
        before = row.context if _REFERS_BACK.match(quote) else ""
        own, around = _stems(quote), _stems(f"{row.section} {row.title} {before}")
        if words <= own | around and (words & own or before or words <= _stems(_heading_of(row))):
            events += [(len(words & own), {"date": date, **_found(quote, row)}) for date in _dates_in(quote)]
    events.sort(key=lambda event: -event[0])
    if len(events) > limit:
        print(f"timeline: {limit} of {len(events)} events; a higher limit has more")
    return sorted((event for _, event in events[:limit]), key=lambda event: event["date"])


def _dates_in(text):
    found = ["-".join(filter(None, match.groups())) for match in _ISO.finditer(text)]
    for match in _WRITTEN.finditer(text):
        day, month, later_day, year = match.groups()
        number = next(index for index, name in enumerate(_MONTHS, 1) if name.startswith(month[:3].lower()))
        date, day = f"{year}-{number:02}", day or later_day
        found.append(f"{date}-{int(day):02}" if day else date)
    found = [date for date in found if _is_date(date)] or _YEAR.findall(text)
    return list(dict.fromkeys(found))


def _is_date(date):
    year, month, day = (int(part) for part in (f"{date}-1" if date.count("-") == 1 else date).split("-"))
    return 1000 <= year <= 2999 and 1 <= month <= 12 and 1 <= day <= 31


def compare(entities, aspects, per=1, path=None):
    """Compare things aspect by aspect: sentences about each aspect, side by side.

    Returns {aspect: {entity: [{"quote", "source", "file", "id"}]}}; the list is empty where nothing is said. A
    sentence counts if it names the entity, or names none and its section or title does, and if the words of the
    aspect are in the sentence or its heading (of four words or more, one may be missing). per: quotes for each.
    """
    if isinstance(entities, str):
        raise TypeError("entities: a list of names, as in compare(['backups', 'router'], ['encrypted'])")
    entities, aspects, table = _names_in(entities), _names_in(aspects), {}
    for aspect in aspects:
        progress(f"comparing {aspect}")
        words = _stems(aspect)
        rows = [(row.match, row) for row in _scan(_together(entities, words), path) or []]
        table[aspect] = {entity: _cell(entity, entities, aspect, rows, per, path) for entity in entities}
    return table


def _together(entities, words):
    """The pattern of sentences with one of the entities and one of the words."""
    named, said = rf"\b(?:{'|'.join(map(_pattern_of, entities))})", _any_of(words)
    orders = ((named, said), (said, named))
    return "|".join(rf"{_INNER}*{one}{_INNER}*{other}{_INNER}*{_END}" for one, other in orders)


def _cell(entity, entities, aspect, rows, per, path):
    best = _best_of(entity, entities, aspect, rows)
    if len(best) < per and _can_go_on():
        try:
            filters = {"path": path} if path else None
            asked = kb.retrieve_evidence(
                f"{entity} {aspect}", top_k=10, max_quotes=12, include_context_tokens=0, filters=filters
            )
            best += _best_of(entity, entities, aspect, [(row.quote, row) for row in asked])
        except SDKError as error:
            print(f"compare: {entity}, {aspect}: {error.message}")
    once = {_letters(quote): (quote, row) for quote, row in reversed(best)}
    return [_found(quote, row) for quote, row in reversed(once.values())][:per]


def _best_of(entity, entities, aspect, rows):
    """The sentences that say the aspect of the entity, the best first."""
    said = [(_fitness(entity, entities, aspect, quote, row), quote, row) for quote, row in rows]
    return [(quote, row) for _, quote, row in sorted((one for one in said if one[0]), key=lambda one: -one[0])]


def _fitness(entity, entities, aspect, quote, row):
    """The fitness of a sentence for the aspect of the entity; 0 if it says nothing about it."""
    words, own = _stems(aspect), _stems(quote)
    missing = words - own - _stems(_heading_of(row))
    if not words & own or len(missing) > (len(words) > 3) or not _is_prose(quote):
        return 0
    others = [other for other in entities if other != entity and _names(other, entities, quote)]
    in_place = not others and _names(entity, entities, f"{row.section} | {row.title}")
    in_quote = _names(entity, entities, quote)
    if not in_quote and not in_place:
        return 0
    is_plain = re.search(r"[^\W\d_]", quote)[0].isupper()
    return 2 + len(words & own) / len(words) + (in_quote + is_plain) / 2 - len(others) / 5 - len(quote) / 10_000


def _names(entity, entities, text):
    """Whether the text names the entity, and not only a longer entity whose name contains this one's."""
    for other in entities:
        if other != entity and entity.lower() in other.lower():
            text = re.sub(rf"(?i)(?<!\w){_pattern_of(other)}(?!\w)", " ", text)
    return re.search(rf"(?i)(?<!\w){_pattern_of(entity)}(?!\w)", text) is not None


_NUMBER = re.compile(r"(?<![\w.])(\d+(?:[.,]\d+)*)\s*(%|[a-z]+)?", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|never|cannot|no longer)\b|n't\b", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:if|unless|when|until|example|e\.g|otherwise|instead|either|before|after)\b", re.IGNORECASE
)
_Sentence = namedtuple("_Sentence", "row text words subject numbers denies conditions")
_LEAST_WORDS, _COMPARED = 4, 600
_NOTE = "candidates: pairs to read, no proof that the documents contradict each other"


def find_contradictions(topic, limit=20, path=None):
    """Find candidates for contradictions: pairs of sentences that say the same with other numbers, or with "not".

    Returns {"candidates": [{"why", "first", "second", "sources", "ids"}], "sentences", "note"}, the most alike
    first. They are candidates: each pair has to be read. At most 600 sentences are compared: those that have the
    rarest word of the topic, and its other words in the sentence, its section or its title. limit: pairs.
    """
    words, sentences = _topic_words(topic), {}
    rarest = min(words, key=lambda word: count(_any_of([word]), case=False, path=path).matches)
    for row in _scan(rf"{_INNER}*{_any_of([rarest])}{_INNER}*{_END}", path) or []:
        if words <= _stems(f"{row.match} {row.section} {row.title}") and _is_prose(row.match):
            sentences.setdefault(_letters(row.match), _parts_of(row))
    compared = [one for one in sentences.values() if len(one.words) >= _LEAST_WORDS][:_COMPARED]
    pairs = [(_conflict(first, second), first, second) for first, second in combinations(compared, 2)]
    best = sorted(((*found, first, second) for found, first, second in pairs if found), key=lambda pair: -pair[0])
    return {"candidates": [_pair(*pair) for pair in best[:limit]], "sentences": len(compared), "note": _NOTE}


def _parts_of(row):
    text = " ".join(row.match.split())
    numbers = {}
    for number, unit in _NUMBER.findall(text):
        numbers.setdefault(unit.lower(), set()).add(number)
    words = _stems(_NOT.sub(" ", _NUMBER.sub(r" \2 ", text)))
    subject = _stems(_NUMBER.split(text, maxsplit=1)[0])
    return _Sentence(
        row, text, words, subject, numbers, bool(_NOT.search(text)), set(map(str.lower, _CONDITION.findall(text)))
    )


def _conflict(first, second):
    """The likeness of two sentences, and why they may contradict each other; None if there is no reason."""
    one, other = first.words, second.words
    if min(len(one), len(other)) < 0.6 * max(len(one), len(other)):
        return None
    alike = len(one & other) / len(one | other)
    # If each has a word that the other lacks, they are about different things: minimum and maximum.
    if alike < 0.6 or (one - other and other - one) or first.conditions != second.conditions:
        return None
    # So are they if one has an additional word before the number: the smallest depth and the depth.
    is_same_subject = first.subject == second.subject
    units = first.numbers.keys() & second.numbers.keys()
    if (
        is_same_subject
        and first.denies == second.denies
        and any(not first.numbers[unit] & second.numbers[unit] for unit in units)
    ):
        return alike, "other numbers"
    if first.denies != second.denies and first.numbers == second.numbers and alike >= 0.75:
        return alike, "one is denied"
    return None


def _pair(_, why, first, second):
    texts = {name: one.text[:400] for name, one in (("first", first), ("second", second))}
    return {
        "why": why,
        **texts,
        "sources": [_source(one.row) for one in (first, second)],
        "ids": [first.row.id, second.row.id],
    }


# --- what the skills share ----------------------------------------------------------------------------------------

_SHORTCODE = re.compile(r"{{.*?}}", re.DOTALL)
_KEY_LINE = re.compile(r"^\s*[a-z][\w.-]*: ", re.MULTILINE)  # of front matter, of YAML


def _scan(pattern, path, context=0):
    """The sentences with a match; if a limit is reached, those found so far, or None if there are none."""
    rows = []
    try:
        for page in scan(pattern, case=False, path=path, context=context, limit=1_000).pages():
            rows += page
            if page.next_cursor and (len(rows) >= _MOST or not _can_go_on()):
                print(f"{len(rows):,} sentences were looked at, there are more: narrow with path")
                break
    except SDKError as error:
        print(f"stopped: {error.message}")
        return rows or None
    return rows


def _can_go_on():
    left = budget()
    return left.calls > 2 and left.seconds > 1 and left.text_bytes.left > 100_000


def _found(quote, row, max_chars=400, name="quote"):
    text = " ".join(quote.split()).strip()
    short = text if len(text) <= max_chars else text[:max_chars].rpartition(" ")[0] + "…"
    return {name: short, "source": _source(row), "file": row.file, "id": row.id}


def _source(row):
    return " > ".join(dict.fromkeys(filter(None, [row.title, *(row.section or "").split(" > ")])))


def _any_of(stems):
    return rf"\b(?:{'|'.join(map(re.escape, sorted(stems)))})\w*"


def _is_prose(text):
    """Whether this is a sentence: no heading, code, output, front matter or table."""
    is_sentence = re.match(r"\s*(?:[-*+>]\s+)?[*_`\"'“(\[]*[^\W\d_]", text) and re.search(r"[.!?:]\W*\Z", text)
    return (
        bool(is_sentence)
        and not re.search(r"[{}=|]|;\s*$|\s{4,}|->", _SHORTCODE.sub("", text))
        and not _KEY_LINE.search(text)
    )


def _line_with(text, pattern):
    """The text; if it has lines such as "date: 2024", only the line with the pattern."""
    if not _KEY_LINE.search(text):
        return text
    return next((line for line in text.splitlines() if re.search(pattern, line, re.IGNORECASE)), text)


def _names_in(names):
    """One name or several as a list, each once. Raises ValueError for a name without a letter or digit."""
    listed = [names] if isinstance(names, str) else list(dict.fromkeys(names))
    blank = next((name for name in listed if not _letters(name)), None)
    if blank is not None:
        raise ValueError(f"{blank!r} has no letter or digit; name what you look for")
    return listed


def _pattern_of(name):
    words = [re.escape(word) for word in _singular(name).split()]
    return r"\s+".join(words) + "(?:s|es)?"


def _stems(text):
    """The words that carry the meaning, without their endings: encrypted and encryption are one."""
    return {_stem(word) for word in re.findall(r"[^\W_]+", text.lower()) if len(word) > 2 and word not in _COMMON}


def _topic_words(topic):
    if not isinstance(topic, str):
        raise TypeError("topic: one text; for several topics call it once for each")
    words = _stems(topic)
    if not words:
        raise ValueError(f"topic: {topic!r} has no word of three letters; name what you look for")
    return words


def _stem(word):
    ending = next((one for one in _SUFFIXES if word.endswith(one) and len(word) - len(one) >= 3), "")
    return word.removesuffix(ending)


def _letters(text):
    return "".join(re.findall(r"\w", text.lower()))
