# surface: held
# The reader writes into the file that it reads.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
if os.pwrite(DOCUMENT, b"#", 0) == 1:
    found = "BREACHED"
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
