# surface: held
# Filters name another project, a path out of it or a pattern of the engine, so that its documents are searched.
import sqlite3

from winnow.security.job_server import call_all
from winnow.security.two_projects import SECRET, SERVER, ingest_both
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings

WHERE = (
    {"project": "theirs"},
    {"documents.project": "theirs"},
    {"source": "theirs"},
    {"citekey": ["harbour1827", "%", "*"]},
    {"stage": "' OR 1=1 --"},
    {"') OR (1=1": "x"},
)
PATHS = ("../theirs/*", "*/theirs/*", "%", "*", "[a-z]*", "')", "theirs/")


def control():
    # What a search does whose filters are put into its query as text.
    ingest_both()
    value = "' OR '1' = '1"
    rows = sqlite3.connect("store/catalogue.sqlite3").execute(
        f"SELECT title FROM documents WHERE project = 'mine' AND uri = '{value}'"
    )
    return SECRET.title() in [title for (title,) in rows]


def surface():
    ingest_both()
    narrowed = [{"where": where} for where in WHERE] + [{"path": path} for path in PATHS]
    narrowed += [{"path_prefix": path} for path in PATHS] + [{"tags": ["%"]}, {"doc_tag": ["*"]}, {"types": ["markdown"]}]
    calls = [("semantic_search", {"query": "at night with a lantern", "filters": each}) for each in narrowed]
    calls += [("kb.scan", {"pattern": ".*", "filters": each}) for each in narrowed]
    calls += [("kb.documents", {"filters": each}) for each in narrowed]
    calls += [("query", {"project": "mine", "text": "night", "filters": {"section_prefix": "%"}})]
    settings = load_settings(**SERVER)
    answers = call_all(open_application(settings, wait_for_model=False), calls)
    answered = [answer for answer in answers if "refused" not in answer and "harbour" in repr(answer)]
    if not answered:
        raise RuntimeError(repr(answers)[:2_000])
    return SECRET in repr(answers).casefold()
