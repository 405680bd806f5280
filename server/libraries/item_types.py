"""The types of works: those of CSL, and what BibTeX and RIS call them."""

from __future__ import annotations

from collections.abc import Mapping

# The types of CSL 1.0.2.
# fmt: off
CSL_TYPES = frozenset((
    "article", "article-journal", "article-magazine", "article-newspaper", "bill", "book", "broadcast",
    "chapter", "classic", "collection", "dataset", "document", "entry", "entry-dictionary",
    "entry-encyclopedia", "event", "figure", "graphic", "hearing", "interview", "legal_case", "legislation",
    "manuscript", "map", "motion_picture", "musical_score", "pamphlet", "paper-conference", "patent",
    "performance", "periodical", "personal_communication", "post", "post-weblog", "regulation", "report",
    "review", "review-book", "software", "song", "speech", "standard", "thesis", "treaty", "webpage",
))
# fmt: on
UNKNOWN_TYPE = "document"

# Types of BibTeX and BibLaTeX.
OF_BIBTEX: Mapping[str, str] = {
    "article": "article-journal",
    "suppperiodical": "article-journal",
    "book": "book",
    "mvbook": "book",
    "collection": "book",
    "mvcollection": "book",
    "reference": "book",
    "mvreference": "book",
    "proceedings": "book",
    "mvproceedings": "book",
    "manual": "book",
    "booklet": "pamphlet",
    "inbook": "chapter",
    "bookinbook": "chapter",
    "suppbook": "chapter",
    "incollection": "chapter",
    "suppcollection": "chapter",
    "inreference": "entry-encyclopedia",
    "inproceedings": "paper-conference",
    "conference": "paper-conference",
    "thesis": "thesis",
    "phdthesis": "thesis",
    "mastersthesis": "thesis",
    "report": "report",
    "techreport": "report",
    "unpublished": "manuscript",
    "online": "webpage",
    "electronic": "webpage",
    "www": "webpage",
    "patent": "patent",
    "periodical": "periodical",
    "dataset": "dataset",
    "software": "software",
    "standard": "standard",
    "legislation": "legislation",
    "jurisdiction": "legal_case",
    "movie": "motion_picture",
    "video": "motion_picture",
    "audio": "song",
    "misc": "document",
}
# Types of BibTeX by those of CSL, to write entries.
TO_BIBTEX: Mapping[str, str] = {
    "article": "article",
    "article-journal": "article",
    "article-magazine": "article",
    "article-newspaper": "article",
    "book": "book",
    "chapter": "incollection",
    "entry-encyclopedia": "incollection",
    "entry-dictionary": "incollection",
    "paper-conference": "inproceedings",
    "thesis": "phdthesis",
    "report": "techreport",
    "manuscript": "unpublished",
    "pamphlet": "booklet",
}
# Types of RIS (the tag TY).
OF_RIS: Mapping[str, str] = {
    "ABST": "article-journal",
    "BLOG": "post-weblog",
    "BOOK": "book",
    "CASE": "legal_case",
    "CHAP": "chapter",
    "COMP": "software",
    "CONF": "book",
    "CPAPER": "paper-conference",
    "DATA": "dataset",
    "DICT": "entry-dictionary",
    "EBOOK": "book",
    "ECHAP": "chapter",
    "EDBOOK": "book",
    "EJOUR": "article-journal",
    "ELEC": "webpage",
    "ENCYC": "entry-encyclopedia",
    "HEAR": "hearing",
    "JFULL": "periodical",
    "JOUR": "article-journal",
    "MAP": "map",
    "MGZN": "article-magazine",
    "MPCT": "motion_picture",
    "NEWS": "article-newspaper",
    "PAMP": "pamphlet",
    "PAT": "patent",
    "RPRT": "report",
    "STAND": "standard",
    "STAT": "legislation",
    "THES": "thesis",
    "UNPB": "manuscript",
    "VIDEO": "motion_picture",
    "WEB": "webpage",
}
