# surface: held
# A file that is nested without end stops every command in that folder.
import os
import subprocess
import sys
from pathlib import Path

from security.surface import winnow


def place():
    Path("winnow.toml").write_text("a = " + "[" * 50_000)


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
