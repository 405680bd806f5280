# surface: held
# Entries and documents of an archive name files outside of it: by "..", as absolute paths, as symbolic links.
import stat
import zipfile
from pathlib import Path

from winnow.security.project_archives import PAGE, import_archive, own_page_is_there, projects, write_archive

NAMES = ("../escaped.txt", "documents/../../escaped.txt", f"{Path.cwd()}/escaped.txt", "..\\escaped.txt")


def control():
    # What a program does that writes each entry below a folder, under the name that the archive has.
    with zipfile.ZipFile(write_archive(entries={NAMES[0]: b"x"})) as archive:
        Path("folder").mkdir()
        for name in archive.namelist():
            Path("folder", name).write_bytes(archive.read(name))
    return Path("escaped.txt").exists()


def surface():
    said = ""
    for name in NAMES:
        write_archive(entries={name: b"x"})
        said += import_archive()
    for name in ("../own.md", "/etc/passwd", "a/../../own.md"):
        write_archive([{**PAGE, "uri": name}])
        said += import_archive()
    link = zipfile.ZipInfo("documents.jsonl")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    write_archive()
    with zipfile.ZipFile("linked.zip", "w") as made, zipfile.ZipFile("hostile.zip") as whole:
        made.writestr(link, "/etc/passwd")
        for name in ("project.json", "manifest.json"):
            made.writestr(name, whole.read(name))
    Path("linked.zip").replace("hostile.zip")
    said += import_archive()
    escaped = Path("escaped.txt").exists() or Path("..", "escaped.txt").exists()
    return escaped or "root:" in said or projects() != {"own": 1} or not own_page_is_there()
