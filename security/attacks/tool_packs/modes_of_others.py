# surface: held
# A program changes modes, times and attributes of files that it may not open, and waits for names in folders of the user.
import os
import subprocess
import sys
from pathlib import Path

from winnow.security.tool_packs import call_pack, write_pack

CHANGE = """
import ctypes
path, folder = {path!r}, {folder!r}
own = "/dev/shm/own"
open(own, "w").close()
os.chmod(own, 0o700)
os.utime(own, (1, 1))
for change in (
    lambda: os.chmod(path, 0o666),
    lambda: os.chmod(os.open(path, os.O_PATH), 0o666),
    lambda: os.chmod(f"/proc/self/fd/{{os.open(path, os.O_PATH)}}", 0o666),
    lambda: os.fchmod(os.open(__file__, os.O_RDONLY), 0o666),
    lambda: os.utime(path, (1, 1)),
    lambda: os.setxattr(path, "user.found", b"x"),
    lambda: os.chown(path, os.getuid(), os.getgid()),
):
    try:
        change()
    except OSError:
        pass
libc = ctypes.CDLL(None)
watch = libc.inotify_add_watch(libc.inotify_init1(0), folder.encode(), 0xFFF)
print(json.dumps([os.stat(own).st_mode & 0o777, watch]))
"""


def _secret():
    path = Path("private").absolute() / "key.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("harbour")
    if os.geteuid() == 0:  # whose programs are another user, who owns nothing here
        path.parent.chmod(0o777)
        os.chown(path, 65534, 65534)
    path.chmod(0o600)
    return path


def _state(path):
    status = path.stat()
    return status.st_mode, status.st_mtime_ns, os.listxattr(path)


def control():
    path = _secret()
    before = _state(path)
    script = CHANGE.format(path=str(path), folder=str(path.parent))
    Path("change.py").write_text(f"import json, os\n{script}")
    done = subprocess.run([sys.executable, "change.py"], capture_output=True, check=True)
    return _state(path) != before and b"-1" not in done.stdout


def surface():
    path = _secret()
    script = write_pack(CHANGE.format(path=str(path), folder=str(path.parent))) / "tool.py"
    before = _state(path), _state(script)
    answer, error = call_pack()
    return (_state(path), _state(script)) != before or (answer, error) != ([0o700, -1], "")
