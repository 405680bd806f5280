# surface: held
# A title, a name or an address adds a link, a command of LaTeX or a field to the list of works.
import re

from winnow.security.citation_target import citations, ingest_works

TITLE = "Lantern [free](http://evil.example) }, note = {x \\input{/etc/passwd} ^^5cinput /etc/passwd "
WORK = {
    "id": "ohm1827",
    "type": "article-journal",
    "title": TITLE,
    "author": [{"family": "Ohm](http://evil.example)", "given": "G}\\write18{id}"}],
    "container-title": "<a href=http://evil.example>Annals</a>\x00*x*",
    "publisher": "![](http://evil.example)",
    "issued": {"date-parts": [[1827]]},
    "URL": "javascript:alert(1)",
    "keyword": "a}, author = {Evil",
}


def control():
    return "[free](http://evil.example)" in f"- {TITLE}" and "}, note = {" in f"  title = {{{TITLE}}}"


def surface():
    ingest_works([WORK])
    printed = citations("--key", "ohm1827")
    if not all("Lantern" in printed[style] for style in ("apa", "bibtex", "csl-json", "markdown")):
        raise RuntimeError(str(printed))
    in_markdown = printed["markdown"]
    links = re.search(r"(?<!\\)(?:(?:free|Ohm|!\[)\]\(|<a href)", in_markdown)
    commands = any(mark in printed["bibtex"] for mark in ("\\input", "\\write", "^^", "note = {", "author = {Evil"))
    return bool(links) or commands
