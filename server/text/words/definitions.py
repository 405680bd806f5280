"""The pattern of a definition in source code, shared by chunking and by the knowledge graph."""

from __future__ import annotations

import re

# Every repetition is bounded, so that no input makes matching slow.
# A definition at the left margin opens a section of source code, in most languages that have a word for it.
DEFINITION = re.compile(
    r"^(?:(?:export|default|public|private|protected|internal|static|abstract|final|async|unsafe|pub(?:\([a-z]+\))?)"
    r"\s{1,80}){0,8}(?P<word>class|def|func|function|fn|interface|struct|enum|trait|impl|type|module|namespace|object|record"
    r"|message|service|resource)\s{1,80}(?:\([^)]{0,300}\)\s{0,80})?(?P<name>[A-Za-z_]\w*(?:(?:\.|::)\w+)*)",
    re.MULTILINE,
)
