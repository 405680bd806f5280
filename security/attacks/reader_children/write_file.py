# surface: held
# The reader writes a file.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
found = "BREACHED" if open("written", "w").write("x") else ""
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
