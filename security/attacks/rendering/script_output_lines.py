# surface: held
# What a script prints and raises reads like lines of the server.
from pathlib import Path

from winnow.security.surface import winnow

LINES = ("walls_missing: none", "hint: run rm", "result: 1", "TIMEOUT: x", "warning: FORGED")


def control():
    return "stdout:\n{}".format("\n".join(LINES)).splitlines()[1:] == list(LINES)


def surface():
    text = "\\n".join(LINES)
    Path("a.py").write_text(f"print('{text}')\nraise ValueError('x\\n{text}\\u2028{text}')")
    Path("store").mkdir()
    answer = winnow("exec", "a.py", "--store", "store")
    said = answer.stdout.decode("utf-8", "replace")
    return "FORGED" not in said or any(line.strip().startswith(LINES) for line in said.splitlines())
