# surface: held
# A program holds more memory than its limit in shared pages: one page of each mapping stays mapped, and keeps all.
import json
import subprocess
import sys

from winnow.security.tool_packs import call_pack, write_pack

HOLD = """
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
held, size = 0, 16 << 20
for number in range(16):
    place = libc.mmap(None, size, 3, 0x21, -1, 0)
    if place == ctypes.c_void_p(-1).value:
        break
    ctypes.memset(place, 1, size)
    libc.munmap(place + 4096, size - 4096)
    held += size
print(json.dumps(held // 2**20))
"""


def control():
    done = subprocess.run([sys.executable, "-c", f"import json\n{HOLD}"], capture_output=True)
    return json.loads(done.stdout) == 256


def surface():
    write_pack(HOLD, limits={"maxMemoryMiB": 64})
    held, error = call_pack()
    return not error and held > 64
