# surface: held
# A host's arguments name another server, and the key in the user's file goes there as well.
import os
import tomllib
from pathlib import Path

FILE = 'qdrant_url = "http://127.0.0.1:1"\nqdrant_api_key = "a key of the user"\n'
OTHER = "http://127.0.0.1:2"


def control():
    Path("winnow.toml").write_text(FILE)
    settings = {**tomllib.loads(Path("winnow.toml").read_text()), "qdrant_url": OTHER}
    return (settings["qdrant_url"], settings["qdrant_api_key"]) == (OTHER, "a key of the user")


def surface():
    from winnow.server.errors import WinnowError
    from winnow.server.settings.loading import load

    for name in [name for name in os.environ if name.startswith("WINNOW_")]:
        del os.environ[name]
    os.environ["XDG_CONFIG_HOME"] = os.getcwd()
    Path("winnow").mkdir()
    Path("winnow/winnow.toml").write_text(FILE)
    try:
        return load({"qdrant_url": OTHER}).settings.qdrant_api_key is not None
    except WinnowError:
        return False
