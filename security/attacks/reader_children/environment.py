# surface: held
# The reader reads the environment of its parent.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
found = "BREACHED" if open(f"/proc/{os.getppid()}/environ", "rb").read() else ""
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
