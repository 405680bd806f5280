# surface: held
# A citekey closes its citation and adds a link, another key or a command of LaTeX to the user's text.
from winnow.security.citation_target import citations, ingest_works

KEYS = ("a](http://evil.example)[", "a}][@ohm1827", "a}\\input{/etc/passwd}", "a^^5cinput", "a\n\n# b", "a<script>")
PAGE = "---\ncitekey: 'b](http://evil.example)[c'\n---\n# Lanterns\n\nA lantern of its own.\n"


def control():
    # What a program prints that puts keys into citations as they are.
    return "](http://evil.example)" in f"[@{KEYS[0]}]" and "\\input{/etc" in f"\\cite{{{KEYS[2]}}}"


def surface():
    works = [{"id": key, "title": f"Lantern {number}"} for number, key in enumerate(KEYS)]
    said = ingest_works(works, {"own.md": PAGE})
    printed = citations("lantern", "--limit", "20")
    if "anonymouslantern" not in printed["pandoc"] or "signs that would end a citation" not in said:
        raise RuntimeError(printed["pandoc"] + said)
    marks = ("](http", "@ohm1827", "\\input", "^^5c", "<script", "\n# b")
    return any(mark in printed[style] for style in ("pandoc", "bibtex") for mark in marks)
