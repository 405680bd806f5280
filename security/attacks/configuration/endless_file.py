# surface: held
# A link to an endless file by the name of the settings file takes all memory.
import os
import subprocess
import sys
from pathlib import Path

from security.surface import winnow


def place():
    os.symlink("/dev/zero", "winnow.toml")


def control():
    place()
    read = "import tomllib; tomllib.load(open('winnow.toml', 'rb'))"
    try:
        return subprocess.run([sys.executable, "-c", "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29)); " + read], capture_output=True, timeout=5).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def surface():
    place()
    return winnow("config", "--json", seconds=40).returncode != 0
