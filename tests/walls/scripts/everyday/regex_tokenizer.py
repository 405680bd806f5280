import re
from typing import NamedTuple


class Token(NamedTuple):
    kind: str
    text: str
    column: int


SPEC = [("NUMBER", r"\d+(\.\d*)?"), ("OP", r"[+\-*/()]"), ("NAME", r"[A-Za-z_]\w*"), ("SKIP", r"\s+"), ("BAD", r".")]
PATTERN = "|".join(f"(?P<{name}>{regex})" for name, regex in SPEC)


def tokenize(text):
    for m in re.finditer(PATTERN, text):
        kind = m.lastgroup
        if kind == "SKIP":
            continue
        if kind == "BAD":
            raise SyntaxError(f"unexpected {m.group()!r} at {m.start()}")
        yield Token(kind, m.group(), m.start())


for token in tokenize("rate * (2.5 + x)"):
    print(token)
try:
    list(tokenize("a $ b"))
except SyntaxError as error:
    print(type(error).__name__, error)
