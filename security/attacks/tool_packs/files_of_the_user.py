# surface: held
# A program reads the store, the home and other processes, or writes its own pack.
import os
from pathlib import Path

from winnow.security.tool_packs import call_pack, write_pack

READ = """
tried = []
for path in {paths!r}:
    try:
        with open(path, "rb") as file:
            tried.append(file.read(20).decode("latin-1"))
    except OSError:
        pass
for path in {written!r}:
    try:
        with open(path, "ab") as file:
            tried.append("written")
    except OSError:
        pass
print(json.dumps(tried))
"""


def _paths():
    store = Path("store").absolute()
    store.mkdir(exist_ok=True)
    (store / "catalogue").write_text("harbour")
    (store / "catalogue").chmod(0o644)
    others = ("/etc/passwd", "/etc/shadow", f"/proc/{os.getpid()}/environ", "/proc/1/environ", "/proc/self/environ")
    return [str(store / "catalogue"), *others]


def control():
    return any(Path(path).read_bytes() for path in _paths()[:2])


def surface():
    paths = _paths()
    written = [str(Path("packs/tool.py").absolute()), str(Path("store/catalogue").absolute()), "/tmp/x", "/var/tmp/x"]
    write_pack(READ.format(paths=paths, written=written))
    answer, error = call_pack()
    return answer != [] or bool(error)
