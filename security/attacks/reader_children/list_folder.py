# surface: held
# The reader lists a folder.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
found = "BREACHED" if os.listdir("/") else ""
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
