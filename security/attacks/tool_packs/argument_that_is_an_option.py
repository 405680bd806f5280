# surface: held
# A value that begins with "-" is read by a program as an option.
import json
import subprocess

from winnow.security.tool_packs import call_pack, write_pack

FORMAT = '+{"year": %Y}'
VALUES = ("--date=@0", "-d@0", "--file=/etc/hostname")


def control():
    done = subprocess.run(["date", "-u", FORMAT, VALUES[0]], capture_output=True)
    return json.loads(done.stdout) == {"year": 1970}


def surface():
    write_pack(execution={"kind": "cli", "cmd": ["date", "-u", FORMAT, "{{ input.q }}"]})
    return any("would be read as an option" not in call_pack(value)[1] for value in VALUES)
