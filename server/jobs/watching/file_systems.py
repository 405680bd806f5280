"""Whether a folder is on a file system that does not report what other machines change in it."""

from __future__ import annotations

import re
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
# Types as the kernel writes them; "fuse.sshfs", "fuse.rclone" and others are mounts of remote folders.
_REMOTE = re.compile(
    r"nfs4?|cifs|smb3?|smbfs|ncpfs|afs|9p|ceph|coda|glusterfs|lustre|gpfs|beegfs|davfs2?|virtiofs|vboxsf|prl_fs"
    r"|fuse\.(?!portal|gvfsd-fuse-none).*|fuse"
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


def remote_type(path: Path, mounts: Path = _MOUNTS) -> str:
    """The type of the remote file system that a folder is on, such as "nfs4"; "" if it is a local one.

    Where the system does not list its mounts, every file system counts as local.
    """
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    best, kind = -1, ""
    for line in lines:
        before, separator, after = line.partition(" - ")
        fields = before.split(" ")
        if not separator or len(fields) < len(("id", "parent", "device", "root", "point")):
            continue
        point = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), fields[4])
        if len(point) >= best and path.is_relative_to(point):  # a later mount hides an earlier one
            best, kind = len(point), after.split(" ")[0]
    return kind if _REMOTE.fullmatch(kind) else ""
