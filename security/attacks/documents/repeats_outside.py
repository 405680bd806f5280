# surface: held
# Repeated text is looked for where one of its copies, or all of them, stand outside the scope.
from pathlib import Path

from winnow.security.corpus_store import HIDDEN, SEEN, ingest_pages
from winnow.security.script_server import run_scripts
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings

PAGES = {
    "guide/open.md": SEEN,
    "hiddenfolder/one.md": {**HIDDEN, "title": "Hidden lantern"},
    "hiddenfolder/two.md": {**HIDDEN, "title": "Hidden lantern"},
    "hiddenfolder/copy.md": {**HIDDEN, "title": "Open lantern"},
}
STORE = {"store": "store", "daemon": "off", "embedding": "off", "environment": "prod"}
ATTEMPTS = """
taken = []
for options in ({}, {"path": "hidden*"}, {"path": "*"}, {"where": {"environment": "dev"}}, {"cursor": CURSOR},
                {"filters": {"path_prefix": "hiddenfolder"}}, {"scope": {"environment": "dev"}},
                {"scope": {"project_id": "hidden"}}):
    try:
        page = repeats(min_chars=20, **options)
        taken.append([page.total.texts, page.scanned.documents, str(page.results)])
    except Exception as error:
        taken.append(str(error)[:200])
return taken
"""
OWN_CURSOR = "return repeats(min_chars=20, limit=1).next_cursor"


def _run(script, **settings):
    server = open_application(load_settings(**{**STORE, **settings}), wait_for_model=False)
    (outcome,) = run_scripts(server, [("one", script)])
    assert outcome.status == "ok", outcome.error
    return outcome.result


def control():  # a program that compares all files
    ingest_pages(PAGES)
    paragraphs = [one for file in Path("documents").rglob("*.md") for one in file.read_text("utf-8").split("\n\n")]
    return any(paragraphs.count(one) == 2 and "Hidden lantern says so" in one for one in paragraphs)


def surface():
    ingest_pages(PAGES)
    cursor = _run(OWN_CURSOR, environment="dev")
    taken = _run(f"CURSOR = {cursor!r}\n{ATTEMPTS}")
    answered = [one for one in taken if isinstance(one, list)]
    assert answered[0][1] == 1, taken
    return any(one[0] != 0 or one[1] > 1 for one in answered) or "says so" in str(taken)
