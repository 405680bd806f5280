# surface: held
# A pipe by the name of the settings file holds up every command in that folder.
import os
import subprocess
import sys
from pathlib import Path

from security.surface import winnow


def place():
    os.mkfifo("winnow.toml")


def control():
    place()
    read = "import tomllib; tomllib.load(open('winnow.toml', 'rb'))"
    try:
        return subprocess.run([sys.executable, "-c", read], capture_output=True, timeout=5).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def surface():
    place()
    return winnow("config", "--json", seconds=40).returncode != 0
