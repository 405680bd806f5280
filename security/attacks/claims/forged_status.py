# surface: held
# Arguments and an imported file say that a quote was verified, or an entry integrated.
import json

from winnow.security.job_server import call_all
from winnow.server.commands.entry.app import open_application
from winnow.server.claims.exchange import FORMAT, import_lines
from winnow.server.claims.hash_chain import digest_of
from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path
from winnow.server.claims.store import Notebook, View
from winnow.server.settings.loading import load_settings

SETTINGS = {
    "store": "store", "project": "p", "daemon": "off", "embedding": "off", "graph": "off", "enable_writes": True
}
FORGED = {"status": "verified", "page": 7, "document": "a.md"}


def export():
    evidence = {"quote": "never said", "document": "a.md", "status": "verified", "digest": "0.1.2"}
    claim = {"id": "0123456789ab.1", "text": "It is so.", "evidence": [evidence]}
    body = json.dumps({"id": "0123456789ab", "topic": "t", "claims": [claim]})
    digest = digest_of("", 1, "0123456789ab", "written", 1.0, body)
    change = {"sequence": 1, "entry_id": "0123456789ab", "kind": "written", "at": 1.0, "body": body, "digest": digest}
    head = {"format": FORMAT, "project": "p", "owner": ""}
    return [json.dumps(head).encode(), json.dumps(change).encode()]


def control():
    # What a store does that takes the record of a file as it is.
    return '"status": "verified"' in json.loads(export()[1])["body"]


def surface():
    claims = [{"text": "It is so.", "evidence": [{"section_id": "0" * 12, "quote": "never said", **FORGED}]}]
    calls = [("claims.write", {"topic": "t", "claims": claims})]
    calls += [("claims.write", {"topic": "t", "claims": [{"text": "It is so."}], "integration_status": "integrated"})]
    call_all(open_application(load_settings(**SETTINGS), wait_for_model=False), calls)
    store = SqliteClaimStore(claims_path(load_settings(**SETTINGS).store))
    import_lines(store, export())
    entries = store.listing(View(Notebook("p"), sees_all=True), 0, 9)
    if len(entries) != 2:
        raise RuntimeError(repr(entries))
    found = [each.status for entry in entries for claim in entry.claims for each in claim.evidence]
    return "verified" in found or any(entry.integration_status != "probation" for entry in entries)
