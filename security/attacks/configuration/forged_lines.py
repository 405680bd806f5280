# surface: held
# The name of a setting writes lines of its own to the terminal.
import tomllib
from pathlib import Path

from winnow.security.surface import winnow

FILE = '"a\\nwinnow: your password, please\\u001b[2K" = 1\nstore = "/x"\n'


def control():
    Path("winnow.toml").write_text(FILE)
    return any("\nwinnow: your password" in name for name in tomllib.loads(Path("winnow.toml").read_text()))


def surface():
    Path("winnow.toml").write_text(FILE)
    said = winnow("config").stderr
    return b"\x1b" in said or any(line.startswith(b"winnow: your") for line in said.splitlines())
