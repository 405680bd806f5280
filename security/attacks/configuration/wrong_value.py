# surface: held
# A wrong value of a harmless setting stops every command in that folder.
import os
import subprocess
import sys
from pathlib import Path

from security.surface import winnow


def place():
    Path("winnow.toml").write_text('fusion = "none"\n')


def control():
    place()
    read = "import tomllib; tomllib.load(open('winnow.toml', 'rb'))"
    try:
        return subprocess.run([sys.executable, "-c", "import tomllib; from typing import get_args; assert tomllib.load(open('winnow.toml', 'rb'))['fusion'] in ('convex', 'rrf'); " + read], capture_output=True, timeout=5).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def surface():
    place()
    return winnow("config", "--json", seconds=40).returncode != 0
