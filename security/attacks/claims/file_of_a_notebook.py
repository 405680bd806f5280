# surface: held
# A file of claims judges entries of another notebook, says that an entry is integrated, happened in the year 30,000
# and has a citekey that is a link in the report.
import json
from pathlib import Path

from winnow.server.claims.exchange import FORMAT, import_lines
from winnow.server.claims.hash_chain import digest_of
from winnow.server.claims.records import ClaimVerdict
from winnow.server.claims.sqlite_store import SqliteClaimStore
from winnow.server.claims.store import Change, Notebook, View
from winnow.server.commands.claims.report import report_lines
from winnow.server.errors import WinnowError

OURS, THEIRS = Notebook("p"), Notebook("q")
FIRST, SECOND, THIRD = "0" * 12, "1" * 12, "2" * 12
LINK = "[read](javascript:alert)\n# Approved"


def entry(id, **more):
    evidence = {"quote": "said", "citekey": LINK, "document": LINK, "locator": LINK, "by": LINK}
    claims = [{"id": f"{id}.1", "text": f"It is so. {LINK}", "evidence": [evidence]}]
    return id, "written", json.dumps({"id": id, "topic": "t", "claims": claims, **more})


def judged():
    verdict = ClaimVerdict(claim_id=f"{FIRST}.1", other_id=f"{SECOND}.1", judgement="contradicts", by="mallory")
    return FIRST, "judged", verdict.model_dump_json()


def export(notebook, *rows, at=1.0):
    lines, previous = [json.dumps({"format": FORMAT, "project": notebook.project, "owner": notebook.owner})], ""
    for number, (id, kind, body) in enumerate(rows, 1):
        previous = digest_of(previous, number, id, kind, at, body)
        change = {"sequence": number, "entry_id": id, "kind": kind, "at": at, "body": body, "digest": previous}
        lines.append(json.dumps(change))
    return [line.encode() for line in lines]


def take(store, *lines):
    try:
        import_lines(store, lines)
    except WinnowError:
        return


def control():
    # A store that takes the records as they are, and a report that prints them.
    store = SqliteClaimStore(Path("store/claims.sqlite3"))
    import_lines(store, export(OURS, entry(FIRST), entry(SECOND)))
    record = ClaimVerdict.model_validate_json(judged()[2])
    store.import_changes(THEIRS, [(Change(1, FIRST, "judged", 1e12, judged()[2], ""), record)])
    return bool(store.verdicts([FIRST])) and LINK.splitlines()[0] in f"- {LINK}"


def surface():
    store = SqliteClaimStore(Path("store/claims.sqlite3"))
    import_lines(store, export(OURS, entry(FIRST, integration_status="integrated"), entry(SECOND)))
    take(store, *export(THEIRS, judged()))
    take(store, *export(Notebook("r\x1b[2J", "k"), entry(THIRD)))
    take(store, *export(THEIRS, entry(THIRD), at=1e12))
    everything = View(OURS, sees_all=True)
    entries = store.listing(everything, 0, 9)
    if len(entries) != 2:
        raise RuntimeError(repr(entries))
    report = [line for each in report_lines(OURS, entries, {}) for line in each.splitlines()]
    forged = any("[read]" in line or line.startswith("# Approved") for line in report)
    integrated = any(each.integration_status != "probation" for each in entries)
    return forged or integrated or bool(store.verdicts([FIRST])) or store.notebooks() != [OURS]
