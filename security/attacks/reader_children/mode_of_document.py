# surface: held
# The reader changes the mode of the file that it reads.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
os.fchmod(DOCUMENT, 0o666)
found = "BREACHED"
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
