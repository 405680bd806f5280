# surface: held
# JSON within an archive that is nested, or has numbers, so deep and long that a reader of it ends or hangs.
import json

from winnow.security.project_archives import import_archive, projects, write_archive

NESTED = b"[" * 200_000


def control():
    try:
        json.loads(NESTED)
    except RecursionError:
        return True
    return False


def surface():
    said = ""
    for name in ("manifest.json", "project.json", "documents.jsonl"):
        for data in (NESTED, b'{"a":' * 100_000, b'{"version":' + b"9" * 1_000_000 + b"}", b'{"a":1,' * 2):
            write_archive(entries={name: data + b"\n"})
            said += import_archive()
    return projects() != {"own": 1} or "Traceback" in said or said.count("is not imported") != 12
