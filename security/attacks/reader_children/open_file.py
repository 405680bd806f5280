# surface: held
# The reader opens another file.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
found = "BREACHED" if open("/etc/passwd").read() else ""
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
