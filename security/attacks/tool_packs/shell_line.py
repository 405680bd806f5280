# surface: held
# A value has signs that a shell acts on.
import subprocess
from pathlib import Path

from winnow.security.tool_packs import call_pack, read_packs, write_pack

VALUES = ("; touch escaped", "$(touch escaped)", "`touch escaped`", "x\ntouch escaped", "x | tee escaped", "$HOME *")


def control():
    subprocess.run(f"echo {VALUES[0]}", shell=True, capture_output=True)
    return Path("escaped").exists()


def surface():
    Path("escaped").unlink(missing_ok=True)
    write_pack(execution={"kind": "cli", "cmd": ["echo", '{"q": {{ input.q | tojson }}}']})
    if any(call_pack(value) != ({"q": value}, "") for value in VALUES):
        return True
    hidden = Path("calculator").absolute()
    hidden.symlink_to("/bin/sh")
    for start in ([], ["env"], ["env", "A=x.y"], ["timeout", "0.5"], ["nice"], ["xargs"]):
        write_pack(execution={"kind": "cli", "cmd": [*start, "sh", "-c", "echo {{ input.q }}"]})
        if read_packs()[0]:
            return True
    for cmd in (["python3", "-c", "{{ input.q }}"], [str(hidden), "-c", "{{ input.q }}"]):
        write_pack(execution={"kind": "cli", "cmd": cmd})
        if read_packs()[0]:
            return True
    return Path("escaped").exists()
