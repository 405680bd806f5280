# surface: held
# The reader asks whether a file exists.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
found = "BREACHED" if os.stat("/etc/passwd") else ""
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
