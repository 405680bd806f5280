# surface: held
# A client's file names a hard link to winnow's command; the doctor starts it, and Python loads a module beside it.
import json
import os
import subprocess
import sys
from pathlib import Path

from winnow.security.surface import winnow

OWN = Path("own/winnow")
OTHER = Path("other/winnow")


def place():
    """A command like that of an installation, and another name of it with a module beside."""
    OWN.parent.mkdir()
    OTHER.parent.mkdir()
    OWN.write_text(f"#!{sys.executable}\nimport html\n")
    OWN.chmod(0o755)
    os.link(OWN, OTHER)
    Path("other/html.py").write_text(f"open({str(Path('loaded').absolute())!r}, 'w').close()\n")


def control():
    place()
    subprocess.run([OTHER.absolute()], check=False)
    return Path("loaded").exists()


def surface():
    from winnow.server.commands.setup.clients import CLIENTS
    from winnow.server.commands.setup.diagnosis import examine_clients
    from winnow.server.commands.setup.machine import Machine, System

    place()
    Path(".cursor").mkdir()
    entry = {"command": str(OTHER.absolute()), "args": ["serve", "--store", "gone"]}
    Path(".cursor/mcp.json").write_text(json.dumps({"mcpServers": {"winnow": entry}}))
    sys.executable, sys.argv[0] = str(OWN.absolute()), str(OWN.absolute())
    list(examine_clients(Machine(System.LINUX, Path.cwd(), {}), [each for each in CLIENTS if each.name == "cursor"]))
    return Path("loaded").exists()
