# surface: held
# An archive states sources and settings, so that folders of the user are read, or its labels widen a scope.
import json
import zipfile
from pathlib import Path

from winnow.security.project_archives import import_archive, projects, write_archive
from winnow.security.surface import winnow

SOURCES = [{"id": "a", "paths": ["/etc", str(Path.home()), "../../"]}]


def control():
    # What an import does that adds the sources that it finds: the next look at them lists the folder.
    with zipfile.ZipFile(write_archive(project={"sources": SOURCES})) as archive:
        stated = json.loads(archive.read("project.json"))["sources"]
    return any(Path(path).is_absolute() and any(Path(path).iterdir()) for path in stated[0]["paths"])


def surface():
    write_archive(project={"sources": SOURCES})
    import_archive()
    if projects() != {"own": 1, "brought": 1}:
        raise RuntimeError("the archive was not imported")
    listed = winnow("sources", "list", "--store", "store", "--json").stdout + winnow(
        "project", "show", "brought", "--store", "store", "--json"
    ).stdout
    for number, settings in enumerate(
        ({"top_k": 10**9}, {"store": "/etc"}, {"labels": {"environment": "x" * 10**6}}, {"languages": ["../x"]})
    ):
        write_archive(project={"settings": settings}, manifest={"project": f"p{number}"})
        import_archive()
    return b"/etc" in listed or projects() != {"own": 1, "brought": 1}
