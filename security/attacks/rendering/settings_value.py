# surface: held
# A value of a setting brings rows and escapes into the command that shows settings.
import os

from winnow.security.surface import ALONE, winnow

VALUE = "a\nstore  /etc  forged\x1b[2K\u202e"


def control():
    return f"store  {VALUE}".splitlines()[1].startswith("store  /etc")


def surface():
    answer = winnow("config", environment={**ALONE, "WINNOW_STORE": VALUE})
    said = (answer.stdout + answer.stderr).decode("utf-8", "replace")
    return any(line.startswith("store  /etc") for line in said.splitlines()) or "\x1b" in said or "\u202e" in said
