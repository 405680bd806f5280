# surface: held
# The reader shortens the file that it reads.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
os.ftruncate(DOCUMENT, os.lseek(DOCUMENT, 0, os.SEEK_END))
found = "BREACHED"
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
