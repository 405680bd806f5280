# surface: held
# A backup of a few kilobytes grows to gigabytes when it is read, or nests so deep that its reader ends.
import zipfile

from winnow.security.backups import PARTS, projects, restore, write_backup

GROWN = 400_000_000
NESTED = b"[" * 200_000


def control():
    # What a reader does that asks for the whole entry.
    path = write_backup({**PARTS, "claims/0.jsonl": b" " * GROWN})
    with zipfile.ZipFile(path) as archive:
        return path.stat().st_size < GROWN // 500 and len(archive.read("claims/0.jsonl")) == GROWN


def surface():
    said = ""
    for name in ("claims/0.jsonl", "projects.json"):
        write_backup({**PARTS, name: b" " * GROWN})
        said += restore()
    for name in ("projects.json", "sources.json", "keys.json", "jobs.json", "claims/0.jsonl"):
        for data in (NESTED, b'{"a":' * 100_000, b'{"version":' + b"9" * 1_000_000 + b"}"):
            write_backup({**PARTS, name: data + b"\n"})
            said += restore()
    return projects() != ["own"] or "Traceback" in said or said.count("nothing was changed") != 17
