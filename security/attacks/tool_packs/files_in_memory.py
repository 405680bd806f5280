# surface: held
# A program holds more memory than its limit in files that no process maps.
import json
import subprocess
import sys

from winnow.security.tool_packs import call_pack, write_pack

HOLD = """
held, block = 0, b"x" * 2**20
try:
    for number in range(8):
        file = os.memfd_create(str(number))
        for _ in range(32):
            held += os.write(file, block)
except OSError:
    pass
print(json.dumps(held // 2**20))
"""


def control():
    done = subprocess.run([sys.executable, "-c", f"import json, os\n{HOLD}"], capture_output=True)
    return json.loads(done.stdout) == 256


def surface():
    write_pack(HOLD, limits={"maxMemoryMiB": 64})
    held, error = call_pack()
    return not error and held > 64
