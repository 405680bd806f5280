# surface: held
# A file in the working folder widens a server of one project to others.
import os
import tomllib
from pathlib import Path

FILE = 'projects = ["mine", "private"]\n'


def control():
    Path("winnow.toml").write_text(FILE)
    return "private" in tomllib.loads(Path("winnow.toml").read_text())["projects"]


def surface():
    from winnow.server.settings.loading import load

    for name in [name for name in os.environ if name.startswith("WINNOW_")]:
        del os.environ[name]
    os.environ["XDG_CONFIG_HOME"] = os.getcwd()
    Path("winnow.toml").write_text(FILE)
    return "private" in load({"project": "mine"}).settings.reachable
