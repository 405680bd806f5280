# surface: held
# A program leaves a process behind, in a session of its own, which goes on after the call.
import os
import subprocess
import time
from pathlib import Path

from winnow.security.tool_packs import call_pack, write_pack

MARK = f"86399.{os.getpid()}"


def _is_running():
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes())
        except OSError:
            continue
    return any(MARK.encode() in line for line in lines)


def control():
    process = subprocess.Popen(["sleep", MARK], start_new_session=True)
    try:
        while not _is_running():  # its command line is there a moment after it was executed
            time.sleep(0.01)
        return True
    finally:
        process.kill()
        process.wait()


def surface():
    starts = f"""
import subprocess
for _ in range(3):
    subprocess.Popen(["setsid", "sleep", "{MARK}"], start_new_session=True)
"""
    for ends in ("print('1')\n", "import time; time.sleep(60)\n", "os.kill(os.getppid(), 9)\nprint('1')\n"):
        write_pack(starts + ends, timeoutMs=2_000)
        call_pack()
        if _is_running():
            return True
    return False
