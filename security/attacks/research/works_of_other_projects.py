# surface: held
# Citekeys, titles and paths of another project are cited, or named as near to what was asked for.
import difflib

from winnow.security.job_server import call_all
from winnow.security.surface import winnow
from winnow.security.two_projects import SECRET, SERVER, ingest_both
from winnow.server.commands.entry.app import open_application
from winnow.server.ids import document_id
from winnow.server.settings.loading import load_settings

ASKED = SECRET[:-1]


def control():
    # What suggestions do that are taken from the whole store.
    ingest_both()
    known = winnow("documents", "--store", "store", "--project", "theirs", "--json").stdout.decode()
    return SECRET in known and difflib.get_close_matches(ASKED, ["harbour", SECRET]) == [SECRET]


def surface():
    ingest_both()
    names = (f"{SECRET}.md", document_id("theirs", f"{SECRET}.md"), SECRET.title(), f"{ASKED}.md", f"../theirs/{SECRET}.md")
    calls = [("kb.cite", {"rows": [{"id": name}], "style": style}) for name in names for style in ("apa", "bibtex")]
    calls += [("kb.read", {"document": name}) for name in names]
    calls += [("kb.documents", {"where": where}) for where in ({"citekey": f"{ASKED}1827"}, {"stage": ASKED}, {ASKED: "x"})]
    calls += [("kb.documents", {"group_by": "citekey"}), ("kb.scan", {"pattern": "(?i)VOLC[A-Z]+"}), ("kb.repeats", {})]
    calls += [("semantic_search", {"query": f"citekey:{ASKED}1827 night"}), ("fetch", {"ids": [names[1]]})]
    settings = load_settings(**SERVER)
    answers = call_all(open_application(settings, wait_for_model=False), calls)
    # What a caller named itself may stand in its refusal.
    said = repr(answers)
    for name in (*names, f"{ASKED}1827"):
        said = said.replace(name, "")
    return SECRET in said.casefold() or "harbour1827" not in said
