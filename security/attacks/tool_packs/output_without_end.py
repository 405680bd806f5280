# surface: held
# A program prints without end, on both streams, so that its output fills the memory of the server.
import resource
import subprocess
import sys

from winnow.security.tool_packs import call_pack, write_pack

MIB = 1024 * 1024


def control():
    done = subprocess.run([sys.executable, "-c", "print('x' * 100_000_000)"], capture_output=True)
    return len(done.stdout) > 90 * MIB


def surface():
    write_pack("while True:\n    os.write(2, b'x' * 65536)\n    os.write(1, b'x' * 65536)\n")
    call_pack()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = call_pack()[1]
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return not error.startswith("OUTPUT_BYTES") or grown > 50 * 1024
