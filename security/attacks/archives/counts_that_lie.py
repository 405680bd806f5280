# surface: held
# An archive whose manifest states fewer documents than there are, or more, is imported in part.
import json
import zipfile

from winnow.security.project_archives import PAGE, import_archive, own_page_is_there, projects, write_archive


def control():
    # What a reader does that believes the manifest: it takes as many lines as that states.
    path = write_archive([PAGE, {**PAGE, "uri": "b.md"}], manifest={"documents": 1})
    with zipfile.ZipFile(path) as archive:
        stated = json.loads(archive.read("manifest.json"))["documents"]
        return len(archive.read("documents.jsonl").splitlines()[:stated]) == 1


def surface():
    pages = [PAGE, {**PAGE, "uri": "b.md"}]
    lies = [{"documents": 1}, {"documents": 3}, {"documents": 10_000_000}, {"documents": -1}, {"digest": "0" * 64}]
    for lie in lies:
        write_archive(pages, manifest=lie)
        import_archive()
    return projects() != {"own": 1} or not own_page_is_there()
