# surface: held
# Entries of a backup lie outside of the store: by "..", as absolute paths, as links, as other files of the store.
import stat
import zipfile
from pathlib import Path

from winnow.security.backups import PARTS, projects, restore, write_backup

NAMES = ("../escaped.txt", f"{Path.cwd()}/escaped.txt", "claims/../../escaped.txt", "escaped.txt", "seal.json")


def control():
    # What a program does that writes each entry below a folder, under the name that the archive has.
    with zipfile.ZipFile(write_backup(unlisted={NAMES[0]: b"x"})) as archive:
        Path("folder").mkdir()
        for name in archive.namelist():
            Path("folder", name).write_bytes(archive.read(name))
    return Path("escaped.txt").exists()


def surface():
    said = ""
    for name in NAMES:
        write_backup({**PARTS, name: b"x"})
        said += restore()
        write_backup(unlisted={name: b"x"})
        said += restore()
    write_backup({**PARTS, "keys.json": b"/etc/passwd"}, modes={"keys.json": stat.S_IFLNK | 0o777})
    said += restore()
    files = [*Path().rglob("escaped.txt"), *Path("store").glob("seal.json")]
    return bool(files) or "root:" in said or projects() != ["own"] or said.count("nothing was changed") != 11
