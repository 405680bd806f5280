# surface: held
# A program starts processes until the machine has none left.
import json
import subprocess
import sys

from winnow.security.tool_packs import call_pack, write_pack

BOMB = """
import time
count = 0
try:
    while count < 300:
        if os.fork() == 0:
            os.close(1)
            time.sleep(30)
            os._exit(0)
        count += 1
except OSError:
    pass
print(json.dumps(count), flush=True)
os.killpg(0, 9) if len(sys.argv) > 1 else os._exit(0)
"""


def control():
    program = "import json, os, sys\n" + BOMB
    done = subprocess.run([sys.executable, "-c", program, "x"], stdout=subprocess.PIPE, start_new_session=True)
    return json.loads(done.stdout) == 300


def surface():
    write_pack(BOMB, limits={"maxProcesses": 20})
    count, error = call_pack()
    return bool(error) or count > 20
