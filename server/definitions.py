"""What opens a definition in source code, for those that cut it and those that name its parts."""

from __future__ import annotations

import re

# A definition at the left margin opens a section of source code, in most languages that have a word for it.
DEFINITION = re.compile(
    r"^(?:(?:export|default|public|private|protected|internal|static|abstract|final|async|unsafe|pub(?:\([a-z]+\))?)"
    r"\s+)*(?P<word>class|def|func|function|fn|interface|struct|enum|trait|impl|type|module|namespace|object|record"
    r"|message|service|resource)\s+(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_]\w*(?:(?:\.|::)\w+)*)",
    re.MULTILINE,
)
