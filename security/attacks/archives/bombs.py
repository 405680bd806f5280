# surface: held
# An archive of a few kilobytes grows to gigabytes when it is read.
import zipfile

from winnow.security.project_archives import import_archive, projects, write_archive

GROWN = 400_000_000


def control():
    # What a reader does that asks for the whole entry.
    path = write_archive(entries={"documents.jsonl": b" " * GROWN})
    with zipfile.ZipFile(path) as archive:
        return path.stat().st_size < GROWN // 500 and len(archive.read("documents.jsonl")) == GROWN


def surface():
    said = ""
    for name in ("documents.jsonl", "project.json", "manifest.json"):
        write_archive(entries={name: b" " * GROWN})
        said += import_archive()
    return projects() != {"own": 1} or said.count("grows more than") != 3
