# surface: held
# A backup whose digests fit, but whose records are none: keys without a digest, a broken history, a later version.
import json

from winnow.security.backups import PARTS, projects, restore, write_backup

KEY = {"id": "00000000", "name": "x", "tail": "0000", "salt": "0" * 32, "digest": "0" * 64, "created_at": 1}
NOTEBOOK = {"format": "winnow claims 1", "project": "own", "owner": ""}
VERDICT = {"sequence": 1, "entry_id": "a", "kind": "judged", "at": 1.0, "body": "{}", "digest": "0" * 64}
SOURCE = {"id": "a", "paths": ["/srv"], "project": "own"}
ALTERED = [
    {"keys.json": {"keys": [{**KEY, "digest": ""}]}},
    {"keys.json": {"keys": [{**KEY, "is_admin": True}]}},
    {"keys.json": {"keys": [KEY, KEY]}},
    {"sources.json": {"sources": [{**SOURCE, "paths": ["relative"]}]}},
    {"sources.json": {"sources": [{**SOURCE, "project": "../own"}]}},
    {"jobs.json": {"jobs": [{"id": "../../keys", "request": {"project": "own", "path": "/", "root": "/"}}]}},
    {"projects.json": {"projects": [{"name": "../own", "settings": {}}]}},
    {"projects.json": {"projects": [{"name": "own", "settings": {"top_k": 10**9}}]}},
]
MANIFESTS = [{"version": 2}, {"version": "1"}, {"format": "winnow-project"}, {"entries": {}}, {"entries": []}]


def control():
    # What a reader does that compares digests and takes the rest as it is.
    return "is_admin" in json.loads(json.dumps(ALTERED[1]))["keys.json"]["keys"][0]


def surface():
    said = ""
    for parts in ALTERED:
        write_backup({**PARTS, **{name: json.dumps(part).encode() for name, part in parts.items()}})
        said += restore()
    for lines in ([NOTEBOOK, VERDICT], [VERDICT], [{**NOTEBOOK, "project": "../own"}], []):
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        write_backup({**PARTS, "claims/0.jsonl": data})
        said += restore()
    for manifest in MANIFESTS:
        write_backup(manifest=manifest)
        said += restore()
    write_backup({**PARTS, "claims/0.jsonl": b""}, unlisted={"claims/1.jsonl": b""})
    said += restore()
    return projects() != ["own"] or "Traceback" in said or said.count("nothing was changed") != 18
