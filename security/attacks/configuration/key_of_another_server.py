# surface: held
# The key of another server in a client's configuration file is shown by what setup prints, or by its error.
import difflib
import json
from pathlib import Path

from winnow.security.surface import winnow

FILE = Path(".cursor/mcp.json")
WHOLE = json.dumps({"mcpServers": {"docs": {"command": "npx", "env": {"TOKEN": "pA55word"}}}})
BROKEN = WHOLE.replace('"pA55word"', '"pA55word" "x"')


def control():
    after = WHOLE.replace('"docs"', '"winnow": {}, "docs"')
    return any("pA55word" in line for line in difflib.unified_diff([WHOLE], [after]))


def surface():
    FILE.parent.mkdir()
    said = b""
    for text in (WHOLE, BROKEN):
        FILE.write_text(text)
        for more in ((), ("--json",), ("--remove",)):
            done = winnow("setup", "cursor", "--print", *more)
            said += done.stdout + done.stderr
    return b"pA55word" in said
