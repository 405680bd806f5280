# surface: held | seconds: 300
# The record of an agent skill in a folder of a client names files elsewhere, which setup then writes over or removes.
import hashlib
import json
import os
import shutil
from pathlib import Path

from winnow.security.surface import winnow

PLACE = Path(".claude/skills/winnow-playbook")
NAMES = (
    "../../../victim.md", "references/../../../../victim.md", "{0}/victim.md", "link.md", "SKILL.md", "references/victim.md",
)  # fmt: skip


def forge(name):
    """A record with the name of a file and the digest of what it has, and a link that leads to it."""
    victim = Path("victim.md").absolute()
    victim.write_text("keep")
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    for link in ("link.md", "SKILL.md"):
        os.symlink(victim, PLACE / link)
    if name == "references/victim.md":
        os.symlink(victim.parent, PLACE / "references")
    else:
        (PLACE / "references").mkdir()
    digest = f"sha256:{hashlib.sha256(b'keep').hexdigest()}"
    (PLACE / ".winnow-skill.json").write_text(json.dumps({"files": {name.format(victim.parent): digest}}))
    return victim


def is_kept(victim):
    return victim.is_file() and victim.read_text() == "keep"


def control():
    for name in NAMES:
        victim = forge(name)
        for file in json.loads((PLACE / ".winnow-skill.json").read_text())["files"]:
            (PLACE / file).resolve().unlink()
        if is_kept(victim):
            return False
    return True


def surface():
    Path(".claude").mkdir()
    done = winnow("setup", "--skills", "claude-code")
    assert done.returncode == 0, done.stderr
    for name in NAMES:
        for asked in ((), ("--remove",)):
            victim = forge(name)
            winnow("setup", "--skills", "claude-code", *asked)
            if not is_kept(victim):
                return True
    return False
